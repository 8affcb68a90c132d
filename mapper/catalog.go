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

// A catalog finds resources by name, as the mapper and the expanders do that kubectl uses. As
// they answer with guesses, too ("podlists"), that is checked against what there is.
type catalog struct {
	resources  []resource // in the server's order of priority
	rank       map[schema.GroupVersionResource]int
	mapper     meta.RESTMapperWithContext
	categories restmapper.CategoryExpanderWithContext
	short      sync.Map // schema.GroupVersionResource -> string, of those that were asked for
}

type resource struct {
	*metav1.APIResource
	gv schema.GroupVersion
}

func newCatalog(groups []*metav1.APIGroup, resources []resource) *catalog {
	v := view{groups: groups}
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

// here is the context of questions to client-go's mapper and expanders, which ask nobody: see view.
var here = context.Background()

// find returns what name names: a set, which is everything, a group or a category, else one resource.
func (c *catalog) find(name string) (found []resource, set bool) {
	if name == AllResources {
		return c.everything(), true
	}
	if group, isGroup := strings.CutPrefix(name, AllResources+"."); isGroup && group != "" {
		return c.group(strings.ToLower(group)), true
	}
	if members := c.category(name); len(members) > 0 {
		return members, true
	}
	if r, ok := c.one(name); ok {
		return []resource{r}, false
	}
	return nil, false
}

// shortName returns the shortest name that means r. It is asked for each event that is named.
func (c *catalog) shortName(r schema.GroupVersionResource) string {
	if name, known := c.short.Load(r); known {
		return name.(string)
	}
	name := c.shortest(r)
	c.short.Store(r, name)
	return name
}

func (c *catalog) shortest(r schema.GroupVersionResource) string {
	served, there := c.first(func(s resource) bool { return s.gvr() == r })
	if !there { // another cluster has it in that version
		served, there = c.first(func(s resource) bool { return s.gvr().GroupResource() == r.GroupResource() })
	}
	if !there {
		return r.GroupResource().String()
	}
	for _, name := range slices.Concat(served.ShortNames, []string{served.SingularName, served.Name}) {
		if name == "" {
			continue
		}
		if found, set := c.find(name); !set && len(found) == 1 && found[0].gvr().GroupResource() == r.GroupResource() {
			return name
		}
	}
	return r.GroupResource().String()
}

// group returns what is in a group, and in those whose names end with it: *.istio.io is what is in
// networking.istio.io, too.
func (c *catalog) group(name string) []resource {
	return slices.DeleteFunc(c.preferred(), func(r resource) bool {
		return r.gv.Group != name && !strings.HasSuffix(r.gv.Group, "."+name)
	})
}

func (c *catalog) category(name string) []resource {
	members, _ := c.categories.ExpandWithContext(here, name)
	return slices.DeleteFunc(c.preferred(), func(r resource) bool { return !slices.Contains(members, r.gvr().GroupResource()) })
}

// one reads name as kubectl does: as resource.version.group, resource[.group], Kind.version.group
// or Kind[.group].
func (c *catalog) one(name string) (resource, bool) {
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

// byResource asks for resources where kubectl asks for a kind and then for its resource, which is
// wrong where two resources have one kind. The first by rank is what the mapper's own priorities
// come to. Only a group that fits exactly goes before one that begins with it.
func (c *catalog) byResource(partial schema.GroupVersionResource) (resource, bool) {
	matches, _ := c.mapper.ResourcesForWithContext(here, partial) // an error is only another way to say: none
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
	if r, ok := c.first(func(r resource) bool { return r.gv.Group == partial.Group && fits(r) }); ok {
		return r, true
	}
	return c.first(func(r resource) bool { return strings.HasPrefix(r.gv.Group, partial.Group) && fits(r) })
}

func (c *catalog) first(fits func(resource) bool) (resource, bool) {
	i := slices.IndexFunc(c.resources, fits)
	if i < 0 {
		return resource{}, false
	}
	return c.resources[i], true
}

// answers reports whether name, without a group, could mean r. Only short names have case.
func (r resource) answers(name string) bool {
	typed := strings.ToLower(name)
	return slices.Contains(r.ShortNames, name) || typed == r.Name || typed == r.singular() || typed == strings.ToLower(r.Kind)
}

// alternatives returns the resources of other groups that answer to name, too,
// where taken was found under it.
func (c *catalog) alternatives(name string, taken resource) []resource {
	typed := schema.ParseGroupResource(name)
	if group := taken.gv.Group; group == "" || typed.Group == group || typed.Group == taken.gv.Version+"."+group {
		return nil
	}
	groups := []string{taken.gv.Group}
	var found []resource
	for _, r := range c.resources {
		if slices.Contains(groups, r.gv.Group) || !strings.HasPrefix(r.gv.Group, typed.Group) || !r.answers(typed.Resource) {
			continue
		}
		groups = append(groups, r.gv.Group)
		found = append(found, r)
	}
	return found
}

// preferred returns each resource once, in the version the server prefers.
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

// Everything names all resources that can be watched, each in the version that the server prefers.
// Events, which the server has in two groups, are those of the core group.
const AllResources = "*"

func (c *catalog) everything() []resource {
	all := c.preferred()
	core := slices.ContainsFunc(all, func(r resource) bool { return r.Name == "events" && r.gv.Group == "" })
	return slices.DeleteFunc(all, func(r resource) bool {
		return core && r.Name == "events" && r.gv.Group == "events.k8s.io"
	})
}

func (r resource) gvr() schema.GroupVersionResource { return r.gv.WithResource(r.Name) }

func (r resource) mapping() *meta.RESTMapping { return event.NewMapping(r.gvr(), r.Kind, r.Namespaced) }

// singular is what client-go takes for it where an aggregated API server does not say.
func (r resource) singular() string { return cmp.Or(r.SingularName, strings.ToLower(r.Kind)) }

// A view shows client-go a part of a snapshot as a server that has already been asked.
type view struct {
	discovery.CachedDiscoveryInterfaceWithContext
	groups []*metav1.APIGroup
	lists  []*metav1.APIResourceList
}

func (v view) ServerGroupsAndResourcesWithContext(context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return v.groups, v.lists, nil
}

// FreshWithContext keeps the deferred mapper from asking again by itself.
func (v view) FreshWithContext(context.Context) bool { return true }

// InvalidateWithContext does nothing: a snapshot is replaced, not refreshed.
func (v view) InvalidateWithContext(context.Context) {}
