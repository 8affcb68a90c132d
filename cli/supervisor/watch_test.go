package supervisor

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/plan"
	"dwatch/cli/rules"
	"dwatch/cli/run"
	"dwatch/watcher/broadcast"
	"dwatch/watcher/event"
)

func ruleTarget(resource, namespace, name string) event.Target {
	return event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: resource}, "Kind", true), Namespace: namespace, Name: name}
}

func ruleOf(name string, request plan.Request, targets ...event.Target) *activeRule {
	r := newActiveRule(&Rule{Rule: &rules.Rule{Name: name}}, nil)
	r.session, r.asked = &run.Session{Request: request, Plan: &plan.Plan{Targets: targets}}, targets
	return r
}

// TestAgrees: no two targets of a watch cover each other.
func TestAgrees(t *testing.T) {
	all, one := ruleTarget("pods", "ns", ""), ruleTarget("pods", "ns", "web")
	for _, test := range []struct {
		has, asks event.Target
		agrees    bool
	}{
		{all, all, true}, {one, one, true}, {all, one, false}, {one, all, false},
		{one, ruleTarget("pods", "ns", "db"), true}, {one, ruleTarget("pods", "other", ""), true},
	} {
		group := []*activeRule{ruleOf("b", plan.Request{}, test.has)}
		if got := agrees(group, ruleOf("a", plan.Request{}, test.asks)); got != test.agrees {
			t.Errorf("%v with %v: got %v", test.has.Key(), test.asks.Key(), got)
		}
	}
}

// TestRequestOf: the namespaces that one rule names are checked, although another rule asks for all.
func TestRequestOf(t *testing.T) {
	r := requestOf([]*activeRule{
		ruleOf("all", plan.Request{AllNamespaces: true, Namespaces: []string{"any"}}), ruleOf("some", plan.Request{Namespaces: []string{"a", "b"}}),
		ruleOf("more", plan.Request{Namespaces: []string{"b", "c"}}),
	})
	if !r.AllNamespaces || !slices.Equal(r.Namespaces, []string{"a", "b", "c"}) {
		t.Errorf("got all %v, %q", r.AllNamespaces, r.Namespaces)
	}
}

// TestRefused: a watch that has answered does not count as refused when others are.
func TestRefused(t *testing.T) {
	set := New(Config{})
	first, second := &sharedWatch{set: set}, &sharedWatch{set: set}
	set.watches = []*sharedWatch{first, second}
	no := errors.New("no")
	if err := set.refused(first, no); err != nil {
		t.Errorf("one watch is refused: got %v", err)
	}
	for _, kind := range []event.Type{event.Heartbeat, event.Synced} {
		first.observe([]event.Event{{Type: kind}})
		if refused := set.refusals[first] != nil; refused != (kind == event.Heartbeat) {
			t.Errorf("after %s: refused is %v", kind, refused)
		}
	}
	if err := set.refused(second, no); err != nil {
		t.Errorf("one watch is refused and the other has answered: got %v", err)
	}
	if err := set.refused(first, no); err == nil {
		t.Error("all watches are refused: got no error")
	}
}

var toNobody = event.SinkFunc(func(context.Context, []event.Event) error { return nil })

// sharing returns a Supervisor with one watch that rules with the given names share.
func sharing(t *testing.T, of event.Target, names ...string) (*Supervisor, *sharedWatch) {
	t.Helper()
	set := New(Config{})
	w := &sharedWatch{set: set, isFixed: true, targets: []event.Target{of}, shrunk: make(chan struct{}, 1)}
	var subs []*broadcast.Subscriber
	for _, name := range names {
		one := ruleOf(name, plan.Request{}, of)
		one.set, one.stop = set, func() {}
		var err error
		if one.sub, err = broadcast.NewSubscriber(toNobody, broadcast.Options{Targets: one.asked, MaxBytes: 1}); err != nil {
			t.Fatal(err)
		}
		w.rules, subs = append(w.rules, one), append(subs, one.sub)
	}
	w.broadcaster = broadcast.New(subs...)
	set.rules, set.watches = w.rules, []*sharedWatch{w}
	return set, w
}

// TestLeave: a watch ends with the last rule that gets its events. A rule whose subscriber was detached does not count.
func TestLeave(t *testing.T) {
	of := ruleTarget("pods", "ns", "")
	batch := []event.Event{{Type: event.Synced, Target: of}}
	for _, isDetached := range []bool{false, true} {
		set, w := sharing(t, of, "one", "two")
		one, two := w.rules[0], w.rules[1]
		stopped := 0
		w.stop = func() { stopped++ }
		if one.sub.SetBlocked(isDetached); isDetached {
			two.sub.SetBlocked(false)
			go func() { _ = two.sub.Run(t.Context()) }()
			if err := w.broadcaster.Deliver(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			if one.sub.IsAttached() {
				t.Fatal("the subscriber is not detached")
			}
		}
		set.leave(two, false)
		if want := map[bool]int{false: 0, true: 1}[isDetached]; stopped != want || len(set.watches) != 1-want {
			t.Errorf("detached %v: stopped %d times, %d watches are left", isDetached, stopped, len(set.watches))
		}
		set.leave(one, false)
		if stopped != 1 || len(set.watches) != 0 || len(set.rules) != 0 {
			t.Errorf("detached %v: in the end stopped %d times, %d watches and %d rules are left", isDetached, stopped, len(set.watches), len(set.rules))
		}
	}
}

// TestShrink: a watch ends the targets that only a removed rule asked for.
func TestShrink(t *testing.T) {
	of, more := ruleTarget("pods", "ns", ""), ruleTarget("jobs", "ns", "")
	set, w := sharing(t, of, "stays", "goes")
	w.targets, w.stop = []event.Target{of, more}, func() {}
	w.rules[1].asked = w.targets
	set.leave(w.rules[1], false)
	if w.isAsked(more.Key()) || !w.isAsked(of.Key()) || len(w.shrunk) != 1 {
		t.Errorf("still asked for: %v, %d signals", w.targets, len(w.shrunk))
	}
}
