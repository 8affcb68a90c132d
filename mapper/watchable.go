package mapper

import (
	"k8s.io/apimachinery/pkg/api/meta"
)

// Resource is something that can be watched.
type Resource struct {
	// Name is what to type: its plural, followed by .group where the plural
	// alone means something else.
	Name string
	// ShortNames are as the server names them; another resource may have them too.
	ShortNames []string
	// Categories are those it is in.
	Categories []string
	// Mapping has kind, scope and the version the server prefers.
	Mapping *meta.RESTMapping
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
		for _, other := range []string{r.Name, r.SingularName} {
			taken[other] = true
		}
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
