package mapper

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Everything names all resources that can be watched, each in the version that
// the server prefers. Events, which the server has in two groups, are those of
// the core group.
const Everything = "*"

// IsSet reports whether name names all resources of some kind, so that what it
// names can change. It makes no request: before a successful Resolve the answer
// is only right for Everything.
func (m *Mapper) IsSet(ctx context.Context, name string) bool {
	if name == Everything {
		return true
	}
	known := m.latest.Load()
	return known != nil && len(known.watchable.category(ctx, name)) > 0
}

// Failed returns the group versions whose server did not answer when all was
// last learned: of what is in them nothing is known.
func (m *Mapper) Failed() []schema.GroupVersion {
	known := m.latest.Load()
	if known == nil {
		return nil
	}
	return slices.Clone(known.failed)
}

func (c *catalog) everything() []resource {
	all := c.preferred()
	core := slices.ContainsFunc(all, func(r resource) bool { return r.Name == "events" && r.gv.Group == "" })
	return slices.DeleteFunc(all, func(r resource) bool {
		return core && r.Name == "events" && r.gv.Group == "events.k8s.io"
	})
}
