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

// retryWait is the wait before a request is made again whose connection was closed
// before an answer.
const retryWait = time.Second

// errClosed takes the place of the errors by which client-go knows such a request, and does not
// wrap them. client-go would make it ten times more, a second apart, and say nothing meanwhile;
// if it is for a watch, it would then take that for one that ended in good order.
var errClosed = errors.New("it closed the connection without an answer")

// retryClosed makes a request once more whose connection was closed before an answer, as by a
// server that restarts. If that happens again, the error is errClosed.
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

// isClosed reports what client-go takes for a reason to ask again, and the same seen
// by net/http in the middle of a write, or just before.
func isClosed(err error) bool {
	if err == nil {
		return false
	}
	return utilnet.IsProbableEOF(err) || utilnet.IsConnectionReset(err) || utilnet.IsHTTP2ConnectionLost(err) ||
		errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "server closed idle connection")
}
