package mapper

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"dwatch/watcher/event"
)

// A catalog finds resources by name. It uses client-go's mapper and expanders, as kubectl does. Their
// results can be guesses ("podlists"), so the catalog checks that the resources exist.
type catalog struct {
	resources  []resource // in the server's order of priority
	rank       map[schema.GroupVersionResource]int
	mapper     meta.RESTMapperWithContext
	categories restmapper.CategoryExpanderWithContext
	shortNames sync.Map // cache of shortName: schema.GroupVersionResource -> string
}

// resource is a resource in one version.
type resource struct {
	*metav1.APIResource
	gv schema.GroupVersion
}

func newCatalog(groups []*metav1.APIGroup, resources []resource) *catalog {
	v := snapshotDiscovery{groups: groups}
	c := &catalog{resources: resources, rank: make(map[schema.GroupVersionResource]int, len(resources))}
	for i, r := range resources {
		c.rank[r.gvr()] = i
		if last := len(v.lists) - 1; last < 0 || v.lists[last].GroupVersion != r.gv.String() {
			v.lists = append(v.lists, &metav1.APIResourceList{GroupVersion: r.gv.String()})
		}
		list := v.lists[len(v.lists)-1]
		list.APIResources = append(list.APIResources, *r.APIResource)
	}
	c.mapper = restmapper.NewShortcutExpanderWithContext(restmapper.NewDeferredDiscoveryRESTMapperWithContext(v), v, nil)
	c.categories = restmapper.NewDiscoveryCategoryExpanderWithContext(v)
	return c
}

// background is the context for client-go's mapper and expanders. They make no requests, because they use
// snapshotDiscovery.
var background = context.Background()

// find returns the resources that name refers to. multiple is true for AllResources, *.GROUP and categories. Other names
// refer to at most one resource.
func (c *catalog) find(name string) (found []resource, multiple bool) {
	if name == AllResources {
		return c.everything(), true
	}
	if group, isGroup := strings.CutPrefix(name, AllResources+"."); isGroup && group != "" {
		return c.group(strings.ToLower(group)), true
	}
	if members := c.category(name); len(members) > 0 {
		return members, true
	}
	if r, ok := c.findOne(name); ok {
		return []resource{r}, false
	}
	return nil, false
}

// shortName returns the first name of r that resolves to r: one of its short names, the singular or the plural. If none
// does, it returns the plural with the group. It is called for each event and so has a cache.
func (c *catalog) shortName(r schema.GroupVersionResource) string {
	if name, known := c.shortNames.Load(r); known {
		return name.(string)
	}
	name := c.computeShortName(r)
	c.shortNames.Store(r, name)
	return name
}

func (c *catalog) computeShortName(r schema.GroupVersionResource) string {
	served, there := c.first(func(s resource) bool { return s.gvr() == r })
	if !there { // another cluster may have r in a different version
		served, there = c.first(func(s resource) bool { return s.gvr().GroupResource() == r.GroupResource() })
	}
	if !there {
		return r.GroupResource().String()
	}
	for _, name := range slices.Concat(served.ShortNames, []string{served.SingularName, served.Name}) {
		if name == "" {
			continue
		}
		if found, multiple := c.find(name); !multiple && len(found) == 1 && found[0].gvr().GroupResource() == r.GroupResource() {
			return name
		}
	}
	return r.GroupResource().String()
}

// group returns the resources of a group and of its subgroups: *.istio.io includes networking.istio.io.
func (c *catalog) group(name string) []resource {
	return slices.DeleteFunc(c.preferred(), func(r resource) bool {
		return r.gv.Group != name && !strings.HasSuffix(r.gv.Group, "."+name)
	})
}

// category returns the resources of a category.
func (c *catalog) category(name string) []resource {
	members, _ := c.categories.ExpandWithContext(background, name)
	return slices.DeleteFunc(c.preferred(), func(r resource) bool { return !slices.Contains(members, r.gvr().GroupResource()) })
}

