package cli

import (
	"context"
	"testing"
	"time"

	"dwatch/cli/plan"
	"dwatch/output/deliver"
	"dwatch/watcher/broadcast"
	"dwatch/watcher/event"
)

var toNobody = event.SinkFunc(func(context.Context, []event.Event) error { return nil })

// sharing is a watch that rules with these names share, in a set that has no other.
func sharing(t *testing.T, of event.Target, names ...string) (*ruleset, *ruleWatch) {
	t.Helper()
	set := &ruleset{}
	w := &ruleWatch{set: set, is: func(string) {}, fixed: true, targets: []event.Target{of}, session: &session{}}
	var branches []*broadcast.Subscriber
	for _, name := range names {
		one := ruleOf(name, plan.Request{}, of)
		one.to, one.stop = &delivery{}, func() {}
		var err error
		if one.branch, err = broadcast.NewSubscriber(toNobody, broadcast.Options{Targets: one.plan.Targets, MaxBytes: 1}); err != nil {
			t.Fatal(err)
		}
		w.rules, branches = append(w.rules, one), append(branches, one.branch)
	}
	w.fan = broadcast.New(branches...)
	set.rules, set.watches = w.rules, []*ruleWatch{w}
	return set, w
}

// TestLetGo: a watch ends with the last rule that gets anything of it: one that watches for itself by then does not.
func TestLetGo(t *testing.T) {
	of := ruleTarget("pods", "ns", "")
	batch := []event.Event{{Type: event.Synced, Target: of}}
	for _, isDropped := range []bool{false, true} {
		set, w := sharing(t, of, "one", "two")
		one, two := w.rules[0], w.rules[1]
		stopped := 0
		w.stop = func() { stopped++ }
		if one.branch.SetBlocked(isDropped); isDropped {
			two.branch.SetBlocked(false)
			go func() { _ = two.branch.Run(t.Context()) }() // it takes what it gets
			if err := w.fan.Deliver(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			if one.branch.IsAttached() {
				t.Fatal("it is not dropped")
			}
		}
		set.letGo(two, false)
		if want := map[bool]int{false: 0, true: 1}[isDropped]; stopped != want || len(set.watches) != 1-want {
			t.Errorf("dropped %v: it is stopped %d times, and there are %d", isDropped, stopped, len(set.watches))
		}
		set.letGo(one, false)
		if stopped != 1 || len(set.watches) != 0 || len(set.rules) != 0 {
			t.Errorf("dropped %v: in the end it is stopped %d times; watches: %d, rules: %d", isDropped, stopped, len(set.watches), len(set.rules))
		}
	}
}

// TestStopIdle: so it does when the last one begins to watch for itself.
func TestStopIdle(t *testing.T) {
	of := ruleTarget("pods", "ns", "")
	set, w := sharing(t, of, "one")
	one, stopped := w.rules[0], 0
	w.stop = func() { stopped++ }
	if set.stopIdle(one); stopped != 0 {
		t.Fatal("it is stopped, and there is a rule that gets what it has")
	}
	next, err := broadcast.NewSubscriber(toNobody, broadcast.Options{
		Targets: one.plan.Targets,
		FallbackWatch: func(context.Context, event.Sink, []event.Target, event.HistoryFunc) error {
			set.stopIdle(one)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.fan.Remove(one.branch)
	one.branch = next
	w.fan.Add(next, func(ctx context.Context, sink event.Sink, _ []event.Target, _ event.HistoryFunc) error {
		return sink.Deliver(ctx, []event.Event{{Type: event.Denied, Target: of}})
	})
	if err := next.Run(t.Context()); err != nil || stopped != 1 || len(set.watches) != 0 {
		t.Errorf("%v; it is stopped %d times, and there are %d", err, stopped, len(set.watches))
	}
}

// TestNarrowed: what only a rule has asked for that is let go is watched until it is known who comes, and then no more; until
// that is said the messages are of no rule.
func TestNarrowed(t *testing.T) {
	of, more := ruleTarget("pods", "ns", ""), ruleTarget("jobs", "ns", "")
	set, w := sharing(t, of, "stays", "goes")
	w.targets, w.drop = []event.Target{of, more}, make(chan struct{}, 1)
	w.links = event.NewWatchStates(w.targets)
	w.rules[1].plan.Targets = w.targets
	said := "nothing"
	w.is = func(name string) { said = name }
	set.letGo(w.rules[1], false)
	if !w.asks(more.Key()) || said != "" || len(w.planned()) != 2 {
		t.Errorf("at once: %s is asked for: %v, of %q, %d rules", more.Resource().Resource, w.asks(more.Key()), said, len(w.planned()))
	}
	set.dropUnasked()
	if w.asks(more.Key()) || !w.asks(of.Key()) || said != "" || len(w.drop) != 1 || len(w.planned()) != 1 {
		t.Errorf("then: it is asked for %v, of %q, %d signals, %d rules", w.targets, said, len(w.drop), len(w.planned()))
	}
	sink := w.answered(event.SinkFunc(func(context.Context, []event.Event) error {
		if said != "" {
			t.Errorf("it is said of %q", said)
		}
		return nil
	}))
	if err := sink.Deliver(t.Context(), []event.Event{{Type: event.Left, Target: more, Err: event.ErrNotRequested}}); err != nil || said != "stays" {
		t.Errorf("%v, what is said after that is of %q", err, said)
	}
}

// TestAwaits: a rule waits for a while for a watch that has all that it asks for and is not live yet, and for no other.
func TestAwaits(t *testing.T) {
	of, more := ruleTarget("pods", "ns", ""), ruleTarget("jobs", "ns", "")
	set, w := sharing(t, of, "one")
	w.links, w.key = event.NewWatchStates(w.targets), w.rules[0].shareKey()
	comes := ruleOf("comes", plan.Request{}, of)
	comes.to, comes.began = &delivery{}, time.Now()
	other := ruleOf("other", plan.Request{}, of, more)
	other.to, other.began = &delivery{}, time.Now()
	if !set.awaits(comes) || set.awaits(other) {
		t.Errorf("while it connects: %v; of more than it has: %v", set.awaits(comes), set.awaits(other))
	}
	comes.began = comes.began.Add(-joinWait)
	if set.awaits(comes) {
		t.Error("it waits for ever")
	}
	comes.began = time.Now()
	w.links.Observe(&event.Event{Type: event.Synced, Target: of})
	if set.awaits(comes) || !w.mayTake(comes) {
		t.Errorf("when it is live: %v, may be taken: %v", set.awaits(comes), w.mayTake(comes))
	}
}

// closed is a receiver that knows whether it was closed.
type closed bool

func (*closed) Send(context.Context, *deliver.Message) error { return nil }
func (*closed) SetSource(string)                             {}
func (c *closed) Close()                                     { *c = true }

// TestComesTooLate: a rule that was let go while its stages were made does not run beside the one that takes its place.
func TestComesTooLate(t *testing.T) {
	set, w := sharing(t, ruleTarget("pods", "ns", ""), "web")
	late, receiver := w.rules[0], new(closed)
	late.to, w.stop = &delivery{remote: receiver}, func() {}
	set.letGo(late, false)
	for _, name := range []string{"web", "other"} {
		next := ruleOf(name, plan.Request{})
		next.waits = true
		set.rules = append(set.rules, next)
	}
	r := newRereading(set)
	r.comes(t.Context(), late)
	if len(r.come) > 0 || !*receiver {
		t.Errorf("%d are about to run; the receiver is closed: %v", len(r.come), *receiver)
	}
}
