package event

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func targetOf(resource, namespace, name string) Target {
	r := schema.GroupVersionResource{Version: "v1", Resource: resource}
	return Target{Mapping: NewMapping(r, "Kind", true), Namespace: namespace, Name: name}
}

// at returns the time of this second of the test.
func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0) }

var (
	errDown      = errors.New("down")
	errForbidden = errors.New("forbidden")
)

// statusesTo are the status events that take a new target to each phase.
var statusesTo = map[Phase][]Type{
	PhaseConnecting: nil,
	PhaseLive:       {Synced},
	PhaseLost:       {Synced, Disconnected},
	PhaseDenied:     {Synced, Denied},
	PhaseGone:       {Synced, Gone},
}

// statusEvent returns a status event with the fields of its type.
func statusEvent(kind Type, t Target, seconds int) *Event {
	e := &Event{Type: kind, Target: t, Time: at(seconds)}
	switch kind {
	case Synced:
		e.Count = 3
	case Disconnected:
		e.Err, e.Heard = errDown, at(seconds-40)
	case Denied:
		e.Err, e.Heard = errForbidden, at(seconds-30)
	}
	return e
}

// TestWatchState checks the effect of each status event in each phase.
func TestWatchState(t *testing.T) {
	const began, later = 1, 50
	pods := targetOf("pods", "a", "")
	for from, statuses := range statusesTo {
		before := WatchState{Target: pods}
		if len(statuses) > 0 {
			before.Since, before.Synced, before.Count = at(began), true, 3
		}
		for kind, want := range map[Type]WatchState{
			Synced:       {Synced: true, Count: 3},
			Gap:          {Synced: true},
			Reconnected:  {Synced: before.Synced},
			Disconnected: {Synced: before.Synced, Denied: from == PhaseDenied, Err: errDown, LastHeard: at(later - 40)},
			Denied:       {Synced: before.Synced, Denied: true, Err: errForbidden, LastHeard: at(later - 30)},
			Gone:         {Synced: before.Synced, Denied: from == PhaseDenied},
			Arrived:      {},
		} {
			phase := map[Type]Phase{Disconnected: PhaseLost, Denied: PhaseDenied, Gone: PhaseGone, Arrived: PhaseConnecting}
			to, changes := phase[kind]
			if !changes {
				to = PhaseLive
			}
			want.Target, want.LastStatus, want.Since, want.Count = pods, kind, at(later), max(before.Count, want.Count)
			if from == to && len(statuses) > 0 {
				want.Since = at(began)
			}
			states := NewWatchStates([]Target{pods})
			for _, status := range statuses {
				states.Observe(statusEvent(status, pods, began))
			}
			states.Observe(&Event{Type: Modified, Listed: true, Target: pods, Time: at(began)})
			if !states.Get(pods).Relisting {
				t.Errorf("%v: an object was listed, but Relisting is false", statuses)
			}
			states.Observe(statusEvent(kind, pods, later))
			got := states.Get(pods)
			if got.Phase() != to {
				t.Errorf("%v, then %s: phase %d, want %d", statuses, kind, got.Phase(), to)
			}
			if kind != Disconnected && kind != Denied {
				got.LastHeard = time.Time{} // not cleared by other status events
			}
			got.Target, want.Target = Target{}, Target{}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
				t.Errorf("%v, then %s: %s", statuses, kind, diff)
			}
		}
	}
}

// TestDeniedAndLost checks that Denied remains set while the connection is lost, until the watch is
// live or the resource returns.
func TestDeniedAndLost(t *testing.T) {
	pods := targetOf("pods", "a", "")
	states := NewWatchStates([]Target{pods})
	for i, step := range []struct {
		status Type
		denied bool
	}{{Denied, true}, {Disconnected, true}, {Denied, true}, {Disconnected, true}, {Synced, false}, {Disconnected, false}, {Denied, true}, {Gone, true}, {Arrived, false}} {
		states.Observe(statusEvent(step.status, pods, i))
		if got := states.Get(pods); got.Denied != step.denied {
			t.Errorf("step %d, after %s: Denied is %t", i, step.status, got.Denied)
		}
	}
}

