package changes

import (
	"fmt"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// repeats buffers changes that are equal to earlier changes of the same object. It shows one of them from time to time, and finally
// the last one.
type repeats struct {
	*View
	buffered map[repeatKey]*repeat
	order    []repeatKey // of buffered, in order of arrival
}

type repeatKey struct {
	id   string
	kind inventory.ChangeFingerprint
}

type repeat struct {
	event      event.Event
	change     inventory.Change
	waiting    bool // true if the event has not been shown
	reportedAt time.Time
}

// maxRepeats is the maximum number of buffered events, each with two states of an object.
const maxRepeats = 500

// buffer buffers an event that repeats a recent one. It returns false if the event must be shown now.
func (r *repeats) buffer(e *event.Event, c *inventory.Change) bool {
	if c == nil || !r.Fold || !c.IsSignificant() || c.IntentionalOrWarning && c.State.EventType == "" {
		return false
	}
	again := c.State.Repeat
	key := repeatKey{c.State.Entry.ID, again.Fingerprint}
	if e.Type == event.Deleted || again.Times <= 1 {
		r.release(c.State.Entry.ID, e.Type == event.Deleted)
		return false
	}
	one := r.buffered[key]
	if one == nil {
		if len(r.order) >= maxRepeats {
			return false
		}
		one = &repeat{reportedAt: again.First}
		if r.buffered == nil {
			r.buffered = map[repeatKey]*repeat{}
		}
		r.buffered[key], r.order = one, append(r.order, key)
	}
	one.event, one.change, one.waiting = *e, *c, true
	r.shown++
	return true
}

// release shows the buffered event of an object before another event of it is shown. If forget is set, the object was deleted.
func (r *repeats) release(id string, forget bool) {
	for n := 0; n < len(r.order); n++ {
		key := r.order[n]
		if key.id != id {
			continue
		}
		r.show(r.buffered[key])
		if forget {
			r.drop(n)
			n--
		}
	}
}

func (r *repeats) drop(n int) {
	delete(r.buffered, r.order[n])
	r.order = append(r.order[:n], r.order[n+1:]...)
}

// showDue shows the events that are due, or all if flush is true. The interval grows with the time since the first repetition.
func (r *repeats) showDue(now time.Time, flush bool) {
	for n := 0; n < len(r.order); n++ {
		one := r.buffered[r.order[n]]
		switch since := now.Sub(one.reportedAt); {
		case one.waiting && (flush || since >= max(progressInterval, one.reportedAt.Sub(one.change.State.Repeat.First)/2)):
			r.show(one)
			one.reportedAt = now
		case !one.waiting && since > forgetAfter:
			r.drop(n)
			n--
		}
	}
}

// show shows the last event and the number of repetitions.
func (r *repeats) show(one *repeat) {
	if !one.waiting {
		return
	}
	one.waiting = false
	shown, again := r.shown, one.change.State.Repeat
	if err := r.showOne(&one.event, &one.change); err != nil {
		r.failed = err
	}
	r.shown = shown
	if !one.event.Object.IsEvent() {
		r.out.detail(fmt.Sprintf("%d times in %s", again.Times, age(one.event.Time.Sub(again.First))), "")
	}
	one.event, one.change = event.Event{}, inventory.Change{}
}
