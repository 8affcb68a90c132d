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

// With Options.Verify each target is compared, again and again, with what the server names when it is
// asked for all that there is. What differs may be on its way: it was missed if it still differs when
// the watch has come to where the server was. So deletions are noted from before the server is asked,
// and the source observes where the watch has come to. What was missed is found by listing all anew,
// and reported as after a gap.

// Verification is what came of comparing what was reported of a target with what the server has.
type Verification struct {
	Target event.Target
	Count  int                // of the objects that the server named
	Missed []cache.ObjectName // whose last state, or deletion, was not reported
	Err    error              // it could not be compared, or not be known
}

// Named returns what the server names of a target, when it is asked, with nothing but its identity.
func (w *Watcher) ListIdentities(ctx context.Context, t event.Target) ([]*event.Identity, error) {
	of := source.Options{Request: w.options.Request}
	named, _, err := of.ListIdentities(ctx, w.metadata, t)
	return named, err
}

var (
	errNotReached = errors.New("the watch has not come to where the server was")
	errNotOrdered = errors.New("the server's resourceVersions can't be compared")
)

// verification is what goes on of one, of a target. Only the loop looks inside.
type verification struct {
	asked  chan<- event.Target // gets what the server is to be asked for; closed without if it is not
	named  []*event.Identity   // until it is compared: it takes memory
	count  int                 // of what was named
	at     string              // the resourceVersion
	err    error
	began  time.Time
	relist func()
}

// verifyPatience is how long a watch may take to come to where the server was: servers send a bookmark
// each minute, and before they end a watch.
const verifyPatience = 5 * time.Minute

// verify compares a target again and again, until ctx ends. At one time the server names the objects
// of one target, which take memory.
func (l *life) verify(ctx context.Context) {
	for tick := time.NewTicker(l.options.VerifyInterval); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case l.verifying <- struct{}{}:
		}
		l.compare(ctx)
		<-l.verifying
	}
}

func (l *life) compare(ctx context.Context) {
	asked := make(chan event.Target, 1)
	l.note(note{of: l.target, what: verifying, verification: &verification{asked: asked}})
	v := &verification{began: time.Now(), relist: l.source.Relist}
	select {
	case <-ctx.Done():
		return
	case t, is := <-asked:
		if !is {
			return
		}
		v.named, v.at, v.err = l.run.source.ListIdentities(ctx, l.metadata, t)
	}
	if ctx.Err() == nil {
		l.note(note{of: l.target, what: compared, verification: v})
	}
}

// beginVerification opens a check, unless it would say nothing: what exists is not known, or the
// connection is lost.
func (t *target) beginVerification(v *verification) {
	defer close(v.asked)
	switch {
	case t.checking != nil && time.Since(t.checking.began) < verifyPatience:
		return
	case t.checking != nil:
		t.endVerification(errNotReached)
	}
	if t.progress.phase == live && t.progress.loss == "" {
		t.relisted = false
		t.ledger.BeginCheck()
		v.asked <- t.Target
	}
}

// compare takes what the server named.
func (t *target) compare(v *verification) {
	if t.relisted {
		t.abandonVerification()
		return
	}
	t.checking = v
	named := v.named
	v.count, v.named = len(named), nil
	_, err := resourceversion.CompareResourceVersion(v.at, v.at)
	switch {
	case v.err != nil:
		t.endVerification(v.err)
	case err != nil:
		t.endVerification(fmt.Errorf("%w: %w", errNotOrdered, err))
	case t.ledger.Compare(named, v.at) == 0:
		t.endVerification(nil)
	default:
		t.reach(t.reached)
	}
}

// noteReached notes where the watch has come to by an observation.
func (t *target) noteReached(o *source.Observation) {
	switch o.Kind {
	case source.Changed:
		t.reach(o.Object.ResourceVersion)
	case source.SyncEnded, source.Progressed:
		t.reach(o.ResourceVersion)
	}
}

// reach ends a verification when all has been observed that had happened when the server named what
// there was.
func (t *target) reach(resourceVersion string) {
	if t.verified == nil || resourceVersion == "" {
		return
	}
	if t.reached = resourceVersion; t.checking == nil {
		return
	}
	if order, err := resourceversion.CompareResourceVersion(resourceVersion, t.checking.at); err == nil && order >= 0 {
		t.endVerification(nil)
	}
}

// abandonVerification ends one without a result, as all is listed anew: of what was named before, some may have been deleted since
// without ever having been reported, which a gap says.
func (t *target) abandonVerification() {
	t.checking, t.relisted = nil, true
	t.ledger.EndCheck()
}

func (t *target) endVerification(err error) {
	v := t.checking
	t.checking = nil
	result := Verification{Target: t.Target, Count: v.count, Err: err}
	if missed := t.ledger.EndCheck(); err == nil {
		result.Missed = missed
	}
	t.verified(result)
	if len(result.Missed) > 0 {
		v.relist()
	}
}
