package mapper

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// withoutCore answers requests for the core group with 404, as some proxies do.
type withoutCore struct{ next http.RoundTripper }

func (w withoutCore) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Path != "/api" {
		return w.next.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusNotFound,
		Header:     http.Header{"Content-Type": {"text/html"}},
		Body:       io.NopCloser(strings.NewReader("<h1>Not Found</h1>")),
		Request:    r,
	}, nil
}

// TestCoreGroupNotFound checks that a 404 for the core group counts as a failed group. If dwatch
// concluded that the group does not exist, it would report all its objects as deleted.
func TestCoreGroupNotFound(t *testing.T) {
	config := admin(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withoutCore{next} })
	m := New(client(t, config))
	core := schema.GroupVersion{Version: "v1"}
	answer, err := m.Resolve(t.Context(), "pods")
	if _, unknown := errors.AsType[*UnknownError](err); !unknown || !slices.Contains(answer.FailedGroups, core) {
		t.Errorf("pods: got error %v, failed groups %v, want an UnknownError and the core group", err, answer.FailedGroups)
	}
	answer, err = m.Resolve(t.Context(), "deploy")
	if err != nil || !slices.Contains(answer.FailedGroups, core) {
		t.Errorf("deploy: got error %v, failed groups %v, want no error and the core group", err, answer.FailedGroups)
	}
}
