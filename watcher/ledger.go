package watcher

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// ledger is the one rule for truth: what the reader of one target has been
// told of each object. Whatever is seen of an object (in the stream, in a list,
// in a list after a gap) goes through observe, and observe makes every event.
// It is not safe for concurrent use.
type ledger struct {
	gvk   schema.GroupVersionKind
	told  map[cache.ObjectName]entry
	epoch uint32
}

// entry is what has been told of one object, and the last sync that saw it.
type entry struct {
	uid             types.UID
	resourceVersion string
	epoch           uint32
	// unsure: it was about to be told when an earlier run was ended.
	unsure bool
}

// observation is one sight of one object.
type observation struct {
	object Object
	// old is the state that the store had before; zero where it had none.
	old Object
	// deleted: the object is gone, and object is the last that is known of it.
	deleted bool
	// unknown: a deletion that was found out after the fact.
	unknown bool
	// initial: seen in the first sync of all.
	initial bool
	// listed: seen in a sync, as the present state. Where etcd was restored from
	// a backup it may be older than what was told.
	listed bool
}

// observe returns what has to be told after o: at most two events, in order.
//
//	unknown object, or unsure       ADDED
//	newer                           MODIFIED
//	newer, with another UID         DELETED (what is known of the old one), ADDED
//	the same or older               nothing
//	older, but listed as present    as if newer
//	deletion of what was told       DELETED
//	deletion of another UID         nothing
func (l *ledger) observe(o observation) []Event {
	key := keyOf(o.object)
	known, told := l.told[key]
	if o.deleted {
		return l.observeDeletion(o, known, told)
	}
	if known.unsure && known.uid == o.object.UID {
		told = false
	}
	if told && !newer(o.object.ResourceVersion, known.resourceVersion) &&
		(!o.listed || o.object.ResourceVersion == known.resourceVersion) {
		known.epoch = l.epoch
		l.told[key] = known
		return nil
	}
	l.told[key] = entry{uid: o.object.UID, resourceVersion: o.object.ResourceVersion, epoch: l.epoch}
	added := Event{Type: Added, Object: o.object, Initial: o.initial}
	switch {
	case !told:
		return []Event{added}
	case known.uid != o.object.UID:
		return []Event{l.lost(key, known, o.old), added}
	default:
		return []Event{{Type: Modified, Object: o.object, Old: o.old}}
	}
}

func (l *ledger) observeDeletion(o observation, known entry, told bool) []Event {
	if !told || known.uid != o.object.UID {
		return nil
	}
	delete(l.told, keyOf(o.object))
	return []Event{{Type: Deleted, Object: o.object, FinalStateUnknown: o.unknown}}
}

// lost is the deletion of an object whose end was not seen. last is its last
// state, if the store still had it.
func (l *ledger) lost(key cache.ObjectName, known entry, last Object) Event {
	if last.IsZero() || last.UID != known.uid {
		last = identity(l.gvk, key, known)
	}
	return Event{Type: Deleted, Object: last, FinalStateUnknown: true}
}

// begin opens a sync: from here on, what is observed counts as seen in it.
func (l *ledger) begin() { l.epoch++ }

// sweep closes a sync: what was told before it and not seen in it is gone.
func (l *ledger) sweep() []Event {
	var events []Event
	for key, known := range l.told {
		if known.epoch != l.epoch {
			delete(l.told, key)
			events = append(events, l.lost(key, known, Object{}))
		}
	}
	slices.SortFunc(events, func(a, b Event) int { return byName(a.Object, b.Object) })
	return events
}

// newer compares resource versions of one resource (KEP-5504). Where a server
// makes them of something else than numbers, any other one is newer: the
// informer delivers in order.
func newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	if err != nil {
		return a != b
	}
	return order > 0
}
