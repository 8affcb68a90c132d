package page

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestContainers tests the containers of a Pod. Other objects have none.
func TestContainers(t *testing.T) {
	const content = `{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"web","resources":{"limits":{"cpu":"1","memory":"64Mi"}}},{"name":"side"}]},"status":{` +
		`"initContainerStatuses":[{"name":"prepare","restartCount":0,"state":{"terminated":{"reason":"Completed","exitCode":0}}}],` +
		`"containerStatuses":[{"name":"web","image":"web:2","restartCount":4,"ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s"}},` +
		`"lastState":{"terminated":{"reason":"OOMKilled","exitCode":137,"message":"no room","startedAt":"2026-01-31T09:00:00Z","finishedAt":"2026-01-31T09:03:00Z"}}},` +
		`{"name":"side","restartCount":0,"ready":false,"state":{"running":{}}},{"name":"done","restartCount":0,"state":{"terminated":{"exitCode":1}}},{"name":"new","restartCount":0}]}}`
	want := []string{
		`{"name":"prepare","role":"init","state":"Completed, exit 0","look":"Current","restarts":0}`,
		`{"name":"web","image":"web:2","state":"CrashLoopBackOff","look":"Failed","message":"back-off 40s","restarts":4,"last":"OOMKilled, exit 137, after 3m0s","lastMessage":"no room","limits":["cpu 1","memory 64Mi"]}`,
		`{"name":"side","state":"Running, not ready","look":"InProgress","restarts":0}`,
		`{"name":"done","state":"exit 1","look":"Failed","restarts":0}`,
		`{"name":"new","state":"Waiting","look":"InProgress","restarts":0}`,
	}
	var got []string
	for _, c := range containersOf(content) {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(text))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if other := containersOf(`{"apiVersion":"apps/v1","kind":"Deployment","status":{"containerStatuses":[{"name":"x"}]}}`); other != nil {
		t.Errorf("of another object: %+v", other)
	}
}
