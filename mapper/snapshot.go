package mapper

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// A snapshot is what the server said it serves. It never changes, and working
// with it makes no request.
type snapshot struct {
	asked     time.Time             // when the question left, so what it says is as of then or later
	failed    []schema.GroupVersion // could not be asked
	all       *catalog
	watchable *catalog
}

func newSnapshot(
	asked time.Time, server discovery.CachedDiscoveryInterfaceWithContext,
	groups []*metav1.APIGroup, lists []*metav1.APIResourceList, failed map[schema.GroupVersion]error,
) *snapshot {
	lists = order(groups, lists)
	of := func(wanted func(*metav1.APIResource) bool) *catalog {
		return newCatalog(view{server, groups, filter(lists, wanted)})
	}
	return &snapshot{
		asked: asked,
		failed: slices.SortedFunc(maps.Keys(failed), func(a, b schema.GroupVersion) int {
			return strings.Compare(a.String(), b.String())
		}),
		all:       of(isResource),
		watchable: of(isWatchable),
	}
}

// isOf reports whether s, which may be nil, is what the server said at since or later.
func (s *snapshot) isOf(since time.Time) bool { return s != nil && !s.asked.Before(since) }

// order returns lists by the server's order of groups and, in each, of
// versions, the preferred one first. The discovery client goes through a map,
// while client-go's expanders take the first that fits: without order an
// ambiguous name would be decided by chance.
func order(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []*metav1.APIResourceList {
	byVersion := make(map[string]*metav1.APIResourceList, len(lists))
	for _, list := range lists {
		byVersion[list.GroupVersion] = list
	}
	ordered := make([]*metav1.APIResourceList, 0, len(lists))
	take := func(version metav1.GroupVersionForDiscovery) {
		if list := byVersion[version.GroupVersion]; list != nil {
			ordered = append(ordered, list)
			delete(byVersion, version.GroupVersion)
		}
	}
	for _, group := range groups {
		take(group.PreferredVersion)
		for _, version := range group.Versions {
			take(version)
		}
	}
	return ordered
}

// filter returns lists with only what is wanted, which it copies: what the
// discovery cache holds must not change.
func filter(lists []*metav1.APIResourceList, wanted func(*metav1.APIResource) bool) []*metav1.APIResourceList {
	return discovery.FilteredBy(discovery.ResourcePredicateFunc(func(_ string, r *metav1.APIResource) bool {
		return wanted(r)
	}), lists)
}

// isResource leaves out subresources, and what could not be shown on a terminal: an
// aggregated API server may name things at will.
func isResource(r *metav1.APIResource) bool {
	return r.Name != "" && !strings.Contains(r.Name, "/") &&
		isPrintable(r.Name, r.Kind) && isPrintable(r.ShortNames...) && isPrintable(r.Verbs...)
}

func isWatchable(r *metav1.APIResource) bool {
	return isResource(r) && slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch")
}

// A view shows client-go's mapper and expanders a part of a snapshot as a
// server that has already been asked.
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
