package watcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// With Options.VerifyInterval, each target is compared with a fresh list from the server. A
// difference may still arrive over the watch. It counts as missed if it remains when the watch has
// reached the list's resourceVersion. The ledger therefore records deletions from before the list
// request, and the source reports the progress of the watch. If something was missed, all objects
// are listed again, and the changes are reported as after a gap.

// Verification is the result of comparing a target's reported objects with a list from the server.
type Verification struct {
	Target event.Target
	Count  int                // number of objects in the list
	Missed []cache.ObjectName // objects whose last state or deletion was not reported
	Err    error              // why the comparison has no result; nil if it has one
}

// ListIdentities lists the objects of a target and returns only their identities.
func (w *Watcher) ListIdentities(ctx context.Context, t event.Target) ([]*event.Identity, error) {
	options := source.Options{Request: w.options.Request}
	listed, _, err := options.ListIdentities(ctx, w.metadata, t)
	return listed, err
}

var (
	errWatchBehind = errors.New("the watch did not reach the resourceVersion of the list in time")
	errNotOrdered  = errors.New("the server's resourceVersions can't be compared")
)

// verification is one verification of a target. In msgVerify, only request is set, and in msgListed
// all other fields.
type verification struct {
	request         chan<- event.Target // receives the target to list; closed without a value if there is nothing to verify
	listed          []*event.Identity   // nil after the comparison, to free memory
	count           int                 // number of objects in the list, set by the loop
	resourceVersion string              // of the list
	err             error               // of the list
	began           time.Time
	relist          func()
}

// verifyTimeout is how long a watch may take to reach the resourceVersion of a list. Servers send a
// bookmark every minute and before they end a watch.
const verifyTimeout = 5 * time.Minute

// verifyRepeatedly verifies the target until ctx ends. Only one target at a time lists objects,
// because that takes memory.
func (r *runner) verifyRepeatedly(ctx context.Context) {
	for ticker := time.NewTicker(r.options.VerifyInterval); ; {
		select {
		case <-ctx.Done():
			ticker.Stop()
			return
		case <-ticker.C:
		}
		select {
		case <-ctx.Done():
			ticker.Stop()
			return
		case r.verifying <- struct{}{}:
		}
		r.verify(ctx)
		<-r.verifying
	}
}

// verify asks the loop for the target to list, lists it, and sends the list to the loop.
func (r *runner) verify(ctx context.Context) {
	request := make(chan event.Target, 1)
	r.send(message{target: r.target, kind: msgVerify, verification: &verification{request: request}})
	v := &verification{began: time.Now(), relist: r.source.Relist}
	select {
	case <-ctx.Done():
		return
	case t, ok := <-request:
		if !ok {
			return
		}
		v.listed, v.resourceVersion, v.err = r.runState.source.ListIdentities(ctx, r.metadata, t)
	}
	if ctx.Err() == nil {
		r.send(message{target: r.target, kind: msgListed, verification: v})
	}
}

// beginVerification requests a list, unless a comparison would have no result because the initial
// list is incomplete or the connection is lost, or unless an earlier verification is pending.
func (t *target) beginVerification(v *verification) {
	defer close(v.request)
	switch {
	case t.pending != nil && time.Since(t.pending.began) < verifyTimeout:
		return
	case t.pending != nil:
		t.endVerification(errWatchBehind)
	}
	if t.progress.phase == live && t.progress.loss == "" {
		t.relisted = false
		t.ledger.BeginCheck()
		v.request <- t.Target
	}
}

// compareListed compares the ledger with the list of v. If they differ, v is pending until the watch
// has reached the list's resourceVersion.
func (t *target) compareListed(v *verification) {
	if t.relisted {
		t.abandonVerification()
		return
	}
	t.pending = v
	listed := v.listed
	v.count, v.listed = len(listed), nil
	_, err := resourceversion.CompareResourceVersion(v.resourceVersion, v.resourceVersion)
	switch {
	case v.err != nil:
		t.endVerification(v.err)
	case err != nil:
		t.endVerification(fmt.Errorf("%w: %w", errNotOrdered, err))
	case t.ledger.Compare(listed, v.resourceVersion) == 0:
		t.endVerification(nil)
	default:
		t.advanceTo(t.reached)
	}
}

// noteProgress records the resourceVersion that the watch has reached with o.
func (t *target) noteProgress(o *source.Observation) {
	switch o.Kind {
	case source.Changed, source.Unreadable:
		t.advanceTo(o.Object.ResourceVersion)
	case source.SyncEnded, source.Progressed:
		t.advanceTo(o.ResourceVersion)
	}
}

// advanceTo records that the watch has reached resourceVersion. If that completes the pending
// verification, advanceTo ends it.
func (t *target) advanceTo(resourceVersion string) {
	if t.onVerified == nil || resourceVersion == "" {
		return
	}
	if t.reached = resourceVersion; t.pending == nil {
		return
	}
	if order, err := resourceversion.CompareResourceVersion(resourceVersion, t.pending.resourceVersion); err == nil && order >= 0 {
		t.endVerification(nil)
	}
}

// abandonVerification ends a verification without a result because all objects are listed again.
// Objects of the verification's list may have been deleted in between without a report. The Gap
// event covers them.
func (t *target) abandonVerification() {
	t.pending, t.relisted = nil, true
	t.ledger.EndCheck()
}

func (t *target) endVerification(err error) {
	v := t.pending
	t.pending = nil
	result := Verification{Target: t.Target, Count: v.count, Err: err}
	if missed := t.ledger.EndCheck(); err == nil {
		result.Missed = missed
	}
	t.onVerified(result)
	if len(result.Missed) > 0 {
		v.relist()
	}
}
