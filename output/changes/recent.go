package changes

import (
	"time"

	"dwatch/watcher/event"
)

// recent remembers when the last few objects were deleted, so that a new one of the
// same name can be shown as what takes its place.
type recent struct {
	deleted map[objectKey]time.Time
	order   []objectKey
}

type objectKey struct {
	target          event.Key
	namespace, name string
}

// maxRecent is how many are remembered.
const maxRecent = 1000

func keyOf(e *event.Event) objectKey {
	return objectKey{e.Target.Key(), e.Object.Namespace, e.Object.Name}
}

func (r *recent) put(e *event.Event) {
	if r.deleted == nil {
		r.deleted = map[objectKey]time.Time{}
	}
	key := keyOf(e)
	r.deleted[key] = e.Time
	if r.order = append(r.order, key); len(r.order) > maxRecent {
		delete(r.deleted, r.order[0])
		r.order = r.order[1:]
	}
}

// take returns how long ago the object before e's was deleted, once.
func (r *recent) take(e *event.Event) (since string, again bool) {
	key := keyOf(e)
	at, again := r.deleted[key]
	delete(r.deleted, key)
	return age(e.Time.Sub(at)), again
}
