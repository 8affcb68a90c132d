package expression

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// clock is the present in tests.
var clock = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func testOptions() Options {
	return Options{Compare: change.Options{Noise: change.DefaultNoise()}, Now: func() time.Time { return clock }}
}

// object returns an object of the text, which is JSON.
func object(text string) event.Object {
	if text == "" {
		return event.Object{}
	}
	return event.NewObject(&event.Identity{APIVersion: "v1", Kind: "Pod", Namespace: "default", Name: "web"}, text)
}

// modified returns the event of a change from one text to another; without the first
// it is not known what was.
func modified(old, new string) event.Event {
	return event.Event{Type: event.Modified, Object: object(new), Old: object(old), Time: clock}
}

// evaluate returns whether the expression holds for the event.
func evaluate(t testing.TB, text string, e event.Event) (bool, error) {
	t.Helper()
	x, err := Compile(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return x.Matches(NewInput(e, testOptions()))
}

// readPod returns the pod of the watcher's benchmarks, 9.7 KB.
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
