package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/watcher/event"
)

// TestPastUnlisted: what can't be listed is not waited for, and is named.
func TestPastUnlisted(t *testing.T) {
	target := func(namespace string) event.Target {
		events := schema.GroupVersionResource{Version: "v1", Resource: "events"} // which nothing else tells of
		return event.Target{Mapping: event.NewMapping(events, "Event", true), Namespace: namespace}
	}
	mark := func(kind event.Type, namespace string) event.Event {
		e := event.Event{Type: kind, Target: target(namespace), Time: time.Now()}
		if kind != event.Synced {
			e.Err = errors.New("it said no")
		}
		return e
	}
	for _, kind := range []event.Type{event.Disconnected, event.Denied} {
		var said []string
		w := &watching{session: &session{plan: &plan.Plan{Targets: []event.Target{target("a"), target("b")}}}}
		w.past.span = flags.TimeRange{Before: time.Now()}
		next := event.SinkFunc(func(context.Context, []event.Event) error { return nil })
		stage := w.past.before(next, w, func(_ time.Time, text string) { said = append(said, text) })
		if err := stage.Deliver(t.Context(), []event.Event{mark(event.Synced, "a")}); err != nil || said != nil {
			t.Fatalf("b has not answered, and it ends: %v, %q", err, said)
		}
		if err := stage.Deliver(t.Context(), []event.Event{mark(kind, "b")}); !errors.Is(err, errEnough) {
			t.Errorf("%s: it goes on waiting: %v", kind, err)
		}
		if len(said) != 2 || !strings.HasSuffix(said[0], "b can't be listed, so what happened there is not known: it said no") {
			t.Errorf("%s: it said %q", kind, said)
		}
	}
}
