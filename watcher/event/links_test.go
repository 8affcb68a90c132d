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

// at is a time of the tests: so many seconds after it began.
func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0) }

var (
	errDown = errors.New("down")
	errNo   = errors.New("no")
)

// reach has the marks that take a new target into each phase.
var reach = map[Phase][]Type{
	PhaseConnecting: nil,
	PhaseLive:       {Synced},
	PhaseLost:       {Synced, Disconnected},
	PhaseDenied:     {Synced, Denied},
	PhaseGone:       {Synced, Gone},
}

// mark returns an event with all that a mark of this type has.
func mark(kind Type, t Target, seconds int) *Event {
	e := &Event{Type: kind, Target: t, Time: at(seconds)}
	switch kind {
	case Synced:
		e.Count = 3
	case Disconnected:
		e.Err, e.Heard = errDown, at(seconds-40)
	case Denied:
		e.Err = errNo
	}
	return e
}

// TestLinks: what each mark makes of a target in each phase.
func TestLinks(t *testing.T) {
	const began, later = 1, 50
	pods := targetOf("pods", "a", "")
	for from, marks := range reach {
		before := Link{Target: pods}
		if len(marks) > 0 {
			before.Since, before.Synced, before.Count = at(began), true, 3
		}
		for kind, want := range map[Type]Link{
			Synced:       {Synced: true, Count: 3},
			Gap:          {Synced: true},
			Reconnected:  {Synced: before.Synced},
			Disconnected: {Synced: before.Synced, Denied: from == PhaseDenied, Err: errDown, Heard: at(later - 40)},
			Denied:       {Synced: before.Synced, Denied: true, Err: errNo},
			Gone:         {Synced: before.Synced, Denied: from == PhaseDenied},
			Arrived:      {},
		} {
			phase := map[Type]Phase{Disconnected: PhaseLost, Denied: PhaseDenied, Gone: PhaseGone, Arrived: PhaseConnecting}
			to, changes := phase[kind]
			if !changes {
				to = PhaseLive
			}
			want.Target, want.Mark, want.Since, want.Count = pods, kind, at(later), max(before.Count, want.Count)
			if from == to && len(marks) > 0 {
				want.Since = at(began) // it has been so
			}
			links := NewLinks([]Target{pods})
			for _, m := range marks {
				links.Observe(mark(m, pods, began))
			}
			links.Observe(&Event{Type: Modified, Listed: true, Target: pods, Time: at(began)})
			if !links.Of(pods).Relisting {
				t.Errorf("%v: an object is listed, and that is not known", marks)
			}
			links.Observe(mark(kind, pods, later))
			got := links.Of(pods)
			if got.Phase() != to {
				t.Errorf("%v, then %s: phase %d, want %d", marks, kind, got.Phase(), to)
			}
			if kind != Disconnected {
				got.Heard = time.Time{} // of no meaning
			}
			got.Target, want.Target = Target{}, Target{}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b error) bool { return a == b })); diff != "" {
				t.Errorf("%v, then %s: %s", marks, kind, diff)
			}
		}
	}
}

// TestDeniedAndLost: that a right is missing stays known while the connection is lost, and
// no longer than until the target is served.
func TestDeniedAndLost(t *testing.T) {
	pods := targetOf("pods", "a", "")
	links := NewLinks([]Target{pods})
	for i, step := range []struct {
		mark   Type
		denied bool
	}{{Denied, true}, {Disconnected, true}, {Denied, true}, {Disconnected, true}, {Synced, false}, {Disconnected, false}, {Denied, true}, {Gone, true}, {Arrived, false}} {
		links.Observe(mark(step.mark, pods, i))
		if got := links.Of(pods); got.Denied != step.denied {
			t.Errorf("%d, after %s: denied is %t", i, step.mark, got.Denied)
		}
	}
}

// TestAllLinks: how it is with all of them: which there are, in which order, and whether
// they are connected. What a wider target covers is a target no more.
func TestAllLinks(t *testing.T) {
	one, other := targetOf("pods", "a", "one"), targetOf("pods", "b", "one")
	wide, secrets := targetOf("pods", "a", ""), targetOf("secrets", "a", "one")
	links := NewLinks([]Target{one, secrets, other})
	for i, step := range []struct {
		event     *Event
		all       []Target
		present   int
		connected bool
		lost      int
	}{
		{&Event{Type: Added, Target: one, Time: at(1)}, []Target{one, secrets, other}, 3, false, 0},
		{mark(Synced, one, 2), []Target{one, secrets, other}, 3, false, 0},
		{mark(Synced, other, 3), []Target{one, secrets, other}, 3, false, 0},
		{mark(Synced, secrets, 4), []Target{one, secrets, other}, 3, true, 0},
		{&Event{Type: Heartbeat, Time: at(5)}, []Target{one, secrets, other}, 3, true, 0},
		{mark(Disconnected, one, 6), []Target{one, secrets, other}, 3, false, 1},
		{mark(Arrived, wide, 7), []Target{secrets, other, wide}, 3, false, 0},
		{mark(Synced, wide, 8), []Target{secrets, other, wide}, 3, true, 0},
		{mark(Gone, secrets, 9), []Target{secrets, other, wide}, 2, true, 0},
		{mark(Arrived, secrets, 10), []Target{secrets, other, wide}, 3, false, 0},
		{mark(Gap, secrets, 11), []Target{secrets, other, wide}, 3, true, 0},
		{mark(Left, secrets, 11), []Target{other, wide}, 2, true, 0},
		{mark(Joined, secrets, 11), []Target{other, wide, secrets}, 3, false, 0},
		{mark(Left, secrets, 11), []Target{other, wide}, 2, true, 0},
		{&Event{Type: Modified, Target: one, Listed: true, Time: at(12)}, []Target{other, wide}, 2, true, 0},
	} {
		links.Observe(step.event)
		var all []Key
		for _, l := range links.All() {
			all = append(all, l.Target.Key())
		}
		var want []Key
		for _, t := range step.all {
			want = append(want, t.Key())
		}
		if diff := cmp.Diff(want, all); diff != "" {
			t.Errorf("%d: targets: %s", i, diff)
		}
		if links.Present() != step.present || links.Connected() != step.connected || links.Count(PhaseLost) != step.lost {
			t.Errorf("%d: %d present, connected: %t, %d lost", i, links.Present(), links.Connected(), links.Count(PhaseLost))
		}
	}
	if !links.LastEvent.Equal(at(12)) {
		t.Errorf("the last event was at %s", links.LastEvent)
	}
	if none := links.Of(one); none.Target.Mapping != nil || none.Phase() != PhaseConnecting {
		t.Errorf("of a target that is covered: %+v", none)
	}
	if none := NewLinks(nil); !none.Connected() || none.Present() != 0 {
		t.Error("nothing is watched, and that is not connected")
	}
}
