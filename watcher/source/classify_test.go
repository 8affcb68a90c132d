package source

import (
	"errors"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestClassify(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	refused := &url.Error{Op: "Get", URL: "https://server", Err: syscall.ECONNREFUSED}
	tooLarge := apierrors.NewTimeoutError("too large", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	for name, test := range map[string]struct {
		err                    error
		sync, list, watch      action
		syncRun, listRun, wRun action // after the start
	}{
		"refused":      {refused, abort, abort, abort, retry, retry, retry},
		"forbidden":    {apierrors.NewForbidden(pods, "", nil), abort, abort, abort, retry, retry, retry},
		"unauthorized": {apierrors.NewUnauthorized(""), abort, abort, abort, retry, retry, retry},
		"busy":         {apierrors.NewTooManyRequests("", 1), abort, abort, abort, retry, retry, retry},
		"internal":     {apierrors.NewInternalError(errors.New("")), abort, abort, abort, retry, retry, retry},
		"not found":    {apierrors.NewNotFound(pods, ""), abort, abort, abort, abort, abort, abort},
		"expired":      {apierrors.NewResourceExpired(""), relist, relist, relist, relist, relist, relist},
		"gone":         {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone, Code: 410}}, relist, relist, relist, relist, relist, relist},
		"too large":    {tooLarge, relist, relist, relist, relist, relist, relist},
		"no watchlist": {invalid, relist, abort, abort, relist, retry, retry},
		"bad selector": {apierrors.NewBadRequest(""), relist, abort, abort, relist, retry, retry},
		"silent":       {errSilentSync, relist, relist, relist, relist, relist, relist},
		"cut":          {errCutSync, abort, abort, abort, retry, retry, retry},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				r       request
				started bool
				want    action
			}{
				{forSync, false, test.sync}, {forList, false, test.list}, {forWatch, false, test.watch},
				{forSync, true, test.syncRun}, {forList, true, test.listRun}, {forWatch, true, test.wRun},
			} {
				if got := classify(test.err, c.r, c.started, true); got != c.want {
					t.Errorf("request %d, started %v: action %d, want %d", c.r, c.started, got, c.want)
				}
			}
		})
	}
}

// TestClassifyFreshExpiry: a request that goes on from nothing can't be too late.
func TestClassifyFreshExpiry(t *testing.T) {
	for _, p := range []request{forSync, forList} {
		if got := classify(apierrors.NewResourceExpired(""), p, false, false); got != abort {
			t.Errorf("request %d before the start: action %d", p, got)
		}
		if got := classify(apierrors.NewResourceExpired(""), p, true, false); got != retry {
			t.Errorf("request %d after the start: action %d", p, got)
		}
	}
}
