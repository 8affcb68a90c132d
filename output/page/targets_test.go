package page

import (
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// TestTargetHeard checks that a target that is lost or denied reports when the server was last heard
// from before that, not before an earlier outage.
func TestTargetHeard(t *testing.T) {
	r := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	pods := event.Target{Mapping: event.NewMapping(r, "Pod", true)}
	began := time.Unix(1_700_000_000, 0)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	targets := newTargets(Options{
		Targets: []event.Target{pods}, DescribeConnectionError: func(err error) string { return err.Error() },
	}, began)
	for _, step := range []struct {
		event event.Event
		want  int64
	}{
		{event.Event{Type: event.Synced, Time: at(1)}, 0},
		{event.Event{Type: event.Disconnected, Time: at(10), Heard: at(5), Err: errors.New("down")}, millis(at(5))},
		{event.Event{Type: event.Reconnected, Time: at(20)}, 0},
		{event.Event{Type: event.Denied, Time: at(1000), Heard: at(900), Err: errors.New("forbidden")}, millis(at(900))},
	} {
		step.event.Target = pods
		targets.observe(&step.event)
		if got := targets.list()[0].Heard; got != step.want {
			t.Errorf("after %s: heard is %d, want %d", step.event.Type, got, step.want)
		}
	}
}
