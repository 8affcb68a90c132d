package expression

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// clock is the current time in tests.
var clock = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func testOptions() Options {
	return Options{Compare: change.Options{Noise: change.DefaultNoise()}, Now: func() time.Time { return clock }}
}

// object returns an object with JSON content. Without text it returns the zero Object.
func object(text string) event.Object {
	if text == "" {
		return event.Object{}
	}
	return event.NewObject(&event.Identity{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "web"}, text)
}

// modified returns the MODIFIED event of a change between two JSON objects. If old is empty, the old state is unknown.
func modified(old, new string) event.Event {
	return event.Event{Type: event.Modified, Object: object(new), Old: object(old), Time: clock}
}

// evaluate compiles the expression and evaluates it for the event.
func evaluate(t testing.TB, text string, e event.Event) (bool, error) {
	t.Helper()
	x, err := Compile(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return x.Matches(NewInput(e, testOptions()))
}

// readPod returns the Pod of the watcher's benchmarks, which has 9.7 KB.
func readPod(t testing.TB) string {
	t.Helper()
	line, err := os.ReadFile("../../testdata/pod.json")
	if err != nil {
		t.Fatal(err)
	}
	var event struct{ Object json.RawMessage }
	if err := json.Unmarshal(line, &event); err != nil {
		t.Fatal(err)
	}
	return string(event.Object)
}
