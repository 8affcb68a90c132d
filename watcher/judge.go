package watcher

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// phase is what a request that failed was for.
type phase int

const (
	phaseSync  phase = iota // a watch that streams the initial events
	phaseList               // a list, where the server streams none
	phaseWatch              // a watch from a known resourceVersion
)

// verdict is what is done about a failed request.
type verdict int

const (
	retry verdict = iota // ask again after a while, and tell the informer nothing
	hand                 // let the informer act: it lists anew
	abort                // end the session with the error
)

// judge classifies the failure of a request. Before the first answer of the
// server to the target nothing is retried, so that a wrong address, user or
// selector ends dwatch at once.
//
// resumed tells that the request went on from a resourceVersion or a continue
// token: only then can that be too old. To the informer an expiry is a reason to
// ask again at once, so it must not hear of one that asking again does not mend.
func judge(err error, p phase, started, resumed bool) verdict {
	switch {
	case apierrors.IsNotFound(err):
		// The resource is not served (any more): the target resolves it anew.
		return abort
	case isExpired(err) && resumed:
		return hand
	case p == phaseSync && isUnsupported(err):
		// No initial events from this server, or a bad request: the list that
		// the informer asks for now will tell.
		return hand
	case errors.Is(err, errSilentSync):
		return hand
	case !started:
		return abort
	default:
		return retry
	}
}

// isExpired: the resourceVersion, or the continue token, is too old or not known
// to the server (kubernetes.io/docs/reference/using-api/api-concepts/#410-gone-responses).
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// isUnsupported: the server rejects the form of the request. Servers without
// WatchList answer 422 (KEP-3157).
func isUnsupported(err error) bool {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		return false
	}
	switch api.Status().Code {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// isUsage: the request makes no sense, and never will.
func isUsage(err error) bool { return apierrors.IsBadRequest(err) || apierrors.IsInvalid(err) }

// lossType is the mark that a failure is told with.
func lossType(err error) Type {
	if apierrors.IsForbidden(err) {
		return Denied
	}
	return Disconnected
}
