package recording

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/pack"
)

// held is what is there, as the lines so far say.
type objectSet struct {
	byKey  map[objectKey]storedObject
	packer pack.Packer
}

type objectKey struct {
	resource        schema.GroupResource
	namespace, name string
}

type storedObject struct {
	target event.Target // the resource, and of a view the target
	event.Object
}

func newObjectSet() *objectSet { return &objectSet{byKey: map[objectKey]storedObject{}} }

func keyOf(t event.Target, o event.Object) objectKey {
	return objectKey{t.Resource().GroupResource(), o.Namespace, o.Name}
}

// observe takes over what an event of an object says is there, and returns what was before. keep:
// its content is held, too, compressed.
func (h *objectSet) observe(e *event.Event, keep bool) (before event.Object) {
	key := keyOf(e.Target, e.Object)
	before = h.byKey[key].Object
	if e.Type == event.Deleted {
		delete(h.byKey, key)
		return before
	}
	o := event.NewObject(e.Object.Identity, "") // its memory is that of a frame
	if keep {
		o = event.NewLazyObject(e.Object.Identity, h.packer.Pack(key.resource, e.Object.Raw()))
	}
	h.byKey[key] = storedObject{e.Target, o}
	return before
}

// all returns what is there by resource, namespace and name.
func (h *objectSet) all() []storedObject {
	all := make([]storedObject, 0, len(h.byKey))
	for _, o := range h.byKey {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b storedObject) int {
		return cmp.Or(cmp.Compare(a.target.Resource().String(), b.target.Resource().String()),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
