package plan

import (
	"cmp"
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
	Targets          []event.Target
	Selection        event.Selection // what was asked for
	Missing          []Missing
	Notes            []string // what people should know, a line each
	DynamicResources bool     // what the arguments name may come and go
	// Namespaces are all that there are where they are chosen, so that they come and go; else nil.
	Namespaces map[string]event.Namespace
}

// Follows reports whether targets may come and go.
func (p *Plan) IsDynamic() bool { return p.DynamicResources || p.Namespaces != nil }

// Missing is an argument whose resource the server does not have yet.
type Missing struct {
	Name string // as it was typed
	// Is reports whether a target is what it means, as Resolve has found by then.
	Matches func(event.Target) bool
}

// draft is a Plan in the making.
type draft struct {
	Plan
	asked  []event.SelectedResource
	where  []string                                   // the namespaces to watch in
	named  map[schema.GroupResource]*meta.RESTMapping // one by one
	wrong  error                                      // the first mistake in the arguments
	unsure []schema.GroupVersion                      // which could not be asked
}

// name notes in which version a resource was named.
func (d *draft) name(mapping *meta.RESTMapping) {
	r := mapping.Resource.GroupResource()
	if other := d.named[r]; other != nil && other.Resource != mapping.Resource {
		d.mistake(fmt.Errorf("%s is asked for in two versions, which show the same objects: ask for one", r))
	}
	d.named[r] = mapping
}

func (d *draft) mistake(err error) { d.wrong = cmp.Or(d.wrong, err) }

func (d *draft) note(note string) {
	if !slices.Contains(d.Notes, note) {
		d.Notes = append(d.Notes, note)
	}
}

// noteAlternatives says which resource an ambiguous name was taken for.
func (d *draft) noteAlternatives(name string, answer mapper.Result) {
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
	d.merge(r.AwaitsObjects)
	d.Selection = selection(d.asked, r.Exclude)
	if !r.Shard.IsAll() {
		d.Selection.Shard = r.Shard
	}
	// What is namespaced may also come later.
	if d.DynamicResources || slices.ContainsFunc(d.Targets, event.Target.Namespaced) {
		addNamespaces(&d.Selection, r)
	}
	var err error
	d.Selection.Labels, d.Selection.Fields, err = r.NormalizedSelectors()
	d.mistake(err)
	if (len(r.Namespaces) > 0 || r.SelectsNamespaces()) && !r.AllNamespaces && !slices.Contains(r.NamespacePatterns, AllNamespacesPattern) {
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

// maxNoted is how many names a note lists.
const maxNoted = 10

// shorten joins names, and counts those that it leaves out.
func shorten(names []string) string {
	if left := len(names) - maxNoted; left > 0 {
		return fmt.Sprintf("%s and %d others", strings.Join(names[:maxNoted], ", "), left)
	}
	return strings.Join(names, ", ")
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
		d.note(shorten(names) + " are cluster-scoped: -n does not apply to them")
	}
}

// Request is what the command line asks for.
type Request struct {
	Arguments     []mapper.Argument // at least one
	Exclude       []string          // resources
	Namespaces    []string          // empty: in Home
	AllNamespaces bool              // whatever Namespaces says
	// NamespacePatterns (see path.Match) select namespaces in addition to Namespaces. A pattern that begins with "!"
	// leaves namespaces out. If there are only such patterns, and neither Namespaces nor NamespaceSelector is set, all
	// other namespaces are selected. The pattern "*" stands for -A: it also selects cluster-scoped resources.
	NamespacePatterns []string
	NamespaceSelector string // selects namespaces by their labels
	// List asks the server for all namespaces. It has to be set where they are chosen; without it
	// all are.
	ListNamespaces func(context.Context) ([]Namespace, error)

	// Also returns what is watched besides, as far as the server has it, which may grow; nil: nothing.
	ExtraResources func() []ExtraResource

	DefaultNamespace string // the namespace of the kubeconfig's context

	LabelSelector, FieldSelector string // empty: all
	// Shard is of which shard objects are asked for; its number is 0 until it is known which one it is.
	Shard event.Shard

	WaitForResources bool // a resource that the server does not have yet is no error
	// Awaited: something is waited for of each object that is named, and of all that
	// exist where none is. It can't be both of one resource.
	AwaitsObjects bool
	// Ask bounds the questions to the server of one plan; nil: nothing but their context does.
	WithTimeout func(context.Context) (context.Context, context.CancelFunc)
}

// WatchedNamespaces returns the names and patterns of the namespaces to watch. Excluded ones begin with "!". A single
// empty string means all namespaces.
func (r Request) WatchedNamespaces() []string {
	switch {
	case r.AllNamespaces:
		return []string{""}
	case r.NamespaceSelector != "":
		return nil
	case len(r.Namespaces)+len(r.NamespacePatterns) == 0:
		return []string{r.DefaultNamespace}
	}
	return slices.Concat(r.Namespaces, r.NamespacePatterns)
}

// Selects reports whether not all objects are asked for, besides by name.
func (r Request) IsFiltered() bool {
	return r.LabelSelector != "" || r.FieldSelector != "" || !r.Shard.IsAll()
}

// Beside is what is watched beside the arguments.
type ExtraResource struct {
	mapper.Argument
	// Namespace is where; empty: in those of the request.
	Namespace string
}
