package lookup

import (
	"errors"
	"strings"
	"testing"
)

// answering changes the answers of a shop while it is running.
type answering struct {
	*shop
	answers map[string]string
}

func newAnswering(t *testing.T, answers map[string]string, missing ...string) *answering {
	return &answering{newShop(t, nil, answers, missing...), answers}
}

// becomes changes the answer for a path. If empty, there is none.
func (a *answering) becomes(path, body string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers[path] = body; body == "" {
		delete(a.answers, path)
	}
}

// TestCachedValuesAreMasked checks that cached values are masked after the Secret was deleted or changed, for runs that had begun
// when it was read.
func TestCachedValuesAreMasked(t *testing.T) {
	first := secretOf("aHVudGVyMg==", "", wroteAt("2026-01-31T08:00:00Z", "data"))
	second := secretOf("c2Vjb25k", "", wroteAt("2026-01-31T10:30:00Z", "data"))
	s := newAnswering(t, map[string]string{"log": "it was hunter2, is second\n", "secrets/db": first}, "secrets/")
	used := usingSecrets(`{"secretRef":{"name":"db","optional":true}}`)
	before, after := failedPod(t, used, "2026-01-31T10:00:00Z"), failedPod(t, used, "2026-01-31T10:20:00Z")
	s.CacheSecrets(t.Context(), before)
	s.becomes("secrets/db", second)
	logs, err := s.Logs(t.Context(), before, 1, false)
	if err != nil || len(logs) != 1 || strings.Join(logs[0].Lines, "\n") != "it was <db/password>, is <db/password>" {
		t.Errorf("after a change: got logs %+v, error %v, want both values masked", logs, err)
	}
	lack, is := errors.AsType[*UnmaskedError](errorOf(s.Logs(t.Context(), after, 1, false)))
	if !is || len(lack.Changed) != 1 { // it may have had any value in between
		t.Errorf("for a later run: got %v, want one changed Secret", lack)
	}
	s.becomes("secrets/db", "")
	if logs, err = s.Logs(t.Context(), before, 1, false); err != nil || len(logs) != 1 || strings.Join(logs[0].Lines, "\n") != "it was <db/password>, is <db/password>" {
		t.Errorf("after the deletion: got logs %+v, error %v, want both values masked", logs, err)
	}
}

func errorOf(_ []Log, err error) error { return err }

// TestReadOnce checks that a Secret is read once for each run of the container.
func TestReadOnce(t *testing.T) {
	s := newShop(t, nil, map[string]string{"secrets/db": secretOf("aHVudGVyMg==", "", wroteAt("2026-01-31T10:10:00Z", "data"))})
	used := usingSecrets(`{"secretRef":{"name":"db"}}`)
	for _, began := range []string{"2026-01-31T10:00:00Z", "2026-01-31T10:20:00Z"} {
		for range 3 {
			s.CacheSecrets(t.Context(), failedPod(t, used, began))
		}
	}
	if len(s.requests) != 2 {
		t.Errorf("got requests %q, want 2", s.requests)
	}
}
