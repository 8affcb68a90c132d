package mapper

import "k8s.io/apimachinery/pkg/api/meta"

// Resource is something that can be watched.
type Resource struct {
	// Name is what to type: its plural, followed by .group where that alone means something else.
	Name       string
	ShortNames []string // which another resource may have, too
	Categories []string
	Mapping    *meta.RESTMapping // of the version the server prefers
}

// list returns each resource once, in the version the server prefers.
func (c *catalog) list() []Resource {
	taken := map[string]bool{}
	for _, r := range c.resources {
		for _, category := range r.Categories {
			taken[category] = true
		}
	}
	var resources []Resource
	for _, r := range c.preferred() {
		name := r.Name
		if taken[name] {
			name = r.qualified()
		}
		taken[r.Name], taken[r.SingularName] = true, true
		resources = append(resources, Resource{Name: name, ShortNames: r.ShortNames, Categories: r.Categories, Mapping: r.mapping()})
	}
	return resources
}

// qualified returns the name that nothing else answers to. That of the core
// group has a version and an empty group.
func (r resource) qualified() string {
	if r.gv.Group == "" {
		return r.Name + "." + r.gv.Version + "."
	}
	return r.Name + "." + r.gv.Group
}
