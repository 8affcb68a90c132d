package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// trips is a transport that returns the errors one after the other. It repeats the last one.
type trips struct {
	errs  []error
	count int
}

func (t *trips) RoundTrip(*http.Request) (*http.Response, error) {
	err := t.errs[min(t.count, len(t.errs)-1)]
	t.count++
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

func TestRetryClosed(t *testing.T) {
	other := errors.New("other")
	for name, test := range map[string]struct {
		method string
		errs   []error
		want   error
		count  int
	}{
		"success":                  {"GET", []error{nil}, nil, 1},
		"second succeeds":          {"GET", []error{io.EOF, nil}, nil, 2},
		"second fails":             {"GET", []error{io.EOF}, errClosed, 2},
		"reset":                    {"GET", []error{syscall.ECONNRESET}, errClosed, 2},
		"broken pipe":              {"GET", []error{syscall.EPIPE}, errClosed, 2},
		"idle":                     {"GET", []error{errors.New("http: server closed idle connection")}, errClosed, 2},
		"second has another error": {"GET", []error{io.ErrUnexpectedEOF, other}, other, 2},
		"other error":              {"GET", []error{other}, other, 1},
		"POST":                     {"POST", []error{io.EOF}, io.EOF, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				next := &trips{errs: test.errs}
				_, err := retryClosed{next}.RoundTrip(get(t, t.Context(), test.method))
				if !errors.Is(err, test.want) || next.count != test.count {
					t.Errorf("got error %v after %d requests, want %v after %d", err, next.count, test.want, test.count)
				}
			})
		})
	}
}

// TestClosedIsNotRetried checks that client-go does not retry after errClosed.
func TestClosedIsNotRetried(t *testing.T) {
	if isClosed(errClosed) || utilnet.IsTimeout(errClosed) {
		t.Errorf("client-go would retry after %q", errClosed)
	}
}

// TestRetryClosedEndsWithContext checks that there is no second request if the context has ended.
func TestRetryClosedEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		next := &trips{errs: []error{io.EOF}}
		cancel()
		if _, err := (retryClosed{next}).RoundTrip(get(t, ctx, "GET")); err != context.Canceled || next.count != 1 {
			t.Errorf("got error %v after %d requests, want %v after 1", err, next.count, context.Canceled)
		}
	})
}

func get(t *testing.T, ctx context.Context, method string) *http.Request {
	t.Helper()
	var body io.Reader
	if method == "POST" {
		body = strings.NewReader("body")
	}
	r, err := http.NewRequestWithContext(ctx, method, "https://server.invalid", body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
