package mapper

import (
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A snapshot is the result of one discovery. It never changes and makes no requests.
type snapshot struct {
	requested time.Time             // before the requests, so the content is from this time or later
	failed    []schema.GroupVersion // groups whose server did not answer, sorted
	all       *catalog
	watchable *catalog
	// listable and readable are the catalogs for List and Get. They are made when they are first needed.
	listable, readable func() *catalog
}

// Use is what a command does with the objects of a resource. A name only refers to resources that allow it.
type Use uint8

const (
	Watch Use = iota // list and watch them
	List             // list them once
	Get              // get one by its name
)

// verbs returns the verbs that a resource must allow.
func (u Use) verbs() []string {
	switch u {
	case List:
		return []string{"list"}
	case Get:
		return []string{"get"}
	}
	return []string{"list", "watch"}
}

// participle completes "can't be ...".
func (u Use) participle() string {
	switch u {
	case List:
		return "listed"
	case Get:
		return "read"
	}
	return "watched"
}

// catalog returns the resources that allow a use.
func (s *snapshot) catalog(u Use) *catalog {
	switch u {
	case List:
		return s.listable()
	case Get:
		return s.readable()
	}
	return s.watchable
}

func newSnapshot(requested time.Time, groups []*metav1.APIGroup, lists []*metav1.APIResourceList, failed []schema.GroupVersion) *snapshot {
	slices.SortFunc(failed, func(a, b schema.GroupVersion) int { return strings.Compare(a.String(), b.String()) })
	var all []resource
	for _, list := range sortLists(groups, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // as client-go does
		}
		for i := range list.APIResources {
			r := resource{&list.APIResources[i], gv}
			if !isResource(r) {
				continue
			}
			all = append(all, r)
		}
	}
	allowing := func(u Use) *catalog {
		lacks := func(r resource) bool {
			return slices.ContainsFunc(u.verbs(), func(verb string) bool { return !slices.Contains(r.Verbs, verb) })
		}
		return newCatalog(groups, slices.DeleteFunc(slices.Clone(all), lacks))
	}
	return &snapshot{
		requested: requested, failed: failed, all: newCatalog(groups, all), watchable: allowing(Watch),
		listable: sync.OnceValue(func() *catalog { return allowing(List) }),
		readable: sync.OnceValue(func() *catalog { return allowing(Get) }),
	}
}

// isSince reports whether s was requested at since or later. s may be nil.
func (s *snapshot) isSince(since time.Time) bool { return s != nil && !s.requested.Before(since) }

// sortLists returns lists in the server's order of groups and versions, with the preferred version of
// each group first. The lists of the discovery client have a random order. client-go's expanders return
// the first match, so the result of an ambiguous name would be random too.
func sortLists(groups []*metav1.APIGroup, lists []*metav1.APIResourceList) []*metav1.APIResourceList {
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

// isResource reports whether r is a resource that can be named. It excludes subresources and resources with unprintable names.
func isResource(r resource) bool {
	return r.Name != "" && !strings.Contains(r.Name, "/") &&
		isPrintable(r.Name, r.Kind) && isPrintable(r.ShortNames...) && isPrintable(r.Verbs...)
}
