package watcher

import (
	"errors"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestJudge(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	refused := &url.Error{Op: "Get", URL: "https://server", Err: syscall.ECONNREFUSED}
	tooLarge := apierrors.NewTimeoutError("too large", 1)
	tooLarge.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	for name, test := range map[string]struct {
		err                    error
		sync, list, watch      verdict
		syncRun, listRun, wRun verdict // after the start
	}{
		"refused":      {refused, abort, abort, abort, retry, retry, retry},
		"forbidden":    {apierrors.NewForbidden(pods, "", nil), abort, abort, abort, retry, retry, retry},
		"unauthorized": {apierrors.NewUnauthorized(""), abort, abort, abort, retry, retry, retry},
		"busy":         {apierrors.NewTooManyRequests("", 1), abort, abort, abort, retry, retry, retry},
		"internal":     {apierrors.NewInternalError(errors.New("")), abort, abort, abort, retry, retry, retry},
		"not found":    {apierrors.NewNotFound(pods, ""), abort, abort, abort, abort, abort, abort},
		"expired":      {apierrors.NewResourceExpired(""), hand, hand, hand, hand, hand, hand},
		"gone":         {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonGone, Code: 410}}, hand, hand, hand, hand, hand, hand},
		"too large":    {tooLarge, hand, hand, hand, hand, hand, hand},
		"no watchlist": {invalid, hand, abort, abort, hand, retry, retry},
		"bad selector": {apierrors.NewBadRequest(""), hand, abort, abort, hand, retry, retry},
		"silent":       {errSilentSync, hand, hand, hand, hand, hand, hand},
		"cut":          {errCutSync, abort, abort, abort, retry, retry, retry},
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []struct {
				p       phase
				started bool
				want    verdict
			}{
				{phaseSync, false, test.sync}, {phaseList, false, test.list}, {phaseWatch, false, test.watch},
				{phaseSync, true, test.syncRun}, {phaseList, true, test.listRun}, {phaseWatch, true, test.wRun},
			} {
				if got := judge(test.err, c.p, c.started, true); got != c.want {
					t.Errorf("phase %d, started %v: verdict %d, want %d", c.p, c.started, got, c.want)
				}
			}
		})
	}
}

// TestJudgeFreshExpiry: a request that goes on from nothing can't be too late.
func TestJudgeFreshExpiry(t *testing.T) {
	for _, p := range []phase{phaseSync, phaseList} {
		if got := judge(apierrors.NewResourceExpired(""), p, false, false); got != abort {
			t.Errorf("phase %d before the start: verdict %d", p, got)
		}
		if got := judge(apierrors.NewResourceExpired(""), p, true, false); got != retry {
			t.Errorf("phase %d after the start: verdict %d", p, got)
		}
	}
}
