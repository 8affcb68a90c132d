package run

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"dwatch/cli/lookup"
	"dwatch/watcher/event"
	"dwatch/watcher/object/status"
	"dwatch/watcher/until"
)

// causePoller waits at first for firstCause, and while the answer stays the same for up to lastCause, before it asks again.
const (
	firstCause = 2 * time.Second
	lastCause  = 16 * time.Second
)

// causePoller asks the server during the run why an object is not ready: a pod can fail without a change of its owner.
type causePoller struct {
	woken  chan struct{}
	cancel context.CancelFunc
	ended  chan struct{}
}

func newCausePoller(ctx context.Context, w *conditionStage) *causePoller {
	ctx, cancel := context.WithCancel(ctx)
	c := &causePoller{make(chan struct{}, 1), cancel, make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.run(ctx, w)
	}()
	return c
}

// wake makes it ask now, or as soon as it may ask again.
func (c *causePoller) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// stop ends the questions and waits for the last one.
func (c *causePoller) stop() {
	if c != nil {
		c.cancel()
		<-c.ended
	}
}

func (c *causePoller) run(ctx context.Context, w *conditionStage) {
	again := time.NewTimer(0)
	defer again.Stop()
	<-again.C
	for pause := firstCause; ; {
		select {
		case <-ctx.Done():
			return
		case <-c.woken:
			pause = firstCause
		case <-again.C:
		}
		reported, isWaiting := w.reportCause(ctx)
		switch {
		case !isWaiting:
			continue
		case reported:
			pause = firstCause
		}
		again.Reset(pause)
		pause = min(2*pause, lastCause)
		select { // at most once in that time, whatever changes
		case <-ctx.Done():
			return
		case <-time.After(reportInterval):
		}
	}
}

// reportCause asks why the first pending object is not ready, and reports a new answer. isWaiting is false if there is no such object.
func (w *conditionStage) reportCause(ctx context.Context) (reported, isWaiting bool) {
	w.mu.Lock()
	p, _ := w.firstPending()
	w.mu.Unlock()
	if p == nil || !needsCause(p.Object) {
		return false, false
	}
	asking, cancel := context.WithTimeout(ctx, lookup.Timeout)
	defer cancel()
	cause := w.cause(asking, *p)
	if cause.Pod != nil && w.run.cfg.Ending.Logs.Lines > 0 { // its logs may be shown later, when its Secrets are gone
		w.causeFinder(p.Target.Cluster).CacheSecrets(asking, cause.Pod)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, more := w.firstPending()
	if w.ended || w.outcome != nil || now == nil || ctx.Err() != nil {
		return false, false
	}
	if now.Object.UID != p.Object.UID {
		w.reportProgress() // of the other object
		return false, true
	}
	w.reportDenied(cause)
	before := w.last.text
	w.reportWaiting(w.because(*now, cause), more)
	return w.last.text != before, true
}

// reportDenied names once the resources that the user may not read.
func (w *conditionStage) reportDenied(c lookup.Cause) {
	if len(c.Denied) == 0 || w.denied {
		return
	}
	w.denied = true
	w.say(fmt.Sprintf("cannot look for causes in %s, which this user may not read: dwatch rbac prints a role that allows it", strings.Join(c.Denied, " and ")))
}

// needsCause reports whether an object is not ready and its status does not say why.
func needsCause(o event.Object) bool {
	u, err := o.Decode()
	if err != nil {
		return false
	}
	s := status.Of(u)
	return s.IsNotReady() && !s.SelfReported
}

// podCount matches the status of an object that has pods: InProgress: 0/2 pods available.
var podCount = regexp.MustCompile(` InProgress: (\d+/\d+) pods \w+$`)

// because describes a pending object with the cause.
func (w *conditionStage) because(p until.PendingItem, c lookup.Cause) string {
	text := w.describe(p)
	switch {
	case c.Text == "":
		return text
	case c.Object == "":
		return text + "; " + c.Text
	}
	return podCount.ReplaceAllString(text, " $1") + ": " + c.Object + " " + c.Text
}
