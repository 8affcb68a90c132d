// Package ledger has what was reported of each object of one target, and decides by that what is
// new. Whatever is seen of an object (in the stream, in a list, in a relist after a gap) goes
// through [Ledger.Observe], and what a sync did not show through [Ledger.Sweep]: these two make
// every event of an object.
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

// Ledger is what has been reported of the objects of one target. Its events have no Target. It is
// not safe for concurrent use.
type Ledger struct {
	kind     schema.GroupVersionKind
	reported map[cache.ObjectName]entry
	epoch    uint32
	pending  []event.Event // deletions to be reported before anything else

	check *check // nil: none is open

	keep   bool
	packed []byte // memory for pack
}

// entry is what has been reported of one object, and the last sync that saw it.
type entry struct {
	uid             types.UID
	resourceVersion string
	epoch           uint32
	unsure          bool  // it was about to be reported when an earlier run was ended
	last            *kept // nil: not known
}

// New returns a Ledger of objects of this kind, of which nothing was reported. keep makes it
// keep their content, for Event.Old.
func New(kind schema.GroupVersionKind, keep bool) *Ledger {
	return &Ledger{kind: kind, keep: keep, reported: map[cache.ObjectName]entry{}}
}

// SetKind changes the kind, which is what is said of an object that was lost.
func (l *Ledger) SetKind(kind schema.GroupVersionKind) { l.kind = kind }

// Restore notes what an earlier run reported of an object, before anything is observed: the first
// sync is then like one after a long outage. Of several with one name, each takes the place of
// those before it, whose deletion is reported with whatever is reported first.
func (l *Ledger) Restore(r event.Reported) {
	key := cache.ObjectName{Namespace: r.Namespace, Name: r.Name}
	if known, reported := l.reported[key]; reported {
		l.pending = append(l.pending, l.lost(key, known, true))
	}
	known := entry{uid: r.UID, resourceVersion: r.ResourceVersion, unsure: r.Unsure}
	if l.keep && r.Digests != "" {
		known.last = &kept{digests: r.Digests}
	}
	l.reported[key] = known
}

// Each calls take with each object that was reported and not deleted since: what Restore takes.
func (l *Ledger) Each(take func(event.Reported)) {
	for _, e := range l.pending {
		take(reportedOf(cache.ObjectName{Namespace: e.Object.Namespace, Name: e.Object.Name}, entry{uid: e.Object.UID, resourceVersion: e.Object.ResourceVersion}))
	}
	for key, known := range l.reported {
		take(reportedOf(key, known))
	}
}

func reportedOf(key cache.ObjectName, known entry) event.Reported {
	return event.Reported{
		Namespace: key.Namespace, Name: key.Name,
		UID: known.uid, ResourceVersion: known.resourceVersion, Unsure: known.unsure,
	}
}

// TakeOver makes what other has reported, which is used no more, count as reported here.
func (l *Ledger) TakeOver(other *Ledger) {
	l.pending = append(l.pending, other.pending...)
	for key, known := range other.reported {
		known.epoch = l.epoch
		l.reported[key] = known
	}
}

// Len returns how many objects were reported and not deleted since.
func (l *Ledger) Len() int { return len(l.reported) }

// Observe appends to dst what has to be reported after a state of an object was seen, in order.
// If e is a Deleted that is the last one; else the ledger finds out the type. Initial and Listed
// are as in what is reported. What is listed is the present state: where etcd was restored from
// a backup it may be older than what was reported.
//
//	unknown object, or unsure       ADDED
//	newer                           MODIFIED
//	newer, with another UID         DELETED (what is known of the old one), ADDED
//	the same or older               nothing
//	older, but listed as present    as if newer
//	deletion of what was reported   DELETED
//	deletion of another UID         nothing
func (l *Ledger) Observe(dst []event.Event, e event.Event) []event.Event {
	dst = l.flush(dst)
	o := e.Object
	key := cache.ObjectName{Namespace: o.Namespace, Name: o.Name}
	known, reported := l.reported[key]
	if e.Type == event.Deleted {
		if !reported || known.uid != o.UID {
			return dst
		}
		if last := known.last.object(); e.FinalStateUnknown && !last.IsZero() { // of who knows less
			e.Object = last
		}
		delete(l.reported, key)
		l.noteDeleted(known.uid)
		return append(dst, e)
	}
	if known.unsure && known.uid == o.UID {
		reported = false
	}
	if reported && isOld(e, known) {
		known.epoch = l.epoch
		if known.last.object().IsZero() && o.ResourceVersion == known.resourceVersion {
			known.last = l.pack(o)
		}
		l.reported[key] = known
		return dst
	}
	l.reported[key] = entry{uid: o.UID, resourceVersion: o.ResourceVersion, epoch: l.epoch, last: l.pack(o)}
	e.Type = event.Added
	switch {
	case !reported:
		if known.uid == o.UID { // and it is only not sure whether that was reported
			e.Digests = known.last.digestsOf()
		}
	case known.uid != o.UID:
		dst = append(dst, l.lost(key, known, e.Listed))
	default:
		e.Type, e.Initial, e.Old, e.Digests = event.Modified, false, known.last.object(), known.last.digestsOf()
	}
	return append(dst, e)
}

// isOld reports whether e has nothing new, where known has been reported.
func isOld(e event.Event, known entry) bool {
	if e.Listed {
		return e.Object.ResourceVersion == known.resourceVersion
	}
	return !event.Newer(e.Object.ResourceVersion, known.resourceVersion)
}

// lost is the deletion of an object whose end was not seen; listed: a sync shows that it is gone.
func (l *Ledger) lost(key cache.ObjectName, known entry, listed bool) event.Event {
	l.noteDeleted(known.uid)
	last := known.last.object()
	if last.IsZero() {
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

// Sweep closes a sync: what was reported before it and not seen in it is gone. It appends the
// deletions to dst, by namespace and name.
func (l *Ledger) Sweep(dst []event.Event) []event.Event {
	dst = l.flush(dst)
	swept := len(dst)
	for key, known := range l.reported {
		if known.epoch != l.epoch {
			delete(l.reported, key)
			dst = append(dst, l.lost(key, known, true))
		}
	}
	slices.SortFunc(dst[swept:], func(a, b event.Event) int {
		return cmp.Or(cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
	})
	return dst
}

// flush appends the pending deletions.
func (l *Ledger) flush(dst []event.Event) []event.Event {
	dst = append(dst, l.pending...)
	l.pending = nil
	return dst
}

// kept is the last state of an object, compressed, or only what an earlier run has kept of it. It
// implements event.Kept.
type kept struct {
	identity *event.Identity // nil: the state is not known
	packed   []byte
	digests  string
}

// pack makes content small: to less than half, for some microseconds.
func (l *Ledger) pack(o event.Object) *kept {
	if !l.keep {
		return nil
	}
	content := o.Raw()
	l.packed = s2.Encode(l.packed[:cap(l.packed)], unsafe.Slice(unsafe.StringData(content), len(content)))
	return &kept{identity: o.Identity, packed: bytes.Clone(l.packed)}
}

// object returns the state; the zero Object if there is none.
func (k *kept) object() event.Object {
	if k == nil || k.identity == nil {
		return event.Object{}
	}
	return event.NewKept(k.identity, k)
}

func (k *kept) digestsOf() string {
	if k == nil {
		return ""
	}
	return k.digests
}

// Content implements event.Kept.
func (k *kept) Content() string {
	content, err := s2.Decode(nil, k.packed)
	if err != nil {
		panic(err) // it was packed here
	}
	return unsafe.String(unsafe.SliceData(content), len(content)) // nobody else has it
}
