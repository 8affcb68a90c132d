package changes

import (
	"time"

	"k8s.io/utils/lru"

	"dwatch/watcher/event"
)

// recent remembers when the last few objects were deleted, so that a new one of the
// same name can be shown as what takes its place.
type recent struct{ deleted *lru.Cache }

type objectKey struct {
	target          event.Key
	namespace, name string
}

// maxRecent is how many are remembered.
const maxRecent = 1000

func keyOf(e *event.Event) objectKey {
	return objectKey{e.Target.Key(), e.Object.Namespace, e.Object.Name}
}

func (r recent) put(e *event.Event) { r.deleted.Add(keyOf(e), e.Time) }

// take returns how long ago the object before e's was deleted, once.
func (r recent) take(e *event.Event) (since string, again bool) {
	at, again := r.deleted.Get(keyOf(e))
	if !again {
		return "", false
	}
	r.deleted.Remove(keyOf(e))
	return age(e.Time.Sub(at.(time.Time))), true
}
