package resume

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
)

// Handover is a Sink before a Stage whose file was written for another shard, or for a part of one. What it has of
// objects that are of other shards now is looked up: what is gone is reported as deleted, as nobody else may know that it
// was there. What is there is forgotten without a word after Waits, by when another run reports it: until then it might
// be deleted before any other has seen it. So a deletion while the number of shards changes is reported at least once.
//
// What has come to be of this shard, and was there before, is reported as initial.
type Handover struct {
	// Named returns what the server has of a target, of all shards. It is asked again, after a wait, if it fails.
	ListIdentities func(context.Context, event.Target) ([]*event.Identity, error)
	RetryInterval  time.Duration
	// Waits are between the look-ups, of which there is one more: after the last one what is there is forgotten.
	LookupDelays []time.Duration

	file *File
	next event.Sink

	mu      sync.Mutex // also around next, which two deliver to
	targets map[event.Key]*handed
	order   []*handed
	deleted int
}

// handed is one target.
type handed struct {
	ForeignTarget
	objects map[cache.ObjectName][]event.ReportedObject
	looks   int       // that were answered
	due     time.Time // of the next one
}

// NewHandover returns a Handover of a file before next; nil if there is nothing to hand over.
func NewHandover(f *File, next event.Sink) (*Handover, error) {
	all, err := foreignIn(f)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	h := &Handover{file: f, next: next, targets: map[event.Key]*handed{}}
	for _, of := range all {
		t := &handed{ForeignTarget: of, objects: map[cache.ObjectName][]event.ReportedObject{}}
		for _, o := range of.Objects {
			key := cache.ObjectName{Namespace: o.Namespace, Name: o.Name}
			t.objects[key] = append(t.objects[key], o)
		}
		h.targets[of.Target.Key()] = t
		h.order = append(h.order, t)
	}
	return h, nil
}

// Count is how many objects it was to find out about.
func (h *Handover) ObjectCount() (n int) {
	for _, t := range h.order {
		n += len(t.Objects)
	}
	return n
}

// Deleted is how many of them were deleted, as far as is known.
func (h *Handover) DeletedCount() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deleted
}

// Deliver implements event.Sink.
func (h *Handover) Deliver(ctx context.Context, batch []event.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	own := make([]event.Event, 0, len(batch))
	for _, e := range batch {
		t := h.targets[e.Target.Key()]
		if t != nil {
			t.Target = e.Target // in the version that is served now
		}
		switch {
		case t == nil:
		case e.Type == event.Synced:
			t.Resharded = false
		case e.Type == event.Gone: // and all its objects with it
			own = h.takeGone(own, t, nil)
		case e.Type == event.Added:
			// Whoever has the name now, the one before is gone.
			own = h.take(own, t, cache.ObjectName{Namespace: e.Object.Namespace, Name: e.Object.Name}, func(o event.ReportedObject) bool { return o.UID == e.Object.UID })
			e.Initial = e.Initial || t.Resharded && e.Listed && !t.PreviousShard.Has(e.Object.UID)
		}
		own = append(own, e)
	}
	return h.next.Deliver(ctx, own)
}

// take appends the deletions of the objects of a name that are not there, as is says.
func (h *Handover) take(dst []event.Event, t *handed, key cache.ObjectName, is func(event.ReportedObject) bool) []event.Event {
	var left []event.ReportedObject
	for _, o := range t.objects[key] {
		if is(o) {
			left = append(left, o)
			continue
		}
		apiVersion, kind := t.Target.Mapping.GroupVersionKind.ToAPIVersionAndKind()
		last := event.NewObject(&event.Identity{
			APIVersion: apiVersion, Kind: kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
		}, "")
		dst = append(dst, event.Event{Type: event.Deleted, Target: t.Target, Object: last, FinalStateUnknown: true, Listed: true, Time: time.Now()})
		h.deleted++
	}
	if delete(t.objects, key); len(left) > 0 {
		t.objects[key] = left
	}
	return dst
}

// takeGone appends the deletions of all objects that are not there.
func (h *Handover) takeGone(dst []event.Event, t *handed, there map[types.UID]bool) []event.Event {
	for _, key := range slices.SortedFunc(maps.Keys(t.objects), func(a, b cache.ObjectName) int { return cmp.Compare(a.String(), b.String()) }) {
		dst = h.take(dst, t, key, func(o event.ReportedObject) bool { return there[o.UID] })
	}
	return dst
}

// Run finds out what became of the objects of other shards, of each target by itself: one that the server does not tell holds
// up no other. An error is one of the Sink, or of the file.
func (h *Handover) Run(ctx context.Context) error {
	for left := slices.Clone(h.order); len(left) > 0; {
		t := slices.MinFunc(left, func(a, b *handed) int { return a.due.Compare(b.due) })
		wait := time.NewTimer(time.Until(t.due))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
		last := t.looks == len(h.LookupDelays)
		known, err := h.lookUp(ctx, t, last)
		switch {
		case err != nil:
			return err
		case !known:
			t.due = time.Now().Add(h.RetryInterval)
		case last:
			left = slices.DeleteFunc(left, func(one *handed) bool { return one == t })
		default:
			t.due = time.Now().Add(h.LookupDelays[t.looks])
			t.looks++
		}
	}
	return nil
}

// lookUp looks up a target. It reports whether the server has said what there is.
func (h *Handover) lookUp(ctx context.Context, t *handed, last bool) (known bool, err error) {
	h.mu.Lock()
	n, target := len(t.objects), t.Target
	h.mu.Unlock()
	if n == 0 {
		return true, nil
	}
	named, err := h.ListIdentities(ctx, target)
	if err != nil || ctx.Err() != nil {
		return false, nil
	}
	there := make(map[types.UID]bool, len(named))
	for _, o := range named {
		there[o.UID] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := h.takeGone(nil, t, there)
	if len(gone) > 0 {
		if err := h.next.Deliver(ctx, gone); err != nil {
			return false, err
		}
	}
	if !last {
		return true, nil
	}
	left := slices.Concat(slices.Collect(maps.Values(t.objects))...)
	clear(t.objects)
	if err := forget(h.file, t.Target, left); err != nil {
		return false, fmt.Errorf("write %w", err)
	}
	return true, nil
}
