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

// Plan has the targets to watch, and notes for the user.
type Plan struct {
	Targets          []event.Target
	Selection        event.Selection // the request in normalized form
	Missing          []Missing
	Notes            []string // lines for people
	DynamicResources bool     // the resources that the arguments name may change
	// Namespaces are all existing namespaces if patterns or labels select them, and else nil.
	Namespaces map[string]event.Namespace
}

// IsDynamic reports whether the targets may change.
func (p *Plan) IsDynamic() bool { return p.DynamicResources || p.Namespaces != nil }

// Missing is an argument whose resource the server does not have yet.
type Missing struct {
	Name string // as it was typed
	// Matches reports whether the argument, as resolved last, names a target.
	Matches func(event.Target) bool
}

// draft is an unfinished Plan.
type draft struct {
	Plan
	resources    []event.SelectedResource
	namespaces   []string                                   // the namespaces to watch in
	named        map[schema.GroupResource]*meta.RESTMapping // resources that arguments name individually
	firstMistake error                                      // in the arguments
	failedGroups []schema.GroupVersion                      // groups whose server did not answer
}

// name records the version in which an argument names a resource.
func (d *draft) name(mapping *meta.RESTMapping) {
	r := mapping.Resource.GroupResource()
	if other := d.named[r]; other != nil && other.Resource != mapping.Resource {
		d.addMistake(fmt.Errorf("%s is requested in two versions, which contain the same objects: name one of them", r))
	}
	d.named[r] = mapping
}

func (d *draft) addMistake(err error) { d.firstMistake = cmp.Or(d.firstMistake, err) }

func (d *draft) note(note string) {
	if !slices.Contains(d.Notes, note) {
		d.Notes = append(d.Notes, note)
	}
}

// noteAlternatives adds a note with the resource to which an ambiguous name was resolved.
func (d *draft) noteAlternatives(name string, answer mapper.Result) {
	if len(answer.Alternatives) == 0 {
		return
	}
	var names []string
	for _, o := range answer.Alternatives {
		names = append(names, o.Resource.GroupResource().String())
	}
	d.note(strconv.Quote(name) + " is resolved to " + answer.Mappings[0].Resource.GroupResource().String() + "; it could also be " + strings.Join(names, ", "))
}

// finish completes the plan after all arguments were added.
func (d *draft) finish(r Request) {
	d.merge(r.AwaitsObjects)
	d.Selection = selection(d.resources, r.Exclude)
	if !r.Shard.IsAll() {
		d.Selection.Shard = r.Shard
	}
	// Dynamic resources may include namespaced ones later.
	if d.DynamicResources || slices.ContainsFunc(d.Targets, event.Target.Namespaced) {
		addNamespaces(&d.Selection, r)
	}
	var err error
	d.Selection.Labels, d.Selection.Fields, err = r.NormalizedSelectors()
	d.addMistake(err)
	if (len(r.Namespaces) > 0 || r.SelectsNamespaces()) && !r.AllNamespaces && !slices.Contains(r.NamespacePatterns, AllNamespacesPattern) {
		d.noteClusterScoped()
	}
}

// merge drops targets that another target covers. If awaited is true, a name that a wider target covers is a mistake. If a
// resource was named in a version, all its targets use that version.
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
			d.addMistake(fmt.Errorf("%s/%s is one of the %s, and dwatch waits for all of them: name it alone, or leave it out", r, t.Name, r))
		}
		if !slices.ContainsFunc(d.Targets[:i], covered) && !slices.ContainsFunc(d.Targets[i+1:], wider) {
			merged = append(merged, t)
		}
	}
	d.Targets = merged
}

// maxNoted is the maximum number of names in a note.
const maxNoted = 10

// shorten joins names. If there are more than maxNoted, it replaces the rest by their number.
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

// Request is what the command line asks for. Its fields are independent settings.
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
	// ListNamespaces lists all namespaces. If nil, patterns and labels select all namespaces.
	ListNamespaces func(context.Context) ([]Namespace, error)

	// ExtraResources returns resources to watch in addition to Arguments, if the server has them. The result may grow. It may be
	// nil.
	ExtraResources func() []ExtraResource

	DefaultNamespace string // the namespace of the kubeconfig's context

	LabelSelector, FieldSelector string // if empty, all objects
	// Shard is the shard whose objects are requested. Its number is 0 until it is determined.
	Shard event.Shard

	// ListOnly means that the objects are listed once: their resources need not allow to be watched, and resources of named
	// objects need only allow to get them.
	ListOnly bool

	WaitForResources bool // a resource that the server does not have yet is no error
	// AwaitsObjects means that a condition is awaited for each named object, or for all objects of a resource without a name.
	// A resource can't be both.
	AwaitsObjects bool
	// WithTimeout limits the requests for one plan. If nil, only their context limits them.
	WithTimeout func(context.Context) (context.Context, context.CancelFunc)
}

// use returns what the request does with the objects of an argument. name is empty if it is for all objects.
func (r Request) use(name string) mapper.Use {
	switch {
	case !r.ListOnly:
		return mapper.Watch
	case name == "":
		return mapper.List
	}
	return mapper.Get
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

// IsFiltered reports whether selectors or a shard restrict the objects.
func (r Request) IsFiltered() bool {
	return r.LabelSelector != "" || r.FieldSelector != "" || !r.Shard.IsAll()
}

// ExtraResource is a resource or object to watch in addition to the arguments.
type ExtraResource struct {
	mapper.Argument
	// Namespace, if empty, means the namespaces of the request.
	Namespace string
}
