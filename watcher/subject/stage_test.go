package subject

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
)

var web = owner.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Kind: "Deployment"}, Name: "web"}

// eventAbout returns an Event with this name and involved object.
func eventAbout(name, involved, content string) event.Object {
	id := &event.Identity{APIVersion: "v1", Kind: "Event", Namespace: "shop", Name: name, UID: types.UID(name)}
	if content == "" {
		content = `{"` + involved + `":{"apiVersion":"apps/v1","kind":"Deployment","name":"` + name + `"}}`
	}
	return event.NewObject(id, content)
}

// TestStage checks that an object that has passed continues to pass, even if only its identity
// remains, and that Synced counts the objects that have passed.
func TestStage(t *testing.T) {
	target := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "events"}, "Event", true), Namespace: "shop"}
	var got []string
	stage := New(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			if e.Type.IsStatus() {
				got = append(got, fmt.Sprint(e.Type, " ", e.Count))
			} else {
				got = append(got, fmt.Sprint(e.Type, " ", e.Object.Name))
			}
		}
		return nil
	}), web, func(context.Context, owner.Ref) ([]owner.Owner, error) { return nil, nil })
	of := func(what event.Type, name, content string) event.Event {
		return event.Event{Type: what, Target: target, Object: eventAbout(name, "involvedObject", content)}
	}
	batches := [][]event.Event{
		{of(event.Added, "web", ""), of(event.Added, "api", ""), {Type: event.Synced, Target: target, Count: 2}},
		{of(event.Modified, "api", "")}, // nothing passes
		{of(event.Modified, "web", "{}"), of(event.Deleted, "api", "{}"), of(event.Deleted, "web", "{}"), of(event.Deleted, "web", "")},
	}
	for _, batch := range batches {
		if err := stage.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"ADDED web", "SYNCED 1", "MODIFIED web", "DELETED web"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if batches[0][2].Count != 2 {
		t.Error("Deliver changed the batch")
	}
}
