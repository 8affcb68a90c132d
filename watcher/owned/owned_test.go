package owned

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

func object(group, kind, name string) Owner {
	return Owner{Ref{schema.GroupKind{Group: group, Kind: kind}, "shop", name}, "v1"}
}

var web = Root{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Name: "web"}

// tree has the owners of some objects.
var tree = map[string][]Owner{
	"pod":    {object("", "Node", "one"), object("apps", "ReplicaSet", "rs")},
	"rs":     {object("apps", "Deployment", "web")},
	"old":    {object("extensions", "Deployment", "web")},
	"circle": {object("", "X", "other")},
	"other":  {object("", "X", "circle")},
	"nobody": nil,
}

// TestHas: what an object owns belongs to it, over any number of owners.
func TestHas(t *testing.T) {
	for name, want := range map[string]bool{"pod": true, "rs": true, "old": false, "circle": false, "nobody": false, "unknown": false} {
		asked := map[string]int{}
		got, err := web.Has(t.Context(), object("", "X", name), func(_ context.Context, o Owner) ([]Owner, error) {
			asked[o.Name]++
			return tree[o.Name], nil
		})
		if err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		for of, n := range asked {
			if n > 1 {
				t.Errorf("%s: %s was asked for %d times", name, of, n)
			}
		}
	}
	without := func(context.Context, Owner) ([]Owner, error) { return nil, errors.New("it is asked for") }
	if got, err := web.Has(t.Context(), object("apps", "Deployment", "web"), without); err != nil || !got {
		t.Errorf("itself: %v, %v", got, err)
	}
	if _, err := web.Has(t.Context(), object("apps", "Deployment", "api"), without); err == nil {
		t.Error("an error is none")
	}
}

// TestHasEnds: objects that own each other without end are left at some point.
func TestHasEnds(t *testing.T) {
	asked := 0
	_, err := web.Has(t.Context(), object("", "X", "0"), func(context.Context, Owner) ([]Owner, error) {
		asked++
		return []Owner{object("", "X", fmt.Sprint(asked))}, nil
	})
	if err != nil || asked > maxDepth {
		t.Errorf("asked %d times, %v", asked, err)
	}
}

func TestOwners(t *testing.T) {
	got := Owners("shop", []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs"}, {APIVersion: "v1", Kind: "Node", Name: "one"}})
	want := []Owner{object("apps", "ReplicaSet", "rs"), object("", "Node", "one")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// happened is an Event of a name, about an object.
func happened(name, involved, content string) event.Object {
	id := &event.Identity{APIVersion: "v1", Kind: "Event", Namespace: "shop", Name: name, UID: types.UID(name)}
	if content == "" {
		content = `{"` + involved + `":{"apiVersion":"apps/v1","kind":"Deployment","name":"` + name + `"}}`
	}
	return event.NewObject(id, content)
}

func TestAbout(t *testing.T) {
	for _, involved := range []string{"involvedObject", "regarding"} {
		if got := about(happened("web", involved, "")); got != object("apps", "Deployment", "web") {
			t.Errorf("%s: %+v", involved, got)
		}
	}
	for _, odd := range []string{`{}`, `{"involvedObject":3}`, `{"involvedObject":{"kind":{},"name":[]}}`} {
		if got := about(happened("odd", "", odd)); got.Kind != "" || got.Name != "" {
			t.Errorf("%s: %+v", odd, got)
		}
	}
}

// TestStage: what has passed passes to its end, even if only its identity is left of it,
// and the number of those that were there at the start is that of those that have passed.
func TestStage(t *testing.T) {
	target := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "events"}, "Event", true), Namespace: "shop"}
	var got []string
	stage := New(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			if e.Type.IsMark() {
				got = append(got, fmt.Sprint(e.Type, " ", e.Count))
			} else {
				got = append(got, fmt.Sprint(e.Type, " ", e.Object.Name))
			}
		}
		return nil
	}), web, func(context.Context, Owner) ([]Owner, error) { return nil, nil })
	of := func(what event.Type, name, content string) event.Event {
		return event.Event{Type: what, Target: target, Object: happened(name, "involvedObject", content)}
	}
	batches := [][]event.Event{
		{of(event.Added, "web", ""), of(event.Added, "api", ""), {Type: event.Synced, Target: target, Count: 2}},
		{of(event.Modified, "api", "")}, // nothing of it passes
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
		t.Error("the batch was changed")
	}
}
