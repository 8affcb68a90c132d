package changes

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

var pods = event.Target{
	Mapping:   event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true),
	Namespace: "shop",
}

// TestTally: what is wrong with what exists at the start, the first of it by name.
func TestTally(t *testing.T) {
	pod := func(name, phase, rest string) event.Event {
		o := testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"`+name+`","uid":"`+name+`","creationTimestamp":"2026-01-31T09:00:00Z"},"status":{"phase":"`+phase+`",`+rest+`}}`)
		return event.Event{Type: event.Added, Initial: true, Target: pods, Time: at, Object: o}
	}
	loop := func(name string) event.Event {
		return pod(name, "Running", `"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]`)
	}
	ready := pod("ready", "Running", `"conditions":[{"type":"Ready","status":"True"}]`)
	done := pod("done", "Succeeded", `"conditions":[{"type":"Ready","status":"False"}]`)
	fresh := pod("fresh", "Pending", `"conditions":[]`)
	for want, all := range map[string][]event.Event{
		"2 pods in shop": {ready, done},
		"2 pods in shop, 1 failed: po/x7 CrashLoopBackOff (exit 1, 4 restarts)":              {ready, loop("x7")},
		"4 pods in shop, 2 failed, 1 not ready: po/x7 CrashLoopBackOff (exit 1, 4 restarts)": {fresh, loop("x7"), loop("x8"), done},
		"1 pod in shop, 1 not ready: po/fresh Pod is in the Pending phase":                   {fresh},
	} {
		var out bytes.Buffer
		o := options(0)
		o.ShortName = func(schema.GroupVersionResource) string { return "po" }
		v := New(&out, o)
		synced := event.Event{Type: event.Synced, Target: pods, Time: at, Count: len(all)}
		if err := v.Deliver(t.Context(), append(slices.Clone(all), synced, synced)); err != nil {
			t.Fatal(err)
		}
		first, rest, _ := strings.Cut(out.String(), "\n")
		if got := first[len("00:00:00 = "):]; got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if strings.Contains(rest, "failed") {
			t.Errorf("it is said again: %q", rest)
		}
	}
}
