package event

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Target is the scope of one watch request: a resource, optionally restricted to a namespace and to
// one name. Several names take several targets, because a field selector can't match alternatives,
// and because RBAC rules with resourceNames only permit requests for a single name.
type Target struct {
	Cluster   string // name of the cluster; empty unless the run watches several
	Mapping   *meta.RESTMapping
	Namespace string // empty for all namespaces and for cluster-scoped resources
	Name      string // empty for all objects
}

// Key identifies a Target. It has no version, because all versions of a resource serve the same
// objects.
type Key struct {
	Cluster         string
	Resource        schema.GroupResource
	Namespace, Name string
}

func (t Target) Key() Key { return Key{t.Cluster, t.Resource().GroupResource(), t.Namespace, t.Name} }

// Covers reports whether k is for all objects of a resource, and o for only one of them. Both must
// have the same cluster and namespace: a target for all namespaces covers no target in one namespace.
func (k Key) Covers(o Key) bool {
	return o.Name != "" && k == Key{o.Cluster, o.Resource, o.Namespace, ""}
}

// Overlaps reports whether an object may belong to both k and o. It does not compare the clusters.
func (k Key) Overlaps(o Key) bool {
	same := func(x, y string) bool { return x == "" || y == "" || x == y }
	return k.Resource == o.Resource && same(k.Namespace, o.Namespace) && same(k.Name, o.Name)
}

func (t Target) Resource() schema.GroupVersionResource { return t.Mapping.Resource }

// Namespaced reports whether the resource is namespaced.
func (t Target) Namespaced() bool { return t.Mapping.Scope.Name() == meta.RESTScopeNameNamespace }

// IsOneObject reports whether the target names one object. A name in all namespaces may stand for several.
func (t Target) IsOneObject() bool {
	return t.Name != "" && (t.Namespace != "" || !t.Namespaced())
}

// NewMapping returns a RESTMapping for a resource without a lookup in discovery data.
func NewMapping(r schema.GroupVersionResource, kind string, namespaced bool) *meta.RESTMapping {
	scope := meta.RESTScope(meta.RESTScopeRoot)
	if namespaced {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{Resource: r, GroupVersionKind: r.GroupVersion().WithKind(kind), Scope: scope}
}

// Text describes the target for people, as in "pods/web-0 in namespace shop".
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

// TargetError is an error that concerns the watch of a target.
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

// Resolution is the result of resolving a request against the server's discovery data.
type Resolution struct {
	Targets []Target
	// FailedGroups are the group versions that discovery failed for. dwatch keeps watching targets
	// in their groups.
	FailedGroups []schema.GroupVersion
	// Namespaces maps names to the namespaces that exist or were requested by name. It is nil unless
	// the request selects namespaces by pattern or label.
	Namespaces map[string]Namespace
}

// Namespace is a namespace that a request may select.
type Namespace struct {
	UID      types.UID // empty if the namespace was requested by name and does not exist
	Selected bool
}

// NamespaceExcluded reports whether the request does not select the namespace of key, and whether
// that exists. exists is also true if the namespace was requested by name or can't be excluded.
func (r Resolution) NamespaceExcluded(key Key) (excluded, exists bool) {
	if r.Namespaces == nil || key.Namespace == "" {
		return false, true
	}
	n, exists := r.Namespaces[key.Namespace]
	return !n.Selected, exists
}

// Find returns the target with this key.
func (r Resolution) Find(key Key) (Target, bool) {
	i := slices.IndexFunc(r.Targets, func(t Target) bool { return t.Key() == key })
	if i < 0 {
		return Target{}, false
	}
	return r.Targets[i], true
}

// IsMissing reports whether the server certainly does not serve the resource of key.
func (r Resolution) IsMissing(key Key) bool {
	if _, found := r.Find(key); found {
		return false
	}
	if excluded, _ := r.NamespaceExcluded(key); excluded {
		return false // then Targets would not contain it even if the server served the resource
	}
	return !slices.ContainsFunc(r.FailedGroups, func(gv schema.GroupVersion) bool { return gv.Group == key.Resource.Group })
}

// Selection is the canonical form of the objects that a request selects. Requests with the same
// meaning have selections that are equal by reflect.DeepEqual and as JSON, unless they name an
// unresolved resource differently (see [SelectedResource]). Output options are not part of it.
type Selection struct {
	// Resources are sorted. If a resource is selected as a whole, entries for its objects are omitted.
	Resources []SelectedResource `json:"resources"`
	// Exclude are the arguments of --exclude in lower case, sorted. They are not resolved to
	// resources, because the result could change with the resources that the server serves.
	Exclude []string `json:"exclude,omitempty"`
	// Namespaces are names or patterns, sorted. Excluded ones begin with "!". They are empty if
	// AllNamespaces is true, NamespaceLabels is set, or the request can only select cluster-scoped
	// resources.
	Namespaces    []string `json:"namespaces,omitempty"`
	AllNamespaces bool     `json:"allNamespaces,omitempty"`
	// NamespaceLabels is a canonical label selector for namespaces.
	NamespaceLabels string `json:"namespaceLabels,omitempty"`
	// Labels and Fields are selectors in the canonical form that package plan writes.
	Labels string `json:"labels,omitempty"`
	Fields string `json:"fields,omitempty"`
	// Shard is zero if all objects are selected.
	Shard Shard `json:"shard,omitzero"`
}

// SelectedResource is a resource that a request selects, or one object of it.
type SelectedResource struct {
	// Resource is the plural name and group, as in "deployments.apps". For a category, and for every
	// resource of a request that waits for missing resources, it is the argument in lower case, because
	// its meaning may change.
	Resource string `json:"resource"`
	Name     string `json:"name,omitempty"` // empty for all objects
}

// WithoutShard returns the selection without its restriction to a shard.
func (s Selection) WithoutShard() Selection {
	s.Shard = Shard{}
	return s
}

// Equal reports whether s and o select the same objects. It does not distinguish nil from empty.
func (s Selection) Equal(o Selection) bool {
	return slices.Equal(s.Resources, o.Resources) && slices.Equal(s.Exclude, o.Exclude) &&
		slices.Equal(s.Namespaces, o.Namespaces) && s.AllNamespaces == o.AllNamespaces &&
		s.NamespaceLabels == o.NamespaceLabels &&
		s.Labels == o.Labels && s.Fields == o.Fields && s.Shard == o.Shard
}

// String describes the selection for people. The format may change.
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

func (s SelectedResource) String() string {
	if s.Name == "" {
		return s.Resource
	}
	return s.Resource + "/" + s.Name
}
