package recording

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/pack"
)

// held is what is there, as the lines so far say.
type held struct {
	objects map[objectKey]heldObject
	packer  pack.Packer
}

type objectKey struct {
	resource        schema.GroupResource
	namespace, name string
}

type heldObject struct {
	target event.Target // the resource, and of a view the target
	event.Object
}

func newHeld() *held { return &held{objects: map[objectKey]heldObject{}} }

func keyOf(t event.Target, o event.Object) objectKey {
	return objectKey{t.Resource().GroupResource(), o.Namespace, o.Name}
}

// observe takes over what an event of an object says is there, and returns what was before. keep:
// its content is held, too, compressed.
func (h *held) observe(e *event.Event, keep bool) (before event.Object) {
	key := keyOf(e.Target, e.Object)
	before = h.objects[key].Object
	if e.Type == event.Deleted {
		delete(h.objects, key)
		return before
	}
	o := event.NewObject(e.Object.Identity, "") // its memory is that of a frame
	if keep {
		o = event.NewLazyObject(e.Object.Identity, h.packer.Pack(key.resource, e.Object.Raw()))
	}
	h.objects[key] = heldObject{e.Target, o}
	return before
}

// all returns what is there by resource, namespace and name.
func (h *held) all() []heldObject {
	all := make([]heldObject, 0, len(h.objects))
	for _, o := range h.objects {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b heldObject) int {
		return cmp.Or(cmp.Compare(a.target.Resource().String(), b.target.Resource().String()),
			cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}
