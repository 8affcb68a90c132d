package mapper

import "slices"

// Everything names all resources that can be watched, each in the version that
// the server prefers. Events, which the server has in two groups, are those of
// the core group.
const Everything = "*"

func (c *catalog) everything() []resource {
	all := c.preferred()
	core := slices.ContainsFunc(all, func(r resource) bool { return r.Name == "events" && r.gv.Group == "" })
	return slices.DeleteFunc(all, func(r resource) bool {
		return core && r.Name == "events" && r.gv.Group == "events.k8s.io"
	})
}
