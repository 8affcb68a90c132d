package source

import (
	"errors"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

func TestClassify(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	refused := &url.Error{Op: "Get", URL: "https://server", Err: syscall.ECONNREFUSED}
	tooLarge := apierrors.NewTimeoutError("too large", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	for name, test := range map[string]struct {
		err               error
		sync, other       action
		syncRun, otherRun action // after the start
	}{
		"refused":      {refused, abort, abort, retry, retry},
		"forbidden":    {apierrors.NewForbidden(pods, "", nil), abort, abort, retry, retry},
		"unauthorized": {apierrors.NewUnauthorized(""), abort, abort, retry, retry},
		"busy":         {apierrors.NewTooManyRequests("", 1), abort, abort, retry, retry},
		"internal":     {apierrors.NewInternalError(errors.New("")), abort, abort, retry, retry},
		"not found":    {apierrors.NewNotFound(pods, ""), abort, abort, abort, abort},
		"expired":      {apierrors.NewResourceExpired(""), relist, relist, relist, relist},
		"gone":         {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone, Code: 410}}, relist, relist, relist, relist},
		"too large":    {tooLarge, relist, relist, relist, relist},
		"no watchlist": {invalid, relist, abort, relist, retry},
		"bad selector": {apierrors.NewBadRequest(""), relist, abort, relist, retry},
		"silent":       {event.ErrSilentSync, relist, relist, relist, relist},
		"cut":          {errCutSync, abort, abort, retry, retry},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				syncing, started bool
				want             action
			}{
				{true, false, test.sync}, {false, false, test.other}, {true, true, test.syncRun}, {false, true, test.otherRun},
			} {
				if got := classify(test.err, c.syncing, c.started, true); got != c.want {
					t.Errorf("syncing %v, started %v: action %d, want %d", c.syncing, c.started, got, c.want)
				}
			}
		})
	}
}

// TestClassifyExpiryAtStart checks that an expiry of a request without a resourceVersion is not
// passed to the informer.
func TestClassifyExpiryAtStart(t *testing.T) {
	for _, syncing := range []bool{true, false} {
		if got := classify(apierrors.NewResourceExpired(""), syncing, false, false); got != abort {
			t.Errorf("syncing %v, before the start: action %d", syncing, got)
		}
		if got := classify(apierrors.NewResourceExpired(""), syncing, true, false); got != retry {
			t.Errorf("syncing %v, after the start: action %d", syncing, got)
		}
	}
}