// findOne parses name as kubectl does: as resource.version.group, resource[.group], Kind.version.group
// or Kind[.group].
func (c *catalog) findOne(name string) (resource, bool) {
	gvr, gr := schema.ParseResourceArg(name)
	if gvr != nil {
		if r, ok := c.byResource(*gvr); ok {
			return r, true
		}
	}
	if r, ok := c.byResource(gr.WithVersion("")); ok {
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

// byResource finds the resource whose plural, singular or short name matches partial. kubectl looks for a
// kind and then for its resource, which is wrong if two resources have the same kind. An exact group wins
// over a group that only starts with it. Otherwise the lowest rank wins, as with the priorities of
// client-go's mapper.
func (c *catalog) byResource(partial schema.GroupVersionResource) (resource, bool) {
	matches, _ := c.mapper.ResourcesForWithContext(background, partial) // an error means that there are none
	best := 2 * len(c.resources)
	for _, match := range matches {
		rank, exists := c.rank[match]
		// The expander of short names ignores the version.
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

// byKind finds the resource of a kind. client-go's mapper finds kinds only in the core group, or
// if the exact group is given.
func (c *catalog) byKind(partial schema.GroupVersionKind) (resource, bool) {
	if partial.Kind == "" {
		return resource{}, false
	}
	fits := func(r resource) bool {
		return strings.EqualFold(r.Kind, partial.Kind) && (partial.Version == "" || r.gv.Version == partial.Version)
	}
	if r, ok := c.first(func(r resource) bool { return r.gv.Group == partial.Group && fits(r) }); ok {
		return r, true
	}
	return c.first(func(r resource) bool { return strings.HasPrefix(r.gv.Group, partial.Group) && fits(r) })
}

// first returns the first resource, in the server's order, that fits.
func (c *catalog) first(fits func(resource) bool) (resource, bool) {
	i := slices.IndexFunc(c.resources, fits)
	if i < 0 {
		return resource{}, false
	}
	return c.resources[i], true
}

// hasName reports whether name, which has no group, is a name of r. Only short names are case-sensitive.
func (r resource) hasName(name string) bool {
	typed := strings.ToLower(name)
	return slices.Contains(r.ShortNames, name) || typed == r.Name || typed == r.singular() || typed == strings.ToLower(r.Kind)
}

// alternatives returns the resources of other groups that also match name, after name was resolved to taken.
func (c *catalog) alternatives(name string, taken resource) []resource {
	typed := schema.ParseGroupResource(name)
	if group := taken.gv.Group; group == "" || typed.Group == group || typed.Group == taken.gv.Version+"."+group {
		return nil
	}
	groups := []string{taken.gv.Group}
	var found []resource
	for _, r := range c.resources {
		if slices.Contains(groups, r.gv.Group) || !strings.HasPrefix(r.gv.Group, typed.Group) || !r.hasName(typed.Resource) {
			continue
		}
		groups = append(groups, r.gv.Group)
		found = append(found, r)
	}
	return found
}

// preferred returns each resource once, in the version that the server prefers.
func (c *catalog) preferred() []resource {
	seen := make(map[schema.GroupResource]bool, len(c.resources))
	var preferred []resource
	for _, r := range c.resources {
		if gr := r.gvr().GroupResource(); !seen[gr] {
			seen[gr] = true
			preferred = append(preferred, r)
		}
	}
	return preferred
}

// AllResources refers to all resources that can be watched, each in the version that the server prefers. Events are
// only included once, from the core group.
const AllResources = "*"

func (c *catalog) everything() []resource {
	all := c.preferred()
	core := slices.ContainsFunc(all, func(r resource) bool { return r.Name == "events" && r.gv.Group == "" })
	return slices.DeleteFunc(all, func(r resource) bool {
		return core && r.Name == "events" && r.gv.Group == "events.k8s.io" || !slices.Contains(r.Verbs, "watch")
	})
}

func (r resource) gvr() schema.GroupVersionResource { return r.gv.WithResource(r.Name) }

func (r resource) mapping() *meta.RESTMapping { return event.NewMapping(r.gvr(), r.Kind, r.Namespaced) }

// singular returns the singular name, or the lower-case kind if an aggregated API server does not set one. This is the
// default of client-go.
func (r resource) singular() string { return cmp.Or(r.SingularName, strings.ToLower(r.Kind)) }

// snapshotDiscovery is a cached discovery client with the groups and lists of a catalog.
type snapshotDiscovery struct {
	discovery.CachedDiscoveryInterfaceWithContext
	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
}

func (v snapshotDiscovery) ServerGroupsAndResourcesWithContext(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return v.groups, v.lists, nil
}

// FreshWithContext returns true, so that the deferred mapper does not repeat discovery.
func (v snapshotDiscovery) FreshWithContext(context.Context) bool { return true }

// InvalidateWithContext does nothing, because snapshots never change.
func (v snapshotDiscovery) InvalidateWithContext(context.Context) {}
