package share

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/ledger"
)

// known is what a Branch has delivered, by target.
type known struct {
	keep    bool
	targets map[event.Key]*target
}

type target struct {
	kind   schema.GroupVersionKind
	ledger *ledger.Ledger
	// open: the watch has not named all that there is. What was known before, and it does not name, is gone then.
	open bool
	// missed: events were dropped.
	missed bool
	// complete: an earlier run has reported all that existed.
	complete bool
}

func newKnown(keep bool) *known { return &known{keep, map[event.Key]*target{}} }

func (k *known) restore(t event.Target, past event.Past) error {
	own := k.of(t)
	complete, err := past(t, own.ledger.Restore)
	if err != nil {
		return fmt.Errorf("read what was reported of %s: %w", t.Resource().GroupResource(), err)
	}
	own.complete = complete
	own.ledger.Begin()
	return nil
}

// of returns what is known of a target, in the version of now.
func (k *known) of(t event.Target) *target {
	kind := t.Mapping.GroupVersionKind
	own := k.targets[t.Key()]
	switch {
	case own == nil:
		own = &target{kind: kind, ledger: ledger.New(kind, k.keep), open: true}
		own.ledger.Begin()
		k.targets[t.Key()] = own
	case own.kind != kind:
		own.kind = kind
		own.ledger.SetKind(kind)
	}
	return own
}

// reopen says that events were dropped, and that a watch begins with what exists.
func (k *known) reopen() {
	for _, own := range k.targets {
		own.open, own.missed = true, true
		own.ledger.Begin()
	}
}

// news returns what a batch is to the Sink.
func (k *known) news(batch []event.Event) []event.Event {
	news := make([]event.Event, 0, len(batch))
	for i := range batch {
		e := batch[i]
		if e.Type.IsSign() {
			news = append(news, e)
			continue
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
	}
	return news
}

func (k *known) take(dst []event.Event, e event.Event) []event.Event {
	own := k.of(e.Target)
	switch e.Type {
	case event.Synced, event.Gap:
		if own.open {
			dst = own.ledger.Sweep(dst)
		}
		if own.missed {
			e.Type = event.Gap
		}
		own.open, own.missed, own.complete = false, false, true
	case event.Gone: // and with it all its objects
		own.ledger.Begin()
		dst = own.ledger.Sweep(dst)
	case event.Arrived, event.Joined:
		k.takeOver(e.Target.Key(), own)
		own.complete = false
	case event.Left:
		delete(k.targets, e.Target.Key())
	}
	if e.Type.IsMark() {
		return append(dst, e)
	}
	e.Initial = e.Initial && !own.complete
	return own.ledger.Observe(dst, e)
}

// takeOver has a target know what was delivered of those that it covers.
func (k *known) takeOver(wide event.Key, own *target) {
	for key, narrow := range k.targets {
		if wide.Covers(key) {
			own.ledger.TakeOver(narrow.ledger)
			delete(k.targets, key)
		}
	}
}
