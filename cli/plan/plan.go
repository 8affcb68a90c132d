package plan

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/mapper"
	"dwatch/watcher/event"
)

// Plan is what is to be watched, and what there is to say about it.
type Plan struct {
	Targets []event.Target
	// Selection is what was asked for.
	Selection event.Selection
	// Missing are the arguments whose resources the server does not have yet.
	Missing []Missing
	// Notes are what people should know, a line each.
	Notes []string
	// Live: what the arguments name may come and go.
	Live bool
}

// Missing is an argument whose resource the server does not have yet.
type Missing struct {
	Name string // as it was typed
	// Is reports whether a target is what it means, as Resolve has found by then.
	Is func(event.Target) bool
}

// draft is a Plan in the making.
type draft struct {
	Plan
	asked []event.Selected
	// named are the resources that were named one by one.
	named map[schema.GroupResource]*meta.RESTMapping
	// wrong is the first mistake that was found in the arguments.
	wrong error
	// unsure are the group versions that could not be asked.
	unsure []schema.GroupVersion
}

// name notes that a resource was named, in this version.
func (d *draft) name(mapping *meta.RESTMapping) {
	r := mapping.Resource.GroupResource()
	if other := d.named[r]; other != nil && other.Resource != mapping.Resource {
		d.mistake(fmt.Errorf("%s is asked for in two versions, which show the same objects: ask for one", r))
	}
	d.named[r] = mapping
}

func (d *draft) mistake(err error) {
	if d.wrong == nil {
		d.wrong = err
	}
}

func (d *draft) note(note string) {
	if !slices.Contains(d.Notes, note) {
		d.Notes = append(d.Notes, note)
	}
}

// noteAlternatives says which resource an ambiguous name was taken for.
func (d *draft) noteAlternatives(name string, answer mapper.Answer) {
	if len(answer.Alternatives) == 0 {
		return
	}
	var names []string
	for _, o := range answer.Alternatives {
		names = append(names, o.Resource.GroupResource().String())
	}
	d.note(strconv.Quote(name) + " is taken for " + answer.Mappings[0].Resource.GroupResource().String() + "; it could also be " + strings.Join(names, ", "))
}

// finish is to be called when all arguments are in.
func (d *draft) finish(r Request) {
	d.merge(r.Awaited)
	d.Selection = selection(d.asked, r.Exclude)
	// What is namespaced may also come later.
	if d.Live || slices.ContainsFunc(d.Targets, event.Target.Namespaced) {
		addNamespaces(&d.Selection, r)
	}
	if err := addSelectors(&d.Selection, r); err != nil {
		d.mistake(err)
	}
	if len(r.Namespaces) > 0 && !r.AllNamespaces {
		d.noteClusterScoped()
	}
}

// merge drops what another target watches too, which is a mistake where the name that is
// dropped is awaited. What is in a set is watched in the version in which it was named.
func (d *draft) merge(awaited bool) {
	var merged []event.Target
	for i, t := range d.Targets {
		if named := d.named[t.Resource().GroupResource()]; named != nil {
			d.Targets[i].Mapping = named
		}
	}
	for i, t := range d.Targets {
		covered := func(other event.Target) bool {
			return other.Resource() == t.Resource() && other.Namespace == t.Namespace &&
				(other.Name == t.Name || other.Name == "")
		}
		wider := func(other event.Target) bool { return covered(other) && other.Name != t.Name }
		if awaited && slices.ContainsFunc(d.Targets, wider) {
			r := t.Resource().GroupResource()
			d.mistake(fmt.Errorf("%s/%s is one of the %s, all of which are waited for: name it alone, or leave it out", r, t.Name, r))
		}
		if !slices.ContainsFunc(d.Targets[:i], covered) && !slices.ContainsFunc(d.Targets[i+1:], wider) {
			merged = append(merged, t)
		}
	}
	d.Targets = merged
}

func (d *draft) noteClusterScoped() {
	var names []string
	for _, t := range d.Targets {
		if name := t.Resource().GroupResource().String(); !t.Namespaced() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
	case 1:
		d.note(names[0] + " is cluster-scoped: -n does not apply to it")
	default:
		d.note(strings.Join(names, ", ") + " are cluster-scoped: -n does not apply to them")
	}
}

// Request is what the command line asks for.
type Request struct {
	// Arguments are what to watch; at least one.
	Arguments []mapper.Argument
	// Exclude names resources to leave out.
	Exclude []string
	// Namespaces are where to watch; empty: in Home.
	Namespaces []string
	// AllNamespaces: everywhere, whatever Namespaces says.
	AllNamespaces bool
	// Home is the namespace of the kubeconfig's context.
	Home string
	// LabelSelector and FieldSelector narrow what is selected; empty means all.
	LabelSelector, FieldSelector string
	// Wait: a resource that the server does not have yet is no error.
	Wait bool
	// Awaited: something is waited for of each object that is named, and of all that
	// exist where none is. It can't be both of one resource.
	Awaited bool
	// Ask bounds the questions to the server of one plan; nil: nothing but their context does.
	Ask func(context.Context) (context.Context, context.CancelFunc)
}

// Where returns the namespaces to watch in: one that is empty for all of them.
func (r Request) Where() []string {
	switch {
	case r.AllNamespaces:
		return []string{""}
	case len(r.Namespaces) == 0:
		return []string{r.Home}
	default:
		return r.Namespaces
	}
}
