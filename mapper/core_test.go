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

// withoutCore answers 404 where the core group is asked for, as a proxy may.
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

// TestNoCore: that the core group is not named does not mean that there is none. Who
// takes it for that reports the deletion of all that is in it.
func TestNoCore(t *testing.T) {
	config := admin(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return withoutCore{next} })
	m := New(client(t, config))
	core := schema.GroupVersion{Version: "v1"}
	answer, err := m.Resolve(t.Context(), "pods")
	if _, unknown := errors.AsType[*UnknownError](err); !unknown || !slices.Contains(answer.FailedGroups, core) {
		t.Errorf("pods: %v, unsure of %v", err, answer.FailedGroups)
	}
	answer, err = m.Resolve(t.Context(), "deploy")
	if err != nil || !slices.Contains(answer.FailedGroups, core) {
		t.Errorf("deploy: %v, unsure of %v", err, answer.FailedGroups)
	}
}
