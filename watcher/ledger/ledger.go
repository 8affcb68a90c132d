// Package ledger remembers which state of each object was last reported, and decides which events
// the next observation causes.
//
// Two methods return these events. [Ledger.Observe] takes one state that a watch or list delivers.
// [Ledger.Sweep] runs after a complete list, and reports the objects that are missing from it as
// deleted.
package ledger

import (
	"bytes"
	"cmp"
	"slices"
	"unsafe"

	"github.com/klauspost/compress/s2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// Ledger records the last reported state of each object of a target. A state counts as reported once
// Observe or Sweep has returned its event. The caller sets the event's Target. A Ledger is not safe
// for concurrent use.
type Ledger struct {
	kind     schema.GroupVersionKind
	reported map[cache.ObjectName]entry
	epoch    uint32        // number of the current or last sync
	pending  []event.Event // deletions that Restore found, to report before anything else

	check *check // nil if no check is running

	retainContent bool
	buffer        []byte // reused by newState
}

// entry is the last reported state of one object.
type entry struct {
	uid             types.UID
	resourceVersion string
	epoch           uint32 // the last sync in which the object was observed
	unconfirmed     bool   // an earlier run ended while it reported the object
	state           *state // nil if the content is unknown
}

// New returns an empty Ledger for objects of this kind. retainContent makes it retain their content,
// which is required for Event.Old and Event.Digests.
func New(kind schema.GroupVersionKind, retainContent bool) *Ledger {
	return &Ledger{kind: kind, retainContent: retainContent, reported: map[cache.ObjectName]entry{}}
}

// SetKind changes the kind in Deleted events of objects that the ledger has no content for.
func (l *Ledger) SetKind(kind schema.GroupVersionKind) { l.kind = kind }

// Restore adds an object that an earlier run reported. Call it before Observe, so that the first
// sync reports what changed since that run. r replaces an object that was restored before under the
// same name. The next call of Observe or Sweep reports the deletion of the replaced object.
func (l *Ledger) Restore(r event.ReportedObject) {
	key := cache.ObjectName{Namespace: r.Namespace, Name: r.Name}
	if last, found := l.reported[key]; found {
		l.pending = append(l.pending, l.missedDeletion(key, last, true))
	}
	e := entry{uid: r.UID, resourceVersion: r.ResourceVersion, unconfirmed: r.Unconfirmed}
	if l.retainContent && r.Digests != "" {
		e.state = &state{digests: r.Digests}
	}
	l.reported[key] = e
}

// Each calls yield for each object whose deletion has not been reported. To copy the ledger without
// content, pass the objects in this order to Restore of another one.
func (l *Ledger) Each(yield func(event.ReportedObject)) {
	for _, e := range l.pending {
		yield(reportedObject(cache.ObjectName{Namespace: e.Object.Namespace, Name: e.Object.Name}, entry{uid: e.Object.UID, resourceVersion: e.Object.ResourceVersion}))
	}
	for key, e := range l.reported {
		yield(reportedObject(key, e))
	}
}

func reportedObject(key cache.ObjectName, e entry) event.ReportedObject {
	return event.ReportedObject{
		Namespace: key.Namespace, Name: key.Name,
		UID: e.uid, ResourceVersion: e.resourceVersion, Unconfirmed: e.unconfirmed,
	}
}

// Merge adds the objects of other, which must not be used afterwards. They count as observed in the
// current sync.
func (l *Ledger) Merge(other *Ledger) {
	l.pending = append(l.pending, other.pending...)
	for key, e := range other.reported {
		e.epoch = l.epoch
		l.reported[key] = e
	}
}

// Len returns the number of objects that were reported and not deleted since.
func (l *Ledger) Len() int { return len(l.reported) }

// Observe records an observed state of an object and appends the resulting events to dst. If the
// object was deleted, e.Type is Deleted and e.Object is the last state. Otherwise e.Type is ignored.
// The events depend on the state that was last reported under the object's name:
//
//	observed, compared with reported      events
//	nothing reported, or unconfirmed      ADDED
//	newer version                         MODIFIED
//	newer version with a different UID    DELETED with the last reported state, ADDED
//	same or older version                 none
//	older version if e.Listed             as for a newer version
//	deletion                              DELETED
//	deletion with a different UID         none
//	deletion, nothing reported            none
//
// These events have e's Listed, and an ADDED event has e's Initial. If Restore found deletions that
// are not yet reported, they come first.
//
// A listed state is current even if its version is older than the reported one, which happens if etcd
// was restored from a backup.
func (l *Ledger) Observe(dst []event.Event, e event.Event) []event.Event {
	dst = l.flush(dst)
	o := e.Object
	key := cache.ObjectName{Namespace: o.Namespace, Name: o.Name}
	last, found := l.reported[key]
	if e.Type == event.Deleted {
		if !found || last.uid != o.UID {
			return dst
		}
		if object := last.state.object(); e.FinalStateUnknown && !object.IsZero() {
			e.Object = object // e.Object may have only an identity
		}
		delete(l.reported, key)
		l.recordDeletion(last.uid)
		return append(dst, e)
	}
	if last.unconfirmed && last.uid == o.UID {
		found = false
	}
	if found && isStale(e, last) {
		last.epoch = l.epoch
		if last.state.object().IsZero() && o.ResourceVersion == last.resourceVersion {
			last.state = l.newState(o) // an earlier run reported it, so its content was unknown
		}
		l.reported[key] = last
		return dst
	}
	l.reported[key] = entry{uid: o.UID, resourceVersion: o.ResourceVersion, epoch: l.epoch, state: l.newState(o)}
	e.Type = event.Added
	switch {
	case !found:
		if last.uid == o.UID { // unconfirmed, else last is zero
			e.Digests = last.state.savedDigests()
		}
	case last.uid != o.UID:
		dst = append(dst, l.missedDeletion(key, last, e.Listed))
	default:
		e.Type, e.Initial, e.Old, e.Digests = event.Modified, false, last.state.object(), last.state.savedDigests()
	}
	return append(dst, e)
}

// Retain records that an object exists although its state is unknown, so that Sweep does not report
// it as deleted.
func (l *Ledger) Retain(namespace, name string) {
	key := cache.ObjectName{Namespace: namespace, Name: name}
	if last, found := l.reported[key]; found {
		last.epoch = l.epoch
		l.reported[key] = last
	}
}

// isStale reports whether e.Object is no news after last: the same state, or if a watch delivered it,
// an older one.
func isStale(e event.Event, last entry) bool {
	if e.Listed {
		return e.Object.ResourceVersion == last.resourceVersion
	}
	return !event.Newer(e.Object.ResourceVersion, last.resourceVersion)
}

// missedDeletion returns a Deleted event for an object whose deletion was not observed, and records
// it for the check. listed becomes the event's Listed.
func (l *Ledger) missedDeletion(key cache.ObjectName, last entry, listed bool) event.Event {
	l.recordDeletion(last.uid)
	object := last.state.object()
	if object.IsZero() {
		apiVersion, kind := l.kind.ToAPIVersionAndKind()
		object = event.NewObject(&event.Identity{
			APIVersion: apiVersion, Kind: kind,
			Namespace: key.Namespace, Name: key.Name,
			UID: last.uid, ResourceVersion: last.resourceVersion,
		}, "")
	}
	return event.Event{Type: event.Deleted, Object: object, FinalStateUnknown: true, Listed: listed}
}

// BeginSync starts a sync, which ends with Sweep. Until then, pass every object of a complete list
// to Observe. If there is none, Sweep reports all objects as deleted. A second call starts over.
func (l *Ledger) BeginSync() { l.epoch++ }

// Sweep ends a sync. Objects that were not observed since BeginSync no longer exist. Sweep appends
// their deletions to dst, sorted by namespace and name, after those that Restore found.
func (l *Ledger) Sweep(dst []event.Event) []event.Event {
	dst = l.flush(dst)
	start := len(dst)
	for key, e := range l.reported {
		if e.epoch != l.epoch {
			delete(l.reported, key)
			dst = append(dst, l.missedDeletion(key, e, true))
		}
	}
	slices.SortFunc(dst[start:], func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return dst
}

// flush appends the pending deletions to dst and clears them.
func (l *Ledger) flush(dst []event.Event) []event.Event {
	dst = append(dst, l.pending...)
	l.pending = nil
	return dst
}

// state is the last reported state of an object. It has either the compressed content or, if an
// earlier run reported it, only digests of its fields. With content, it implements
// event.LazyContent.
type state struct {
	identity   *event.Identity // nil if there are only digests
	compressed []byte          // the content as S2
	digests    string          // as in ReportedObject.Digests
}

// newState returns the state of o, or nil if the ledger does not retain content. S2 takes
// microseconds and more than halves the size.
func (l *Ledger) newState(o event.Object) *state {
	if !l.retainContent {
		return nil
	}
	content := o.Raw()
	l.buffer = s2.Encode(l.buffer[:cap(l.buffer)], unsafe.Slice(unsafe.StringData(content), len(content)))
	return &state{identity: o.Identity, compressed: bytes.Clone(l.buffer)}
}

// object returns the object in this state, or the zero Object if its content is unknown.
func (s *state) object() event.Object {
	if s == nil || s.identity == nil {
		return event.Object{}
	}
	return event.NewLazyObject(s.identity, s)
}

// savedDigests returns the digests that an earlier run saved, or "" if there are none.
func (s *state) savedDigests() string {
	if s == nil {
		return ""
	}
	return s.digests
}

// Content implements event.LazyContent.
func (s *state) Content() string {
	content, err := s2.Decode(nil, s.compressed)
	if err != nil {
		panic(err) // can't happen: newState wrote it
	}
	return unsafe.String(unsafe.SliceData(content), len(content)) // safe: content is not modified
}
