package mapper

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"

	"dwatch/watcher/event"
)

// A catalog finds resources by name. The work is done by the mapper and the
// expanders that kubectl uses; what they answer is checked against the list of
// what there is, because they also answer with guesses ("podlists").
type catalog struct {
	resources  []resource // in the server's order of priority
	rank       map[schema.GroupVersionResource]int
	mapper     meta.RESTMapperWithContext
	categories restmapper.CategoryExpanderWithContext
}

// resource is one version of a resource.
type resource struct {
	*metav1.APIResource
	gv schema.GroupVersion
}

func newCatalog(v view) *catalog {
	c := &catalog{
		rank: make(map[schema.GroupVersionResource]int),
		mapper: restmapper.NewShortcutExpanderWithContext(
			restmapper.NewDeferredDiscoveryRESTMapperWithContext(v), v, nil),
		categories: restmapper.NewDiscoveryCategoryExpanderWithContext(v),
	}
	for _, list := range v.lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // as client-go does: nobody could name it
		}
		for i := range list.APIResources {
			r := resource{&list.APIResources[i], gv}
			c.rank[r.gvr()] = len(c.resources)
			c.resources = append(c.resources, r)
		}
	}
	return c
}

// find returns what name names: everything or what is in a category of that name,
// which is a set, else one resource, else nothing.
func (c *catalog) find(ctx context.Context, name string) (found []resource, set bool) {
	if name == Everything {
		return c.everything(), true
	}
	if members := c.category(ctx, name); len(members) > 0 {
		return members, true
	}
	if r, ok := c.one(ctx, name); ok {
		return []resource{r}, false
	}
	return nil, false
}

// category returns the preferred version of each resource in a category.
func (c *catalog) category(ctx context.Context, name string) []resource {
	members, _ := c.categories.ExpandWithContext(ctx, name)
	var found []resource
	for i, member := range members {
		if slices.Contains(members[:i], member) {
			continue // named once for each version
		}
		r, ok := c.first(func(r resource) bool { return r.gvr().GroupResource() == member })
		if ok {
			found = append(found, r)
		}
	}
	return found
}

// one reads name as kubectl does: as resource.version.group, as
// resource[.group], as Kind.version.group, as Kind[.group].
func (c *catalog) one(ctx context.Context, name string) (resource, bool) {
	gvr, gr := schema.ParseResourceArg(name)
	if gvr != nil {
		if r, ok := c.byResource(ctx, *gvr); ok {
			return r, true
		}
	}
	if r, ok := c.byResource(ctx, gr.WithVersion("")); ok {
		return r, true
	}
	gvk, gk := schema.ParseKindArg(name)
	if gvk != nil {
		if r, ok := c.byKind(*gvk); ok {
			return r, true
		}
	}
	return c.byKind(gk.WithVersion(""))
}

// byResource asks for resources where kubectl asks for a kind and then for its
// resource, which is wrong where two resources have one kind. The first by rank
// is what the mapper's own priorities come to. Only a group that fits exactly
// goes before one that begins with it.
func (c *catalog) byResource(ctx context.Context, partial schema.GroupVersionResource) (resource, bool) {
	matches, _ := c.mapper.ResourcesForWithContext(ctx, partial) // an error is only another way to say: none
	best := 2 * len(c.resources)
	for _, match := range matches {
		rank, exists := c.rank[match]
		// The expander of short names forgets the version.
		if !exists || partial.Version != "" && match.Version != partial.Version {
			continue
		}
		if match.Group != partial.Group {
			rank += len(c.resources)
		}
		best = min(best, rank)
	}
	if best == 2*len(c.resources) {
		return resource{}, false
	}
	return c.resources[best%len(c.resources)], true
}

// byKind finds a kind whose resource is named otherwise. The mapper could do
// so in the core group only, or with the whole group given.
func (c *catalog) byKind(partial schema.GroupVersionKind) (resource, bool) {
	if partial.Kind == "" {
		return resource{}, false
	}
	fits := func(r resource) bool {
		return strings.EqualFold(r.Kind, partial.Kind) && (partial.Version == "" || r.gv.Version == partial.Version)
	}
	r, ok := c.first(func(r resource) bool { return r.gv.Group == partial.Group && fits(r) })
	if !ok {
		r, ok = c.first(func(r resource) bool { return strings.HasPrefix(r.gv.Group, partial.Group) && fits(r) })
	}
	return r, ok
}

func (c *catalog) first(fits func(resource) bool) (resource, bool) {
	i := slices.IndexFunc(c.resources, fits)
	if i < 0 {
		return resource{}, false
	}
	return c.resources[i], true
}

func (r resource) gvr() schema.GroupVersionResource { return r.gv.WithResource(r.Name) }

func (r resource) mapping() *meta.RESTMapping { return event.NewMapping(r.gvr(), r.Kind, r.Namespaced) }

// longNames returns plural, kind and singular in lower case.
func (r resource) longNames() []string {
	names := []string{r.Name, strings.ToLower(r.Kind)}
	if r.SingularName != "" { // not every aggregated API server says it
		names = append(names, r.SingularName)
	}
	return names
}
