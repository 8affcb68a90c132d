package recording

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/pack"
)

// objectSet is the set of objects that exist according to the lines read or written so far.
type objectSet struct {
	byKey  map[objectKey]storedObject
	packer pack.Packer
}

type objectKey struct {
	resource        schema.GroupResource
	namespace, name string
}

type storedObject struct {
	target event.Target // for a query, its target; otherwise only the resource matters
	event.Object
}

func newObjectSet() *objectSet { return &objectSet{byKey: map[objectKey]storedObject{}} }

func keyOf(t event.Target, o event.Object) objectKey {
	return objectKey{t.Resource().GroupResource(), o.Namespace, o.Name}
}

// observe applies an object event and returns the previous object, which is zero if there was none. If keepContent is true,
// the content is stored as well, compressed.
func (h *objectSet) observe(e *event.Event, keepContent bool) (before event.Object) {
	key := keyOf(e.Target, e.Object)
	before = h.byKey[key].Object
	if e.Type == event.Deleted {
		delete(h.byKey, key)
		return before
	}
	o := event.NewObject(e.Object.Identity, "") // its content is in the buffer of a frame
	if keepContent {
		o = event.NewLazyObject(e.Object.Identity, h.packer.Pack(key.resource, e.Object.Raw()))
	}
	h.byKey[key] = storedObject{e.Target, o}
	return before
}

// all returns the objects sorted by resource, namespace and name.
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
