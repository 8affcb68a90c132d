package status

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestCrashLoop checks when a pod that runs again still counts as failed.
func TestCrashLoop(t *testing.T) {
	at := func(minute int) string {
		return time.Date(2026, 1, 31, 9, minute, 0, 0, time.UTC).Format(time.RFC3339)
	}
	running := func(restarts int64, lastStart, lastEnd, start int) map[string]any {
		return map[string]any{"name": "web", "ready": true, "restartCount": restarts,
			"state":     map[string]any{"running": map[string]any{"startedAt": at(start)}},
			"lastState": map[string]any{"terminated": map[string]any{"exitCode": int64(1), "reason": "Error", "startedAt": at(lastStart), "finishedAt": at(lastEnd)}}}
	}
	crashed := running(3, 0, 2, 4)
	crashed["state"] = map[string]any{"terminated": map[string]any{"exitCode": int64(1), "reason": "Error", "startedAt": at(4), "finishedAt": at(5)}}
	for _, c := range []struct {
		name      string
		container map[string]any
		now       int
		want      string
		clears    int
	}{
		{"the present run is as long as the last", running(2, 0, 2, 4), 6, "Failed: CrashLoopBackOff (exit 1, 2 restarts)", 8},
		{"the present run is twice as long", running(2, 0, 2, 4), 8, "Current", 0},
		{"it restarted once", running(1, 0, 2, 4), 5, "Current", 0},
		{"the restarts are far apart", running(5, 0, 20, 21), 22, "Current", 0},
		{"it has just crashed again", crashed, 5, "Failed: CrashLoopBackOff (exit 1, 3 restarts)", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			u := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Pod",
				"metadata": map[string]any{"name": "a", "creationTimestamp": at(0)},
				"status": map[string]any{"phase": "Running", "containerStatuses": []any{c.container},
					"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
			}}
			s := At(u, time.Date(2026, 1, 31, 9, c.now, 0, 0, time.UTC))
			got := s.Word.String()
			if s.Message != "" {
				got += ": " + s.Message
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if want := time.Date(2026, 1, 31, 9, c.clears, 0, 0, time.UTC); c.clears > 0 && !s.ClearsAt.Equal(want) {
				t.Errorf("it clears at %s, want %s", s.ClearsAt, want)
			}
		})
	}
}
