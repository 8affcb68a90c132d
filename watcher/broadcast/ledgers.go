package broadcast

import (
	"cmp"
	"fmt"
	"slices"

	"dwatch/watcher/event"
	"dwatch/watcher/ledger"
)

// ledgers records what a Subscriber has delivered, by target.
type ledgers struct {
	keep    bool
	targets map[event.Key]*target
}

type target struct {
	event.Target
	ledger *ledger.Ledger
	// listing is true until the watch has reported all existing objects. Objects that it does not
	// report in the meantime are then deleted.
	listing bool
	// missed is true if events were discarded.
	missed bool
	// complete is true if all initial objects have been reported, by this run or an earlier one.
	// synced is true if this run has reported Synced.
	complete, synced bool
	// gone is true if the server no longer serves the resource.
	gone bool
}

func newLedgers(keep bool) *ledgers { return &ledgers{keep, map[event.Key]*target{}} }

// restore adds a target with the objects that history returns.
func (k *ledgers) restore(t event.Target, history event.HistoryFunc) error {
	own := k.get(t)
	complete, err := history(t, own.ledger.Restore)
	if err != nil {
		return fmt.Errorf("read what was reported of %s: %w", t.Resource().GroupResource(), err)
	}
	own.complete = complete
	own.ledger.BeginSync()
	return nil
}

// get returns the state of t, which it creates or updates to t's version.
func (k *ledgers) get(t event.Target) *target {
	kind := t.Mapping.GroupVersionKind
	own := k.targets[t.Key()]
	switch {
	case own == nil:
		own = &target{Target: t, ledger: ledger.New(kind, k.keep), listing: true}
		own.ledger.BeginSync()
		k.targets[t.Key()] = own
	case own.Mapping.GroupVersionKind != kind:
		own.ledger.SetKind(kind)
	}
	own.Target = t
	return own
}

// prepareFallback records that events were discarded, and that another watch with k as its history
// continues. It returns the targets of that watch in order.
func (k *ledgers) prepareFallback() (targets []event.Target) {
	for _, own := range k.targets {
		own.missed = own.missed || !own.listing || own.ledger.Len() > 0 // nothing is missing if nothing was reported
		own.listing = false
		if !own.gone {
			targets = append(targets, own.Target)
		}
	}
	slices.SortFunc(targets, func(a, b event.Target) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Resource().String(), b.Resource().String()), cmp.Compare(a.Name, b.Name))
	})
	return targets
}

// history is an event.HistoryFunc of the delivered events.
func (k *ledgers) history(t event.Target, yield func(event.ReportedObject)) (complete bool, err error) {
	own := k.targets[t.Key()]
	if own == nil {
		return false, nil
	}
	own.ledger.Each(yield)
	return own.complete, nil
}

// eventsFor returns the events of batches for the Sink.
func (k *ledgers) eventsFor(batches ...[]event.Event) []event.Event {
	n := 0
	for _, batch := range batches {
		n += len(batch)
	}
	events := make([]event.Event, 0, n)
	for _, batch := range batches {
		for i := range batch {
			events = k.appendEvents(events, batch[i])
		}
	}
	return events
}

// appendEvents appends the events for the Sink that e causes.
func (k *ledgers) appendEvents(dst []event.Event, e event.Event) []event.Event {
	if e.Type.IsKeepalive() {
		return append(dst, e)
	}
	from := len(dst)
	dst = k.observe(dst, e)
	for j := range dst[from:] {
		caused := &dst[from+j]
		caused.Target = e.Target
		if caused.Time.IsZero() {
			caused.Time = e.Time
		}
	}
	return dst
}

// observe appends the events for the Sink that e causes. appendEvents sets their Target and a missing Time.
func (k *ledgers) observe(dst []event.Event, e event.Event) []event.Event {
	own := k.get(e.Target)
	switch e.Type {
	case event.Synced, event.Gap:
		return own.sync(dst, e)
	case event.Gone:
		own.ledger.BeginSync()
		dst = own.ledger.Sweep(dst)
		own.gone = true
	case event.Arrived, event.Joined:
		k.takeOver(e.Target.Key(), own)
		own.complete, own.synced, own.gone = false, false, false
	case event.Left:
		delete(k.targets, e.Target.Key())
	}
	if e.Type.IsStatus() {
		return append(dst, e)
	}
	e.Initial = e.Initial && !own.complete
	return own.ledger.Observe(dst, e)
}

// sync appends the events for the Sink at the end of a list. They are the deletions of objects that
// the list does not contain, and e. If events were discarded and e is Synced, a Gap precedes it, or
// replaces it if the Sink has already received Synced for the target.
func (t *target) sync(dst []event.Event, e event.Event) []event.Event {
	if t.listing {
		dst = t.ledger.Sweep(dst)
	}
	if t.missed && e.Type == event.Synced {
		gap := e
		gap.Type = event.Gap
		dst = append(dst, gap)
	}
	if e.Type == event.Gap || !t.missed || !t.synced {
		dst = append(dst, e)
	}
	t.listing, t.missed, t.complete = false, false, true
	t.synced = t.synced || e.Type == event.Synced
	return dst
}

// takeOver moves the objects of the targets that wide, the key of own, covers to own.
func (k *ledgers) takeOver(wide event.Key, own *target) {
	for key, narrow := range k.targets {
		if wide.Covers(key) {
			own.ledger.Merge(narrow.ledger)
			delete(k.targets, key)
		}
	}
}
