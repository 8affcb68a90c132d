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

// Handover is a Sink before a Stage whose file has data of other shards. It looks up the objects
// that now belong to other shards. It reports those that do not exist any more as deleted, because
// no other run may know that they existed. The others are removed from the file after LookupDelays,
// when another run has reported them. Before that, they could be deleted before any other run has
// seen them. Thus, a deletion during a change of the number of shards is reported at least once.
//
// Objects that now belong to this shard and existed before are reported as initial.
type Handover struct {
	// ListIdentities lists a target's objects of all shards. After an error, it is called again
	// after RetryInterval.
	ListIdentities func(context.Context, event.Target) ([]*event.Identity, error)
	RetryInterval  time.Duration
	// LookupDelays are the waits between lookups. After the last lookup, existing objects are
	// removed from the file.
	LookupDelays []time.Duration

	file *File
	next event.Sink

	mu      sync.Mutex // also serializes next, because Deliver and Run call it
	targets map[event.Key]*handoverTarget
	order   []*handoverTarget
	deleted int
}

// handoverTarget is one target with foreign objects.
type handoverTarget struct {
	ForeignTarget
	objects map[cache.ObjectName][]event.ReportedObject
	lookups int       // number of successful lookups
	due     time.Time // of the next lookup
}

// NewHandover returns a Handover for a file before next, or nil if the file has no data of other
// shards.
func NewHandover(f *File, next event.Sink) (*Handover, error) {
	all, err := foreignTargets(f)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	h := &Handover{file: f, next: next, targets: map[event.Key]*handoverTarget{}}
	for _, foreign := range all {
		t := &handoverTarget{ForeignTarget: foreign, objects: map[cache.ObjectName][]event.ReportedObject{}}
		for _, o := range foreign.Objects {
			key := cache.ObjectName{Namespace: o.Namespace, Name: o.Name}
			t.objects[key] = append(t.objects[key], o)
		}
		h.targets[foreign.Target.Key()] = t
		h.order = append(h.order, t)
	}
	return h, nil
}

// ObjectCount returns the number of foreign objects at the start.
func (h *Handover) ObjectCount() (n int) {
	for _, t := range h.order {
		n += len(t.Objects)
	}
	return n
}

// DeletedCount returns how many of them have been reported as deleted.
func (h *Handover) DeletedCount() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deleted
}

// Deliver implements event.Sink.
func (h *Handover) Deliver(ctx context.Context, batch []event.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	events := make([]event.Event, 0, len(batch))
	for _, e := range batch {
		t := h.targets[e.Target.Key()]
		if t != nil {
			t.Target = e.Target // in the version that the server serves
		}
		switch {
		case t == nil:
		case e.Type == event.Synced:
			t.Resharded = false
		case e.Type == event.Gone:
			events = h.reportMissing(events, t, nil)
		case e.Type == event.Added:
			// A previous object with this name does not exist any more.
			events = h.reportMissingName(events, t, cache.ObjectName{Namespace: e.Object.Namespace, Name: e.Object.Name}, func(o event.ReportedObject) bool { return o.UID == e.Object.UID })
			e.Initial = e.Initial || t.Resharded && e.Listed && !t.PreviousShard.Has(e.Object.UID)
		}
		events = append(events, e)
	}
	return h.next.Deliver(ctx, events)
}

// reportMissingName appends the deletions of a name's objects for which exists returns false.
func (h *Handover) reportMissingName(dst []event.Event, t *handoverTarget, key cache.ObjectName, exists func(event.ReportedObject) bool) []event.Event {
	var remaining []event.ReportedObject
	for _, o := range t.objects[key] {
		if exists(o) {
			remaining = append(remaining, o)
			continue
		}
		apiVersion, kind := t.Target.Mapping.GroupVersionKind.ToAPIVersionAndKind()
		last := event.NewObject(&event.Identity{
			APIVersion: apiVersion, Kind: kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
		}, "")
		dst = append(dst, event.Event{Type: event.Deleted, Target: t.Target, Object: last, FinalStateUnknown: true, Listed: true, Time: time.Now()})
		h.deleted++
	}
	if delete(t.objects, key); len(remaining) > 0 {
		t.objects[key] = remaining
	}
	return dst
}

// reportMissing appends the deletions of all objects whose UIDs are not in existing.
func (h *Handover) reportMissing(dst []event.Event, t *handoverTarget, existing map[types.UID]bool) []event.Event {
	for _, key := range slices.SortedFunc(maps.Keys(t.objects), func(a, b cache.ObjectName) int { return cmp.Compare(a.String(), b.String()) }) {
		dst = h.reportMissingName(dst, t, key, func(o event.ReportedObject) bool { return existing[o.UID] })
	}
	return dst
}

// Run looks up the foreign objects of all targets until that is complete or ctx ends. A target
// whose lookup fails does not delay the others. It returns only errors of the Sink and the file.
func (h *Handover) Run(ctx context.Context) error {
	for remaining := slices.Clone(h.order); len(remaining) > 0; {
		t := slices.MinFunc(remaining, func(a, b *handoverTarget) int { return a.due.Compare(b.due) })
		wait := time.NewTimer(time.Until(t.due))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
		last := t.lookups == len(h.LookupDelays)
		ok, err := h.lookUp(ctx, t, last)
		switch {
		case err != nil:
			return err
		case !ok:
			t.due = time.Now().Add(h.RetryInterval)
		case last:
			remaining = slices.DeleteFunc(remaining, func(other *handoverTarget) bool { return other == t })
		default:
			t.due = time.Now().Add(h.LookupDelays[t.lookups])
			t.lookups++
		}
	}
	return nil
}

// lookUp looks up a target and reports missing objects. If last is true, it removes the others from
// the file. It returns false if the lookup failed.
func (h *Handover) lookUp(ctx context.Context, t *handoverTarget, last bool) (ok bool, err error) {
	h.mu.Lock()
	n, target := len(t.objects), t.Target
	h.mu.Unlock()
	if n == 0 {
		return true, nil
	}
	listed, err := h.ListIdentities(ctx, target)
	if err != nil || ctx.Err() != nil {
		return false, nil
	}
	existing := make(map[types.UID]bool, len(listed))
	for _, o := range listed {
		existing[o.UID] = true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	missing := h.reportMissing(nil, t, existing)
	if len(missing) > 0 {
		if err := h.next.Deliver(ctx, missing); err != nil {
			return false, err
		}
	}
	if !last {
		return true, nil
	}
	existingObjects := slices.Concat(slices.Collect(maps.Values(t.objects))...)
	clear(t.objects)
	if err := removeForeign(h.file, t.Target, existingObjects); err != nil {
		return false, fmt.Errorf("write %w", err)
	}
	return true, nil
}
