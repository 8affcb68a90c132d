// Package ledger has what was reported of each object of one target, and decides by
// that what is new. Whatever is seen of an object (in the stream, in a list, in a
// relist after a gap) goes through [Ledger.Observe], and what a sync did not show
// through [Ledger.Sweep]: these two make every event of an object.
package ledger

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// Ledger is what has been reported of the objects of one target. Its events have
// no Target. It is not safe for concurrent use.
type Ledger struct {
	kind     schema.GroupVersionKind
	reported map[cache.ObjectName]entry
	epoch    uint32
	// pending are deletions to be reported before anything else.
	pending []event.Event
}

// entry is what has been reported of one object, and the last sync that saw it.
type entry struct {
	uid             types.UID
	resourceVersion string
	epoch           uint32
	// unsure: it was about to be reported when an earlier run was ended.
	unsure bool
}

// New returns a Ledger of objects of this kind, of which nothing was reported.
func New(kind schema.GroupVersionKind) *Ledger {
	return &Ledger{kind: kind, reported: map[cache.ObjectName]entry{}}
}

// SetKind changes the kind, which is what is said of an object that was lost.
func (l *Ledger) SetKind(kind schema.GroupVersionKind) { l.kind = kind }

// Len returns how many objects were reported and not deleted since.
func (l *Ledger) Len() int { return len(l.reported) }

// Observation is one state of one object, as it was seen.
type Observation struct {
	// Object is what was seen; of a deletion the last that is known.
	Object event.Object
	// Old is the state that the store had before; zero where it had none.
	Old event.Object
	// Deleted: the object is gone.
	Deleted bool
	// Initial: seen in the first sync of all.
	Initial bool
	// Listed: seen in a sync, as the present state. Where etcd was restored from
	// a backup it may be older than what was reported.
	Listed bool
}

// Observe appends to dst what has to be reported after o, in order.
//
//	unknown object, or unsure       ADDED
//	newer                           MODIFIED
//	newer, with another UID         DELETED (what is known of the old one), ADDED
//	the same or older               nothing
//	older, but listed as present    as if newer
//	deletion of what was reported   DELETED
//	deletion of another UID         nothing
func (l *Ledger) Observe(dst []event.Event, o Observation) []event.Event {
	dst = l.flush(dst)
	key := keyOf(o.Object)
	known, reported := l.reported[key]
	if o.Deleted {
		return l.observeDeletion(dst, o, known, reported)
	}
	if known.unsure && known.uid == o.Object.UID {
		reported = false
	}
	if reported && isOld(o, known) {
		known.epoch = l.epoch
		l.reported[key] = known
		return dst
	}
	l.reported[key] = entry{uid: o.Object.UID, resourceVersion: o.Object.ResourceVersion, epoch: l.epoch}
	switch {
	case !reported:
	case known.uid != o.Object.UID:
		dst = append(dst, l.lost(key, known, o.Old, o.Listed))
	default:
		return append(dst, event.Event{Type: event.Modified, Object: o.Object, Old: o.Old, Listed: o.Listed})
	}
	return append(dst, event.Event{Type: event.Added, Object: o.Object, Initial: o.Initial, Listed: o.Listed})
}

// isOld reports whether o has nothing new, where known has been reported.
func isOld(o Observation, known entry) bool {
	if o.Listed {
		return o.Object.ResourceVersion == known.resourceVersion
	}
	return !event.Newer(o.Object.ResourceVersion, known.resourceVersion)
}

func (l *Ledger) observeDeletion(dst []event.Event, o Observation, known entry, reported bool) []event.Event {
	if !reported || known.uid != o.Object.UID {
		return dst
	}
	delete(l.reported, keyOf(o.Object))
	return append(dst, event.Event{Type: event.Deleted, Object: o.Object, Listed: o.Listed})
}

// lost is the deletion of an object whose end was not seen. last is its last
// state, if the store still had it; listed: a sync shows that it is gone.
func (l *Ledger) lost(key cache.ObjectName, known entry, last event.Object, listed bool) event.Event {
	if last.IsZero() || last.UID != known.uid {
		apiVersion, kind := l.kind.ToAPIVersionAndKind()
		last = event.NewObject(&event.Identity{
			APIVersion: apiVersion, Kind: kind,
			Namespace: key.Namespace, Name: key.Name,
			UID: known.uid, ResourceVersion: known.resourceVersion,
		}, "")
	}
	return event.Event{Type: event.Deleted, Object: last, FinalStateUnknown: true, Listed: listed}
}

// Begin opens a sync: from here on, what is observed counts as seen in it.
func (l *Ledger) Begin() { l.epoch++ }

// Sweep closes a sync: what was reported before it and not seen in it is gone. It
// appends the deletions to dst, by namespace and name. last, if not nil, returns the
// last state of an object that is known; zero if none is.
func (l *Ledger) Sweep(dst []event.Event, last func(cache.ObjectName) event.Object) []event.Event {
	dst = l.flush(dst)
	if last == nil {
		last = func(cache.ObjectName) event.Object { return event.Object{} }
	}
	swept := len(dst)
	for key, known := range l.reported {
		if known.epoch != l.epoch {
			delete(l.reported, key)
			dst = append(dst, l.lost(key, known, last(key), true))
		}
	}
	slices.SortFunc(dst[swept:], func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return dst
}

// flush appends the pending deletions.
func (l *Ledger) flush(dst []event.Event) []event.Event {
	if len(l.pending) > 0 {
		dst = append(dst, l.pending...)
		l.pending = nil
	}
	return dst
}

func keyOf(o event.Object) cache.ObjectName {
	return cache.ObjectName{Namespace: o.Namespace, Name: o.Name}
}
