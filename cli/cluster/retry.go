package cluster

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// retryWait is the delay before retryClosed repeats a request.
const retryWait = time.Second

// errClosed replaces the errors of a closed connection and does not wrap them. Otherwise client-go would silently retry ten
// more times, one second apart, and then treat a failed watch like one that ended normally.
var errClosed = errors.New("it closed the connection without an answer")

// retryClosed repeats a GET request once if its connection was closed before an answer, as by a server that restarts. If the
// second connection is closed, too, the error is errClosed.
type retryClosed struct{ next http.RoundTripper }

func (c retryClosed) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(r)
	if idempotent := r.Method == http.MethodGet && (r.Body == nil || r.Body == http.NoBody); !idempotent || !isClosed(err) {
		return answer, err
	}
	select {
	case <-time.After(retryWait):
	case <-r.Context().Done():
		return nil, context.Cause(r.Context())
	}
	if answer, err = c.next.RoundTrip(r); isClosed(err) {
		return nil, errClosed
	}
	return answer, err
}

// isClosed reports whether an error is one after which client-go retries, or the same condition as reported by net/http
// during or just before a write.
func isClosed(err error) bool {
	if err == nil {
		return false
	}
	return utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "server closed idle connection")
}
