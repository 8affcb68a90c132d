package mapper

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

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

// answers reports whether name, without a group, could mean r. Short names alone
// are taken letter by letter, as client-go takes them.
func (r resource) answers(name string) bool {
	return slices.Contains(r.ShortNames, name) || slices.Contains(r.longNames(), strings.ToLower(name))
}
