package page

import (
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// The states of a target, and of the watch.
const (
	starting = "starting"
	live     = "live"
	degraded = "degraded"
	left     = "left"
	unknown  = "unknown" // only of a cluster at a time of the past
)

// states has the names of phases in messages.
var states = map[event.Phase]string{
	event.PhaseConnecting: starting, event.PhaseLive: live,
	event.PhaseLost: "lost", event.PhaseDenied: "denied", event.PhaseGone: "gone",
}

var texts = map[event.Type]string{
	event.Disconnected: "connection lost, trying again",
	event.Reconnected:  "reconnected, nothing missed",
	event.Gap:          "relisted: only intermediate states may be missing",
	event.Gone:         "the server no longer has the resource; waiting for it",
	event.Arrived:      "the server has the resource; watching it",
	event.Joined:       "requested; watching it",
	event.Left:         "no longer watched",
	event.Denied:       "the right to watch is missing, trying again",
}

// targets has the watched targets and the states of their watches. The lock of the Hub guards it.
type targets struct {
	links   *event.WatchStates
	loss    func(error) string // Options.DescribeConnectionError
	started time.Time
	members func() []event.Cluster // Options.Clusters; nil with a single cluster
	palette output.Palette         // colours of cluster names
	outages outages
	// state is the state of all targets together, and since its start in ms.
	state string
	since int64
}

func newTargets(o Options, now time.Time) targets {
	ts := targets{links: event.NewWatchStates(o.Targets), loss: o.DescribeConnectionError, started: now, members: o.Clusters, state: starting, since: millis(now)}
	if o.Clusters != nil {
		ts.palette = output.NewPalette(event.ClusterNames(o.Clusters())...)
	}
	return ts
}

func (ts *targets) list() []target {
	list := []target{}
	for _, l := range ts.links.All() {
		list = append(list, ts.show(l))
	}
	return list
}

func (ts *targets) show(l *event.WatchState) target {
	t := target{
		Resource: l.Target.Resource().GroupResource().String(), Cluster: l.Target.Cluster, Namespace: l.Target.Namespace, Name: l.Target.Name,
		State: states[l.Phase()], Since: millis(l.Since), Count: l.Count,
	}
	if l.LastStatus == "" {
		t.Since = millis(ts.started)
	}
	if p := l.Phase(); p == event.PhaseLost || p == event.PhaseDenied {
		t.Heard = millis(l.LastHeard)
	}
	if t.State != live {
		t.Text = ts.text(l.LastStatus, l.Err)
	}
	return t
}

func (ts *targets) text(mark event.Type, err error) string {
	if err == nil {
		return texts[mark]
	}
	return texts[mark] + ": " + clip(ts.loss(err), maxValue)
}

func (ts *targets) watch() watch { return watch{ts.state, ts.since, millis(ts.links.LastEvent)} }

// observe takes a status event, and returns the message about it without Seq.
func (ts *targets) observe(e *event.Event) watchMessage {
	before := ts.links.Get(e.Target)
	ts.links.Observe(e)
	text := ts.text(e.Type, e.Err)
	if e.Type == event.Gap && before.Phase() == event.PhaseLost {
		text = "reconnected; " + text // there is no RECONNECTED event in this case
	}
	ts.update(e.Time)
	now := ts.links.Get(e.Target)
	ts.outages.observe(e, before.Phase(), now.Phase())
	now.Target = e.Target // Get returns a zero state for a target that has left
	seen := ts.show(&now)
	if e.Type == event.Left {
		seen.State = left
	}
	return watchMessage{
		Type: "watch", Time: millis(e.Time), Feed: e.Type != event.Synced, Event: string(e.Type),
		Target: &seen, Watch: ts.watch(), Text: text,
	}
}

// update sets state and since. It also counts the clusters, because one that has never answered has no targets.
func (ts *targets) update(now time.Time) {
	state := live
	lost, connecting := ts.links.Count(event.PhaseLost)+ts.links.Count(event.PhaseDenied), ts.links.Count(event.PhaseConnecting)
	for _, s := range ts.clusterStates() {
		switch s.Phase {
		case event.PhaseLost, event.PhaseDenied:
			lost++
		case event.PhaseConnecting:
			connecting++
		}
	}
	switch {
	case lost > 0:
		state = degraded
	case connecting > 0:
		state = starting
	}
	if state != ts.state {
		ts.state, ts.since = state, millis(now)
	}
}
