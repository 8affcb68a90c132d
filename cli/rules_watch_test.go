package cli

import (
	"context"
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/plan"
	"dwatch/cli/rules"
	"dwatch/watcher/event"
)

func ruleTarget(resource, namespace, name string) event.Target {
	return event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: resource}, "Kind", true), Namespace: namespace, Name: name}
}

func ruleOf(name string, scope plan.Request, targets ...event.Target) *rule {
	return &rule{Rule: &rules.Rule{Name: name}, watching: &watching{session: &session{scope: scope, plan: &plan.Plan{Targets: targets}}}}
}

// TestAgrees: one watch has no two targets of which one takes the place of the other.
func TestAgrees(t *testing.T) {
	all, one := ruleTarget("pods", "ns", ""), ruleTarget("pods", "ns", "web")
	for _, test := range []struct {
		has, asks event.Target
		agrees    bool
	}{
		{all, all, true}, {one, one, true}, {all, one, false}, {one, all, false},
		{one, ruleTarget("pods", "ns", "db"), true}, {one, ruleTarget("pods", "other", ""), true},
	} {
		w := &ruleWatch{targets: []event.Target{test.has}}
		if got := w.agrees(ruleOf("a", plan.Request{}, test.asks)); got != test.agrees {
			t.Errorf("%v with %v: %v", test.has.Key(), test.asks.Key(), got)
		}
	}
}

// TestSharedScope: the namespaces that one rule names are looked for, though another is of all.
func TestSharedScope(t *testing.T) {
	s := scopeOf([]*rule{
		ruleOf("all", plan.Request{AllNamespaces: true, Namespaces: []string{"any"}}), ruleOf("some", plan.Request{Namespaces: []string{"a", "b"}}),
		ruleOf("more", plan.Request{Namespaces: []string{"b", "c"}}),
	})
	if !s.AllNamespaces || !slices.Equal(s.Namespaces, []string{"a", "b", "c"}) {
		t.Errorf("all: %v, %q", s.AllNamespaces, s.Namespaces)
	}
}

// TestAnswered: what was refused once, and is there now, does not count when others are refused.
func TestAnswered(t *testing.T) {
	set := &ruleset{refusals: map[*ruleWatch]error{}}
	first, second := &ruleWatch{set: set}, &ruleWatch{set: set}
	set.watches = []*ruleWatch{first, second}
	no := errors.New("no")
	if err := set.refused(first, no); err != nil {
		t.Errorf("one is refused: %v", err)
	}
	sink := first.answered(event.SinkFunc(func(context.Context, []event.Event) error { return nil }))
	for _, kind := range []event.Type{event.Heartbeat, event.Synced} {
		if err := sink.Deliver(t.Context(), []event.Event{{Type: kind}}); err != nil {
			t.Fatal(err)
		}
		if refused := set.refusals[first] != nil; refused != (kind == event.Heartbeat) {
			t.Errorf("after %s it is refused: %v", kind, refused)
		}
	}
	if err := set.refused(second, no); err != nil {
		t.Errorf("one is refused, and another was before: %v", err)
	}
	if err := set.refused(first, no); err == nil {
		t.Error("all are refused, and it goes on")
	}
}
