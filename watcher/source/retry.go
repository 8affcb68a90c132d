package source

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"dwatch/watcher/event"
)

// action is the reaction to a failed request.
type action uint8

const (
	retry  action = iota // retry after a wait, invisibly for the informer
	relist               // pass the error to the informer, which then lists all objects
	abort                // end the session with the error
)

// classify returns the reaction to a failed request. Before the server's first response, nothing is
// retried, so that a wrong address, user or selector ends a session immediately.
//
// syncing is true for a watch with initial events. resumed is true if the request has a
// resourceVersion or a continue token. Only then can an expiry be passed to the informer, which
// reacts by retrying immediately.
func classify(err error, syncing, answered, resumed bool) action {
	switch {
	case apierrors.IsNotFound(err):
		// The server does not serve the resource. Discovery has to find out why.
		return abort
	case isExpired(err) && resumed:
		return relist
	case syncing && isUnsupported(err):
		// The server does not support initial events, or the request is invalid. The list that
		// follows will show which.
		return relist
	case errors.Is(err, event.ErrSilentSync):
		return relist
	case !answered:
		return abort
	default:
		return retry
	}
}

// isExpired reports whether the resourceVersion or continue token is too old or unknown to the
// server (kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses).
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// isUnsupported reports whether the server rejects the form of the request. Servers without
// WatchList respond with 422 (KEP-3157).
func isUnsupported(err error) bool {
	switch status(err).Code {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// isRefused reports whether repeating the request would not help.
func isRefused(err error) bool {
	code := status(err).Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusTooManyRequests
}

// Backoff waits between attempts: about half a second at first, then twice as long each time, up to
// 30 seconds. Jitter spreads the requests of many watchers when a server returns. The zero value is
// ready to use.
type Backoff struct{ next wait.Backoff }

// Reset makes the next wait the first one again.
func (b *Backoff) Reset() { *b = Backoff{} }

// Wait waits before the next attempt, at least for the time that the server suggests in err. It
// returns false if ctx ended.
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
