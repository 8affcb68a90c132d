package event

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Target is one resource in one namespace, with at most one name: field selectors can only be
// ANDed, and a right limited by resourceNames is only granted for metadata.name=.
type Target struct {
	// Cluster is what the cluster is called in a run of several; empty in a run of one.
	Cluster   string
	Mapping   *meta.RESTMapping
	Namespace string // empty for all of them and for cluster-scoped resources
	Name      string // empty for all objects
}

// Key is a Target without its version: all versions of a resource show the same objects.
type Key struct {
	Cluster         string
	Resource        schema.GroupResource
	Namespace, Name string
}

func (t Target) Key() Key { return Key{t.Cluster, t.Resource().GroupResource(), t.Namespace, t.Name} }

// Covers reports whether o is a target with a name, whose object is one of k's.
func (k Key) Covers(o Key) bool {
	return o.Name != "" && k == Key{o.Cluster, o.Resource, o.Namespace, ""}
}

func (t Target) Resource() schema.GroupVersionResource { return t.Mapping.Resource }

// Namespaced reports whether the objects of the target live in namespaces.
func (t Target) Namespaced() bool { return t.Mapping.Scope.Name() == meta.RESTScopeNameNamespace }

func NewMapping(r schema.GroupVersionResource, kind string, namespaced bool) *meta.RESTMapping {
	scope := meta.RESTScope(meta.RESTScopeRoot)
	if namespaced {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{Resource: r, GroupVersionKind: r.GroupVersion().WithKind(kind), Scope: scope}
}

// Text is a target in words, for people.
func (t Target) Text() string {
	text := t.Resource().GroupResource().String()
	if t.Name != "" {
		text += "/" + t.Name
	}
	if t.Namespace != "" {
		text += " in namespace " + t.Namespace
	}
	if t.Cluster != "" {
		text = t.Cluster + ": " + text
	}
	return text
}

// TargetError says which target could not be watched.
type TargetError struct {
	Target Target
	Err    error
}

func (e *TargetError) Error() string {
	where := ""
	if e.Target.Namespace != "" {
		where = " in namespace " + e.Target.Namespace
	}
	return fmt.Sprintf("watch %s%s: %v", e.Target.Resource().GroupResource(), where, e.Err)
}

func (e *TargetError) Unwrap() error { return e.Err }

// Found is what there is to watch, as far as the server could say.
type Found struct {
	Targets []Target
	Unsure  []schema.GroupVersion // could not be asked: what is watched of them stays watched
	// Namespaces are those that exist, or are named, by name, where they are chosen by what they are
	// called or by their labels; else nil.
	Namespaces map[string]Namespace
}

// Namespace is one of those that may be chosen.
type Namespace struct {
	UID    types.UID // empty if it is named, whether it exists or not
	Chosen bool
}

// Outside reports whether a target is not asked for, as its namespace is not; and whether that
// exists.
func (f Found) Outside(key Key) (outside, exists bool) {
	if f.Namespaces == nil || key.Namespace == "" {
		return false, true
	}
	n, exists := f.Namespaces[key.Namespace]
	return !n.Chosen, exists
}

func (f Found) Find(key Key) (Target, bool) {
	i := slices.IndexFunc(f.Targets, func(t Target) bool { return t.Key() == key })
	if i < 0 {
		return Target{}, false
	}
	return f.Targets[i], true
}

// Lacks reports whether the server does not have the target, for sure.
func (f Found) Lacks(key Key) bool {
	if _, there := f.Find(key); there {
		return false
	}
	if outside, _ := f.Outside(key); outside {
		return false // it says nothing of the resource
	}
	return !slices.ContainsFunc(f.Unsure, func(gv schema.GroupVersion) bool { return gv.Group == key.Resource.Group })
}

// Selection says which objects are asked for: for the same meaning it is the same, as
// reflect.DeepEqual sees it and as JSON. What is printed of them has no part in it.
type Selection struct {
	// Resources are sorted. One that is there without a name is not there with one.
	Resources []Selected `json:"resources"`
	// Exclude are the names of --exclude in lower case, sorted, and not what they stand for: the
	// server may have that one day and not the next.
	Exclude []string `json:"exclude,omitempty"`
	// Namespaces are sorted, and may be patterns; empty with AllNamespaces, or if nothing is in a namespace.
	Namespaces    []string `json:"namespaces,omitempty"`
	AllNamespaces bool     `json:"allNamespaces,omitempty"`
	// NamespaceLabels choose namespaces; canonical, as Labels is.
	NamespaceLabels string `json:"namespaceLabels,omitempty"`
	// Labels and Fields are selectors in canonical form, as package plan writes them.
	Labels string `json:"labels,omitempty"`
	Fields string `json:"fields,omitempty"`
	// Shard is zero for all objects.
	Shard Shard `json:"shard,omitzero"`
}

// Selected is one thing asked for.
type Selected struct {
	// Resource is plural and group; the name as typed, in lower case, where what that stands for
	// may change: for a category, and for what is waited for.
	Resource string `json:"resource"`
	Name     string `json:"name,omitempty"` // empty for all objects
}

// OfAllShards is the same of all objects.
func (s Selection) OfAllShards() Selection {
	s.Shard = Shard{}
	return s
}

func (s Selection) Equal(o Selection) bool {
	return slices.Equal(s.Resources, o.Resources) && slices.Equal(s.Exclude, o.Exclude) &&
		slices.Equal(s.Namespaces, o.Namespaces) && s.AllNamespaces == o.AllNamespaces &&
		s.NamespaceLabels == o.NamespaceLabels &&
		s.Labels == o.Labels && s.Fields == o.Fields && s.Shard == o.Shard
}

// String says it for people; nothing may depend on it.
func (s Selection) String() string {
	var resources []string
	for _, r := range s.Resources {
		resources = append(resources, r.String())
	}
	text := strings.Join(resources, ", ")
	if len(s.Exclude) > 0 {
		text += " without " + strings.Join(s.Exclude, ", ")
	}
	switch {
	case s.AllNamespaces:
		text += " in all namespaces"
	case s.NamespaceLabels != "":
		text += " in namespaces with labels " + s.NamespaceLabels
	case len(s.Namespaces) == 1:
		text += " in namespace " + s.Namespaces[0]
	case len(s.Namespaces) > 1:
		text += " in namespaces " + strings.Join(s.Namespaces, ", ")
	}
	if s.Labels != "" {
		text += ", with labels " + s.Labels
	}
	if s.Fields != "" {
		text += ", with fields " + s.Fields
	}
	if s.Shard != (Shard{}) {
		text += ", shard " + s.Shard.String()
	}
	return text
}

func (s Selected) String() string {
	if s.Name == "" {
		return s.Resource
	}
	return s.Resource + "/" + s.Name
}
