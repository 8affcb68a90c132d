package mapper

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/internal/spelling"
)

const maxSuggestions = 3

// suggest returns the resources with a plural, singular, short name or kind similar to name without its group. The most
// similar ones are first.
func (c *catalog) suggest(name string) []string {
	typed := strings.ToLower(schema.ParseGroupResource(name).Resource)
	byDistance := make([][]string, spelling.MaxDistance(typed)+1)
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
	return texts[:min(len(texts), maxSuggestions)]
}

// Resource is a resource with its names.
type Resource struct {
	// Name resolves to the resource. It is the plural, followed by .GROUP if the plural alone resolves to something else, or
	// by .VERSION. in the core group.
	Name       string
	ShortNames []string // not necessarily unique
	Categories []string
	Mapping    *meta.RESTMapping // of the version that the server prefers
}

// list returns each resource once, in the version that the server prefers.
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

// qualified returns the unambiguous name of r.
func (r resource) qualified() string {
	if r.gv.Group == "" {
		return r.Name + "." + r.gv.Version + "."
	}
	return r.Name + "." + r.gv.Group
}
