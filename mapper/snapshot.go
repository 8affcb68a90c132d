package mapper

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A snapshot is what the server said it serves. It never changes, and makes no request.
type snapshot struct {
	asked     time.Time             // when the question left, so what it says is as of then or later
	failed    []schema.GroupVersion // could not be asked
	all       *catalog
	watchable *catalog
}

func newSnapshot(asked time.Time, groups []*metav1.APIGroup, lists []*metav1.APIResourceList, failed []schema.GroupVersion) *snapshot {
	slices.SortFunc(failed, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	var all, watchable []resource
	for _, list := range order(groups, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // as client-go does: nobody could name it
		}
		for i := range list.APIResources {
			r := resource{&list.APIResources[i], gv}
			if !isResource(r) {
				continue
			}
			all = append(all, r)
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				watchable = append(watchable, r)
			}
		}
	}
	return &snapshot{asked: asked, failed: failed, all: newCatalog(groups, all), watchable: newCatalog(groups, watchable)}
}

// isOf reports whether s, which may be nil, is what the server said at since or later.
func (s *snapshot) isOf(since time.Time) bool { return s != nil && !s.asked.Before(since) }

// order returns lists by the server's order of groups and, in each, of versions, the preferred one
// first. The discovery client goes through a map, while client-go's expanders take the first that
// fits: without order an ambiguous name would be decided by chance.
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

// isResource leaves out subresources, and what an aggregated API server names unprintably.
func isResource(r resource) bool {
	return r.Name != "" && !strings.Contains(r.Name, "/") &&
		isPrintable(r.Name, r.Kind) && isPrintable(r.ShortNames...) && isPrintable(r.Verbs...)
}