// TestLastHeard checks that a loss after an outage reports when the server was last heard from before
// that loss, not before the earlier outage.
func TestLastHeard(t *testing.T) {
	pods := targetOf("pods", "a", "")
	states := NewWatchStates([]Target{pods})
	for _, step := range []struct {
		status     Type
		time, want int
	}{
		{status: Disconnected, time: 100, want: 60},
		{status: Reconnected, time: 200, want: 60},
		{status: Denied, time: 4000, want: 3970},
		{status: Disconnected, time: 5000, want: 4960},
	} {
		states.Observe(statusEvent(step.status, pods, step.time))
		if got := states.Get(pods).LastHeard; !got.Equal(at(step.want)) {
			t.Errorf("after %s at second %d: LastHeard is %s, want %s", step.status, step.time, got, at(step.want))
		}
	}
}

// TestWatchStates checks which targets are tracked, in which order, and whether they are connected.
// A target replaces the targets that it covers.
func TestWatchStates(t *testing.T) {
	one, other := targetOf("pods", "a", "one"), targetOf("pods", "b", "one")
	wide, secrets := targetOf("pods", "a", ""), targetOf("secrets", "a", "one")
	states := NewWatchStates([]Target{one, secrets, other})
	for i, step := range []struct {
		event     *Event
		all       []Target
		present   int
		connected bool
		lost      int
	}{
		{&Event{Type: Added, Target: one, Time: at(1)}, []Target{one, secrets, other}, 3, false, 0},
		{statusEvent(Synced, one, 2), []Target{one, secrets, other}, 3, false, 0},
		{statusEvent(Synced, other, 3), []Target{one, secrets, other}, 3, false, 0},
		{statusEvent(Synced, secrets, 4), []Target{one, secrets, other}, 3, true, 0},
		{&Event{Type: Heartbeat, Time: at(5)}, []Target{one, secrets, other}, 3, true, 0},
		{statusEvent(Disconnected, one, 6), []Target{one, secrets, other}, 3, false, 1},
		{statusEvent(Arrived, wide, 7), []Target{secrets, other, wide}, 3, false, 0},
		{statusEvent(Synced, wide, 8), []Target{secrets, other, wide}, 3, true, 0},
		{statusEvent(Gone, secrets, 9), []Target{secrets, other, wide}, 2, true, 0},
		{statusEvent(Arrived, secrets, 10), []Target{secrets, other, wide}, 3, false, 0},
		{statusEvent(Gap, secrets, 11), []Target{secrets, other, wide}, 3, true, 0},
		{statusEvent(Left, secrets, 11), []Target{other, wide}, 2, true, 0},
		{statusEvent(Joined, secrets, 11), []Target{other, wide, secrets}, 3, false, 0},
		{statusEvent(Left, secrets, 11), []Target{other, wide}, 2, true, 0},
		{&Event{Type: Modified, Target: one, Listed: true, Time: at(12)}, []Target{other, wide}, 2, true, 0},
	} {
		states.Observe(step.event)
		var all []Key
		for _, l := range states.All() {
			all = append(all, l.Target.Key())
		}
		var want []Key
		for _, t := range step.all {
			want = append(want, t.Key())
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("step %d: targets: %s", i, diff)
		}
		if states.Present() != step.present || states.Connected() != step.connected || states.Count(PhaseLost) != step.lost {
			t.Errorf("step %d: %d present, connected %t, %d lost", i, states.Present(), states.Connected(), states.Count(PhaseLost))
		}
	}
	if !states.LastEvent.Equal(at(12)) {
		t.Errorf("LastEvent is %s", states.LastEvent)
	}
	if none := states.Get(one); none.Target.Mapping != nil || none.Phase() != PhaseConnecting {
		t.Errorf("covered target has state %+v", none)
	}
	if none := NewWatchStates(nil); !none.Connected() || none.Present() != 0 {
		t.Error("without targets, Connected must be true")
	}
}
