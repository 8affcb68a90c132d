package lookup

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	testobject "dwatch/testdata/object"
)

// TestFindCrashLoop finds a pod of a workload that runs between two crashes. An answer that is missing is an error.
func TestFindCrashLoop(t *testing.T) {
	const looping = `"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"web","ready":true,"restartCount":3,` +
		`"state":{"running":{"startedAt":"2026-01-31T09:05:00Z"}},` +
		`"lastState":{"terminated":{"exitCode":1,"reason":"Error","startedAt":"2026-01-31T09:00:00Z","finishedAt":"2126-01-31T09:00:00Z"}}}]}`
	const ready = `"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`
	answers := map[string]string{"pods": list("PodList", podOf("a", "h", 1, ready), podOf("b", "h", 2, looping)), "replicasets/web-h": setOf("h", "1", "d")}
	s := newShop(t, nil, answers)
	pod, why, err := s.FindCrashLoop(t.Context(), testobject.Parse(t, deployment))
	if pod != "po/b" || why != "CrashLoopBackOff (exit 1, 3 restarts)" || err != nil {
		t.Errorf("got %q, %q, %v, want po/b", pod, why, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if pod, _, err := s.FindCrashLoop(ended, testobject.Parse(t, deployment)); pod != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v after the end, want an error", pod, err)
	}
	if pod, _, err := newShop(t, nil, nil).FindCrashLoop(t.Context(), testobject.Parse(t, deployment)); pod != "" || !apierrors.IsForbidden(err) {
		t.Errorf("got %q, %v without rights, want Forbidden", pod, err)
	}
}
