package changes

import (
	"fmt"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// repeats are changes like others of the same object before: of those that come soon after each other,
// one is shown now and then, and in the end the last.
type repeats struct {
	*View
	held map[repeatKey]*repeat
	keys []repeatKey // of held, in the order in which they came
}

type repeatKey struct {
	id   string
	kind inventory.ChangeFingerprint
}

type repeat struct {
	event   event.Event
	change  inventory.Change
	waiting bool // the event has not been shown
	saidAt  time.Time
}

// maxRepeats is how many are held at most, each with an object as it is and as it was.
const maxRepeats = 500

// take takes an event that repeats what was shown a short while ago; false: it is to be shown now.
func (r *repeats) take(e *event.Event, c *inventory.Change) bool {
	if c == nil || !r.Fold || !c.IsSignificant() || c.IntentionalOrWarning && c.State.EventType == "" {
		return false
	}
	again := c.State.Repeat
	key := repeatKey{c.State.Entry.ID, again.Fingerprint}
	if e.Type == event.Deleted || again.Times <= 1 {
		r.release(c.State.Entry.ID, e.Type == event.Deleted)
		return false
	}
	one := r.held[key]
	if one == nil {
		if len(r.keys) >= maxRepeats {
			return false
		}
		one = &repeat{saidAt: again.First}
		if r.held == nil {
			r.held = map[repeatKey]*repeat{}
		}
		r.held[key], r.keys = one, append(r.keys, key)
	}
	one.event, one.change, one.waiting = *e, *c, true
	r.shown++
	return true
}

// release shows what is held of an object before something else of it is shown.
func (r *repeats) release(id string, forget bool) {
	for n := 0; n < len(r.keys); n++ {
		key := r.keys[n]
		if key.id != id {
			continue
		}
		r.show(r.held[key])
		if forget {
			r.drop(n)
			n--
		}
	}
}

func (r *repeats) drop(n int) {
	delete(r.held, r.keys[n])
	r.keys = append(r.keys[:n], r.keys[n+1:]...)
}

// say shows what is held for long enough: each time that half as much time again has passed.
func (r *repeats) say(now time.Time, all bool) {
	for n := 0; n < len(r.keys); n++ {
		one := r.held[r.keys[n]]
		switch since := now.Sub(one.saidAt); {
		case one.waiting && (all || since >= max(goesOn, one.saidAt.Sub(one.change.State.Repeat.First)/2)):
			r.show(one)
			one.saidAt = now
		case !one.waiting && since > forgotten:
			r.drop(n)
			n--
		}
	}
}

// show shows the last one, and how often it was so.
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
		r.detail(fmt.Sprintf("%d times in %s", again.Times, age(one.event.Time.Sub(again.First))), "")
	}
	one.event, one.change = event.Event{}, inventory.Change{}
}
