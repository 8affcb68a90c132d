package pod

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"
)

// TestContainers parses the status of a Pod with fields of wrong types, and other objects.
func TestContainers(t *testing.T) {
	const status = `{"initContainerStatuses":[null,{"name":"setup","restartCount":"x","state":{"terminated":{"exitCode":"***","reason":"Error"}}}],
		"containerStatuses":[{"name":"web","image":"nginx","restartCount":4,"started":false,"resources":{"limits":{"memory":"64Mi"}},
			"state":{"waiting":{"reason":"CrashLoopBackOff"}},
			"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled","startedAt":"2026-01-31T09:00:00Z","finishedAt":"2026-01-31T09:03:00Z"}}}],
		"ephemeralContainerStatuses":[{"name":"debug","ready":true,"state":{"running":{"startedAt":"2026-01-31T09:00:00Z"}}}]}`
	began := time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	got := ParseContainers(`{"apiVersion":"v1","kind":"Pod","status":` + status + `}`)
	want := []Container{
		{Name: "setup", Init: true, Terminated: &Termination{Reason: "Error"}},
		{Name: "web", Image: "nginx", Restarts: 4, Starting: true, MemoryLimit: "64Mi", Waiting: Waiting{Reason: "CrashLoopBackOff"}, LastTerminated: &Termination{Reason: "OOMKilled", ExitCode: 137, StartedAt: began, Duration: 3 * 60 * 1e9}},
		{Name: "debug", Ephemeral: true, Ready: true, Running: true, StartedAt: began},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Container{}, Termination{})); diff != "" {
		t.Error(diff)
	}
	if exit := got[0].Terminated.ExitText(); exit != "" {
		t.Errorf("got %q for an exit code that is no number", exit)
	}
	if exit := got[1].LastTerminated.ExitText(); exit != "exit 137" {
		t.Errorf("got %q, want exit 137", exit)
	}
	for _, other := range []string{`{"apiVersion":"v1","kind":"Node","status":` + status + `}`, `{"apiVersion":"v1","kind":"Pod"}`, `{"apiVersion":"v1","kind":"Pod","status":[]}`} {
		if got := ParseContainers(other); got != nil {
			t.Errorf("got %v for %s", got, other)
		}
	}
}

func BenchmarkRestarts(b *testing.B) {
	line, err := os.ReadFile("../../testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	now := gjson.GetBytes(line, "object").Raw
	before := strings.Clone(now)
	b.ReportAllocs()
	for b.Loop() {
		FindRestarts(before, now)
	}
}
