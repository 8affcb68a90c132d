package mapper

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Known returns a Mapper of resources that are known, in their order of priority; it asks no
// server. Each has a group and a version.
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
		r.Verbs = metav1.Verbs{"list", "watch"}
		list.APIResources = append(list.APIResources, r)
	}
	return &Mapper{turn: make(chan struct{}, 1), latest: newSnapshot(time.Now(), groups, lists, nil), fixed: true}
}

// IsFixed reports whether m is of Known: it will never know more.
func (m *Mapper) IsFixed() bool { return m.fixed }

// Describe returns what the server said of a resource when it was last asked: what is needed to find
// it by its names (see [Known]). It makes no request.
func (m *Mapper) APIResource(r schema.GroupVersionResource) metav1.APIResource {
	said := metav1.APIResource{Group: r.Group, Version: r.Version, Name: r.Resource}
	latest, _ := m.newest()
	if latest == nil {
		return said
	}
	if served, there := latest.watchable.first(func(s resource) bool { return s.gvr() == r }); there {
		said.Kind, said.Namespaced, said.SingularName = served.Kind, served.Namespaced, served.SingularName
		said.ShortNames, said.Categories = served.ShortNames, served.Categories
	}
	return said
}
