package broadcast

import (
	"cmp"
	"fmt"
	"slices"

	"dwatch/watcher/event"
	"dwatch/watcher/ledger"
)

// known is what a Branch has delivered, by target.
type known struct {
	keep    bool
	targets map[event.Key]*target
}

type target struct {
	event.Target
	ledger *ledger.Ledger
	// open: the watch has not named all that there is. What was known before, and it does not name, is gone then.
	open bool
	// missed: events were dropped.
	missed bool
	// complete: all that existed has been reported, by this run or an earlier one; synced: by this one.
	complete, synced bool
	// gone: the server does not have it any more.
	gone bool
}

func newKnown(keep bool) *known { return &known{keep, map[event.Key]*target{}} }

func (k *known) restore(t event.Target, past event.HistoryFunc) error {
	own := k.of(t)
	complete, err := past(t, own.ledger.Restore)
	if err != nil {
		return fmt.Errorf("read what was reported of %s: %w", t.Resource().GroupResource(), err)
	}
	own.complete = complete
	own.ledger.BeginSync()
	return nil
}

// of returns what is known of a target, in the version of now.
func (k *known) of(t event.Target) *target {
	kind := t.Mapping.GroupVersionKind
	own := k.targets[t.Key()]
	switch {
	case own == nil:
		own = &target{Target: t, ledger: ledger.New(kind, k.keep), open: true}
		own.ledger.BeginSync()
		k.targets[t.Key()] = own
	case own.Mapping.GroupVersionKind != kind:
		own.ledger.SetKind(kind)
	}
	own.Target = t
	return own
}

// isTold reports whether all that exists has been reported by who watches.
func (k *known) isTold() bool {
	for _, own := range k.targets {
		if own.open {
			return false
		}
	}
	return true
}

// handOver says that events were dropped, and that a watch goes on which has k for its past. It returns its
// targets, in order.
func (k *known) handOver() (targets []event.Target) {
	for _, own := range k.targets {
		own.missed = own.missed || !own.open || own.ledger.Len() > 0 // of what nothing was told nothing is missing
		own.open = false
		if !own.gone {
			targets = append(targets, own.Target)
		}
	}
	slices.SortFunc(targets, func(a, b event.Target) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Resource().String(), b.Resource().String()), cmp.Compare(a.Name, b.Name))
	})
	return targets
}

// past is an event.HistoryFunc of what was delivered.
func (k *known) past(t event.Target, take func(event.ReportedObject)) (complete bool, err error) {
	own := k.targets[t.Key()]
	if own == nil {
		return false, nil
	}
	own.ledger.Each(take)
	return own.complete, nil
}

// anew is an event.HistoryFunc of nothing, for a watch that begins with all that exists: what it does not name is gone.
func (k *known) anew(t event.Target, _ func(event.ReportedObject)) (complete bool, err error) {
	own := k.of(t)
	own.open = true
	own.ledger.BeginSync()
	return false, nil
}

// news returns what batches are to the Sink.
func (k *known) news(batches ...[]event.Event) []event.Event {
	n := 0
	for _, batch := range batches {
		n += len(batch)
	}
	news := make([]event.Event, 0, n)
	for _, batch := range batches {
		for i := range batch {
			news = k.add(news, batch[i])
		}
	}
	return news
}

// add adds what an event is to the Sink.
func (k *known) add(news []event.Event, e event.Event) []event.Event {
	if e.Type.IsKeepalive() {
		return append(news, e)
	}
	from := len(news)
	news = k.take(news, e)
	for j := range news[from:] {
		made := &news[from+j]
		made.Target = e.Target
		if made.Time.IsZero() {
			made.Time = e.Time
		}
	}
	return news
}

func (k *known) take(dst []event.Event, e event.Event) []event.Event {
	own := k.of(e.Target)
	switch e.Type {
	case event.Synced, event.Gap:
		return own.sync(dst, e)
	case event.Gone: // and with it all its objects
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

// sync is what the end of a sync is to the Sink: after events were dropped a Gap, and of a target that it has not seen
// synced that, too.
func (t *target) sync(dst []event.Event, e event.Event) []event.Event {
	if t.open {
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
	t.open, t.missed, t.complete = false, false, true
	t.synced = t.synced || e.Type == event.Synced
	return dst
}

// takeOver has a target know what was delivered of those that it covers.
func (k *known) takeOver(wide event.Key, own *target) {
	for key, narrow := range k.targets {
		if wide.Covers(key) {
			own.ledger.Merge(narrow.ledger)
			delete(k.targets, key)
		}
	}
}
