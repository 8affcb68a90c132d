package mapper

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// NewFixed returns a Mapper with the given resources, in their order of priority. It never makes
// requests. Each resource must have its Group and Version set.
func NewFixed(resources []metav1.APIResource) *Mapper {
	var groups []*metav1.APIGroup
	byGroup := map[string]*metav1.APIGroup{}
	byVersion := map[schema.GroupVersion]*metav1.APIResourceList{}
	var lists []*metav1.APIResourceList
	for _, r := range resources {
		gv := schema.GroupVersion{Group: r.Group, Version: r.Version}
		version := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: r.Version}
		group := byGroup[r.Group]
		if group == nil {
			group = &metav1.APIGroup{Name: r.Group, PreferredVersion: version}
			byGroup[r.Group], groups = group, append(groups, group)
		}
		list := byVersion[gv]
		if list == nil {
			list = &metav1.APIResourceList{GroupVersion: gv.String()}
			byVersion[gv], lists = list, append(lists, list)
			group.Versions = append(group.Versions, version)
		}
		r.Verbs = metav1.Verbs{"get", "list", "watch"}
		list.APIResources = append(list.APIResources, r)
	}
	return &Mapper{discovering: make(chan struct{}, 1), latest: newSnapshot(time.Now(), groups, lists, nil), fixed: true}
}

// IsFixed reports whether m was created by NewFixed.
func (m *Mapper) IsFixed() bool { return m.fixed }

// APIResource returns the names, kind and scope of a resource according to the last discovery, in the form that [NewFixed]
// takes. It makes no requests. If the resource is unknown, the result contains only r.
func (m *Mapper) APIResource(r schema.GroupVersionResource) metav1.APIResource {
	result := metav1.APIResource{Group: r.Group, Version: r.Version, Name: r.Resource}
	latest, _ := m.cached()
	if latest == nil {
		return result
	}
	if served, found := latest.watchable.first(func(s resource) bool { return s.gvr() == r }); found {
		result.Kind, result.Namespaced, result.SingularName = served.Kind, served.Namespaced, served.SingularName
		result.ShortNames, result.Categories = served.ShortNames, served.Categories
	}
	return result
}
