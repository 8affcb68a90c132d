package page

import (
	"time"

	"dwatch/watcher/event"
)

// The states of a target, and of the watch.
const (
	starting = "starting"
	live     = "live"
	lost     = "lost"
	denied   = "denied"
	gone     = "gone"
	degraded = "degraded"
	held     = "held"
)

// targets are what is watched, and how that is.
type targets struct {
	all       []*target
	byKey     map[event.Key]*target
	state     string
	since     int64
	lastEvent int64
	// held: nothing more is read from the server.
	held bool
}

func (ts *targets) begin(all []event.Target, now time.Time) {
	ts.byKey, ts.state, ts.since = map[event.Key]*target{}, starting, millis(now)
	for _, t := range all {
		ts.get(t, now)
	}
}

// get returns the target, as a new one if it has joined.
func (ts *targets) get(of event.Target, now time.Time) *target {
	t := ts.byKey[of.Key()]
	if t == nil {
		t = &target{Resource: of.Resource().GroupResource().String(), Namespace: of.Namespace, Name: of.Name, State: starting, Since: millis(now)}
		ts.byKey[of.Key()] = t
		ts.all = append(ts.all, t)
	}
	return t
}

// list returns a copy for viewers.
func (ts *targets) list() []target {
	list := make([]target, len(ts.all))
	for i, t := range ts.all {
		list[i] = *t
	}
	return list
}

func (ts *targets) watch() watch { return watch{ts.state, ts.since, ts.lastEvent} }

// observe takes a mark, and returns what viewers are told of it.
func (ts *targets) observe(e *event.Event, loss func(error) string) watchMessage {
	t := ts.get(e.Target, e.Time)
	now, text := live, ""
	switch e.Type {
	case event.Synced:
		t.Count = e.Count
	case event.Disconnected:
		now, text = lost, "connection lost, trying again"
	case event.Reconnected:
		text = "reconnected, nothing missed"
	case event.Gap:
		text = "relisted: only intermediate states may be missing"
		if t.State == lost {
			text = "reconnected; " + text // no other mark ends the outage
		}
	case event.Gone:
		now, text = gone, "the server no longer has the resource; waiting for it"
	case event.Arrived:
		now, text = starting, "the server has the resource; watching it"
	case event.Denied:
		now, text = denied, "the right to watch is missing, trying again"
	}
	if e.Err != nil {
		text += ": " + clip(loss(e.Err), maxValue)
	}
	if t.State != now {
		t.State, t.Since = now, millis(e.Time)
	}
	if t.Text = text; now == live {
		t.Text = ""
	}
	ts.judge(e.Time)
	seen := *t
	return watchMessage{
		Type: "watch", Time: millis(e.Time), Feed: e.Type != event.Synced, Event: string(e.Type),
		Target: &seen, Watch: ts.watch(), Text: text,
	}
}

// judge says how all of them are.
func (ts *targets) judge(now time.Time) {
	state := live
	for _, t := range ts.all {
		switch t.State {
		case lost, denied:
			state = degraded
		case starting:
			if state == live {
				state = starting
			}
		}
	}
	if ts.held {
		state = held
	}
	if state != ts.state {
		ts.state, ts.since = state, millis(now)
	}
}
