package cli

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

// How long nobody is asked again why an object is not ready: at first, and at most, while the
// answer is the same.
const (
	firstCause = 2 * time.Second
	lastCause  = 16 * time.Second
)

// causes asks the server, beside the run, why what is waited for is not ready: pods go wrong
// without a change of what owns them.
type causes struct {
	woken  chan struct{}
	cancel context.CancelFunc
	ended  chan struct{}
}

func askForCauses(ctx context.Context, w *wait) *causes {
	ctx, cancel := context.WithCancel(ctx)
	c := &causes{make(chan struct{}, 1), cancel, make(chan struct{})}
	go func() {
		defer close(c.ended)
		c.run(ctx, w)
	}()
	return c
}

// wake has it ask now, or as soon as it may ask again.
func (c *causes) wake() {
	select {
	case c.woken <- struct{}{}:
	default:
	}
}

// stop returns when nothing is asked any more.
func (c *causes) stop() {
	if c != nil {
		c.cancel()
		<-c.ended
	}
}

func (c *causes) run(ctx context.Context, w *wait) {
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
		said, isWaiting := w.sayCause(ctx)
		switch {
		case !isWaiting:
			continue
		case said:
			pause = firstCause
		}
		again.Reset(pause)
		pause = min(2*pause, lastCause)
		select { // not oftener than that, whatever changes
		case <-ctx.Done():
			return
		case <-time.After(progressEvery):
		}
	}
}

// sayCause asks why the first object that is waited for is not ready, and says so if that is
// something else than before. isWaiting: there is such an object.
func (w *wait) sayCause(ctx context.Context) (said, isWaiting bool) {
	w.mu.Lock()
	p, _ := w.firstPending()
	w.mu.Unlock()
	if p == nil || !needsCause(p.Object) {
		return false, false
	}
	asking, cancel := context.WithTimeout(ctx, lookup.Timeout)
	defer cancel()
	cause := w.cause(asking, *p)
	if cause.Pod != nil && w.ending.Logs.Lines > 0 { // of which the logs may be shown, when these are gone
		w.causesAt(p.Target.Cluster).CacheSecrets(asking, cause.Pod)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now, more := w.firstPending()
	if w.ended || w.outcome != nil || now == nil || ctx.Err() != nil {
		return false, false
	}
	if now.Object.UID != p.Object.UID {
		w.sayProgress() // of the other one
		return false, true
	}
	w.sayDenied(cause)
	before := w.said
	w.sayWaiting(w.because(*now, cause), more)
	return w.said != before, true
}

// sayDenied says once what may not be asked for.
func (w *wait) sayDenied(c lookup.Cause) {
	if len(c.Denied) == 0 || w.denied {
		return
	}
	w.denied = true
	w.say(fmt.Sprintf("why something is not ready is not looked for in %s, which this user may not read: dwatch rbac prints a role with that", strings.Join(c.Denied, " and ")))
}

// needsCause reports whether an object is not ready and does not say why.
func needsCause(o event.Object) bool {
	u, err := o.Decode()
	if err != nil {
		return false
	}
	s := status.Of(u)
	return s.IsNotReady() && !s.SelfReported
}

// ofPods is how far an object is that has pods: InProgress: 0/2 pods available.
var ofPods = regexp.MustCompile(` InProgress: (\d+/\d+) pods \w+$`)

// because describes what is waited for, with why it is not ready.
func (w *wait) because(p until.PendingItem, c lookup.Cause) string {
	text := w.describe(p)
	switch {
	case c.Text == "":
		return text
	case c.Object == "":
		return text + "; " + c.Text
	}
	return ofPods.ReplaceAllString(text, " $1") + ": " + c.Object + " " + c.Text
}
