package main

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher"
)

// TestTalkOfOutages: an outage of several targets is told once, and so is its
// end, also where it ends in something else for one of them.
func TestTalkOfOutages(t *testing.T) {
	target := func(resource string) watcher.Target {
		return watcher.Target{Mapping: &meta.RESTMapping{Resource: schema.GroupVersionResource{Version: "v1", Resource: resource}, Scope: meta.RESTScopeRoot}}
	}
	a, b, down := target("as"), target("bs"), errors.New("down")
	const lost, again = "connection lost, trying again: down\n", "reconnected\n"
	for end, said := range map[watcher.Type]string{
		watcher.Gone:        "as: the server no longer has the resource; waiting for it\n",
		watcher.Denied:      "",
		watcher.Reconnected: "",
	} {
		var w bytes.Buffer
		k := &talk{w: &w, down: map[string]bool{}, denied: map[string]bool{}, checked: map[string]bool{}}
		for _, e := range []watcher.Event{
			{Type: watcher.Disconnected, Target: a, Err: down},
			{Type: watcher.Disconnected, Target: b, Err: down},
			{Type: end, Target: a, Err: down},
			{Type: watcher.Reconnected, Target: b},
			{Type: watcher.Disconnected, Target: b, Err: down},
		} {
			k.mark(context.Background(), e)
		}
		if got, want := w.String(), lost+said+again+lost; got != want {
			t.Errorf("%s:\n%s\nwant:\n%s", end, got, want)
		}
	}
}
