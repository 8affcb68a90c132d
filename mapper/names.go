package mapper

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/internal/spelling"
)

const suggestions = 3

// suggest returns the resources, in the version the server prefers, whose plural, singular, short
// name or kind is near what was typed before a group: the nearest first, then in its order.
func (c *catalog) suggest(name string) []string {
	typed := strings.ToLower(schema.ParseGroupResource(name).Resource)
	byDistance := make([][]string, spelling.MaxDistance(typed)+1) // by distance
	for _, r := range c.preferred() {
		best := len(byDistance)
		for _, candidate := range append([]string{r.Name, r.singular(), strings.ToLower(r.Kind)}, r.ShortNames...) {
			best = min(best, spelling.EditDistance(typed, candidate))
		}
		if best < len(byDistance) {
			byDistance[best] = append(byDistance[best], fmt.Sprintf("%s (%s)", r.Name, r.gv))
		}
	}
	texts := slices.Concat(byDistance...)
	return texts[:min(len(texts), suggestions)]
}

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

// qualified returns the name that nothing else answers to.
func (r resource) qualified() string {
	if r.gv.Group == "" {
		return r.Name + "." + r.gv.Version + "."
	}
	return r.Name + "." + r.gv.Group
}
