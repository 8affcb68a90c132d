package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// TestTalkOfOutages: an outage of several targets is told once, and so is its
// end, also where it ends in something else for one of them.
func TestTalkOfOutages(t *testing.T) {
	target := func(resource string) event.Target {
		return event.Target{Mapping: &meta.RESTMapping{Resource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Scope: meta.RESTScopeRoot}}
	}
	a, b, down := target("as"), target("bs"), errors.New("down")
	const lost, again = "connection lost, trying again: down\n", "reconnected\n"
	for end, said := range map[event.Type]string{
		event.Gone:        "as: the server no longer has the resource; waiting for it\n",
		event.Denied:      "",
		event.Reconnected: "",
	} {
		var w bytes.Buffer
		k := &talk{w: &w, down: map[string]bool{}, denied: map[string]bool{}, checked: map[string]bool{}}
		for _, e := range []event.Event{
			{Type: event.Disconnected, Target: a, Err: down},
			{Type: event.Disconnected, Target: b, Err: down},
			{Type: end, Target: a, Err: down},
			{Type: event.Reconnected, Target: b},
			{Type: event.Disconnected, Target: b, Err: down},
		} {
			k.mark(context.Background(), e)
		}
		if got, want := w.String(), lost+said+again+lost; got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", end, got, want)
		}
	}
}
