package source

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// action is what is done about a failed request.
type action uint8

const (
	retry  action = iota // ask again after a while; the informer does not notice
	relist               // give the informer the error: it relists
	abort                // end the session with the error
)

// classify says what to do about the failure of a request. Before the first answer of the server
// nothing is retried, so that a wrong address, user or selector ends a session at once.
//
// syncing: it was for a watch that streams the initial events. resumed: it went on from a
// resourceVersion or a continue token; only then can that be too old. To the informer an expiry is
// a reason to ask again at once, so it is not given one that comes again.
func classify(err error, syncing, answered, resumed bool) action {
	switch {
	case apierrors.IsNotFound(err):
		// The resource is not served (any more): it has to be resolved again.
		return abort
	case isExpired(err) && resumed:
		return relist
	case syncing && isUnsupported(err):
		// No initial events, or a bad request: the list that the informer asks for now will show.
		return relist
	case errors.Is(err, errSilentSync):
		return relist
	case !answered:
		return abort
	default:
		return retry
	}
}

// isExpired: the resourceVersion, or the continue token, is too old or not known to the server
// (kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses).
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// isUnsupported: the server rejects the form of the request, as those without WatchList do, by 422
// (KEP-3157).
func isUnsupported(err error) bool {
	switch status(err).Code {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// isRefused: the server does not answer such a request, however often it is asked.
func isRefused(err error) bool {
	code := status(err).Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusTooManyRequests
}

// Backoff is the wait between two tries: from half a second, doubling, up to 30 seconds, with
// jitter so that many watchers of a server that returns do not come all at once.
type Backoff struct{ next wait.Backoff }

// Reset makes the next wait the first, as it is for the zero value.
func (b *Backoff) Reset() { *b = Backoff{} }

// Wait waits for the next try, longer if the server said so in err; false: ctx ended first.
func (b *Backoff) Wait(ctx context.Context, err error) bool {
	if b.next.Duration == 0 {
		b.next = wait.Backoff{Duration: 400 * time.Millisecond, Factor: 2, Jitter: 0.5, Steps: 8, Cap: 20 * time.Second}
	}
	delay := b.next.Step()
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		delay = max(delay, time.Duration(seconds)*time.Second)
	}
	select {
	case <-time.After(delay):
		return true
	case <-ctx.Done():
		return false
	}
}
