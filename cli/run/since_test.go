package run

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/mapper"
	"dwatch/watcher/event"
)

// TestPastUnlisted: a target that cannot be listed is not waited for, and is named.
func TestPastUnlisted(t *testing.T) {
	target := func(namespace string) event.Target {
		events := schema.GroupVersionResource{Version: "v1", Resource: "events"} // which have no other source
		return event.Target{Mapping: event.NewMapping(events, "Event", true), Namespace: namespace}
	}
	mark := func(kind event.Type, namespace string) event.Event {
		e := event.Event{Type: kind, Target: target(namespace), Time: time.Now()}
		if kind != event.Synced {
			e.Err = &event.TargetError{Target: e.Target, Err: errors.New("it said no")}
		}
		return e
	}
	for _, kind := range []event.Type{event.Disconnected, event.Denied} {
		var said []string
		s := &Session{Console: &console.Console{Err: io.Discard, Reports: io.Discard}, Plan: &plan.Plan{Targets: []event.Target{target("a"), target("b")}}, Mapper: mapper.New(nil)}
		r := &Run{cfg: Config{Past: flags.TimeRange{Before: time.Now()}}, session: s, scope: s.Scope()}
		r.note = func(_ time.Time, text string) { said = append(said, text) }
		stage := r.newSinceStage(event.SinkFunc(func(context.Context, []event.Event) error { return nil }))
		if err := stage.Deliver(t.Context(), []event.Event{mark(event.Synced, "a")}); err != nil || said != nil {
			t.Fatalf("the run ended before b had answered: %v, %q", err, said)
		}
		if err := stage.Deliver(t.Context(), []event.Event{mark(kind, "b")}); !errors.Is(err, ErrEnough) {
			t.Errorf("%s: got %v, want ErrEnough", kind, err)
		}
		if len(said) != 2 || said[0] != "cannot list events in namespace b, so past changes are unknown: it said no" {
			t.Errorf("%s: got notes %q", kind, said)
		}
	}
}
