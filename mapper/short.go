package mapper

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ShortName returns the shortest name that means r, as far as has been learned: a
// short name, else its singular or plural, with its group if nothing less does. It
// makes no request.
func (m *Mapper) ShortName(ctx context.Context, r schema.GroupVersionResource) string {
	known, _ := m.newest()
	if known == nil {
		return r.Resource
	}
	served, there := known.watchable.first(func(s resource) bool { return s.gvr() == r })
	if !there {
		return r.GroupResource().String()
	}
	for _, name := range append(served.ShortNames, served.SingularName, served.Name) {
		if name == "" {
			continue
		}
		if found, set := known.watchable.find(ctx, name); !set && len(found) == 1 && found[0].gvr().GroupResource() == r.GroupResource() {
			return name
		}
	}
	return r.GroupResource().String()
}
