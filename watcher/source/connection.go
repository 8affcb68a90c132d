package source

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// phase is the phase of a connection. Each phase has a deadline.
type phase uint8

const (
	phaseSync phase = iota + 1 // the server sends initial events; the deadline is the silence timeout
	// phaseYoung: the watch has resumed. If it survives for a moment, that counts as the server's
	// response, even without an event.
	phaseYoung
	phaseLive // the server sends changes, until the watch is renewed
)

// connection is one watch request of a stream and its events. Each wait for the server has a time
// limit.
type connection struct {
	*stream
	opened time.Time
	// life is how long the watch should be live. If bounded is true, the server is asked to end it
	// then, and patience is the additional time that it may take for that.
	life, patience time.Duration
	bounded        bool
	// heard is when the last event had been passed on, so that waiting for a slow Sink does not
	// count as silence. It is zero before the first event.
	heard time.Time
	// bookmarked is true after the first bookmark that follows the initial events.
	bookmarked bool
	silence    silence
	columns    codec.Columns
	// renewSoon is true if this watch should be replaced by a short one, which shows sooner whether
	// the stream has caught up.
	renewSoon bool

	phase    phase
	deadline *time.Timer // of the phase
}

// newConnection returns a connection that has not been opened. Its life is random, unless watchLife shortens
// it, so that watches that began together are not renewed together.
func newConnection(s *stream) *connection {
	least, now := s.session.options.MinWatchTimeout, time.Now()
	return &connection{
		stream:   s,
		opened:   now,
		life:     s.watchLife((least + rand.N(least/3+1)).Round(time.Second)), // the server expects seconds
		bounded:  !s.syncing,
		patience: least / 6,
		silence:  silence{limit: s.session.options.SyncSilenceTimeout, since: now},
	}
}

// serve opens the watch and relays its events until it ends. It returns nil if the watch worked
// until it ended.
func (c *connection) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn, err := c.open(ctx, cancel)
	if err != nil {
		return causeOr(ctx, err)
	}
	defer conn.Stop()
	switch err := c.relay(ctx, conn); {
	case err == errRenewed:
		return nil
	case err != nil:
		return causeOr(ctx, err)
	}
	return c.checkEnd(time.Since(c.opened))
}

// open sends the request, and checks the server's current resourceVersion if that is needed. The server has
// RequestTimeout for both, or the silence timeout if that is shorter and initial events are requested.
func (c *connection) open(ctx context.Context, cancel context.CancelCauseFunc) (watch.Interface, error) {
	patience, late := c.session.options.RequestTimeout, errNoAnswer
	if c.syncing && c.silence.limit < patience {
		patience, late = c.silence.limit, event.ErrSilentSync
	}
	deadline := time.AfterFunc(patience, func() { cancel(late) })
	defer deadline.Stop()
	conn, err := c.ResourceInterface.Watch(ctx, c.listOptions())
	if err != nil {
		return nil, err
	}
	c.session.noteHeard()
	if c.syncing || !c.lost && !c.session.options.Bookmarks {
		return conn, nil
	}
	at := time.Now()
	present, err := c.checkCurrentVersion(ctx)
	if err != nil {
		conn.Stop()
		return nil, err
	}
	c.proof.addProbe(at, present)
	c.lost, c.unchecked = false, 0
	return conn, nil
}

// listOptions returns the informer's options, changed to resume where the stream has arrived.
// Initial events may take any time, so the server is not asked to end them after the informer's timeout.
func (c *connection) listOptions() metav1.ListOptions {
	options := c.options
	options.ResourceVersion = c.resumeFrom
	options.TimeoutSeconds = nil
	if !c.syncing {
		options.SendInitialEvents = nil
		options.ResourceVersionMatch = ""
		seconds := int64(c.life / time.Second)
		options.TimeoutSeconds = &seconds
	}
	return options
}

func (c *connection) relay(ctx context.Context, conn watch.Interface) error {
	c.deadline = time.NewTimer(shortWatch)
	defer c.deadline.Stop()
	probing, stop := context.WithCancel(ctx)
	probes := c.newProber()
	defer probes.wait()
	defer stop()
	c.phase = phaseYoung
	if c.syncing {
		c.enter(phaseSync, c.silence.wait())
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.deadline.C:
			if err := c.expire(ctx); err != nil {
				return err
			}
		case <-c.rechecked():
			c.proof.restart()
			return errRenewed
		case <-c.session.relist:
			if c.syncing { // already listing
				continue
			}
			return apierrors.NewResourceExpired("a new list was requested")
		case <-probes.due.C:
			probes.send(probing, c)
		case a := <-probes.answers:
			probes.handle(ctx, c, a)
		case unchanged := <-probes.comparisons:
			probes.handleComparison(ctx, c, unchanged)
		case e, open := <-conn.ResultChan():
			if !open {
				c.session.noteHeard() // the end counts as a sign of the server, even if the connection was reset
				c.noBookmarks = c.noBookmarks || c.bounded && !c.bookmarked && time.Since(c.opened) > c.life-shortWatch
				return nil
			}
			if err := c.take(ctx, e); err != nil {
				return err
			}
		}
	}
}

// enter starts a phase, or extends the current one. Its deadline is after d.
func (c *connection) enter(p phase, d time.Duration) {
	c.phase = p
	c.deadline.Reset(d)
}

func (c *connection) expire(ctx context.Context) error {
	switch c.phase {
	case phaseSync:
		return event.ErrSilentSync
	case phaseYoung:
		c.noteConnected()
		c.prove(ctx, false)
		c.enter(phaseLive, time.Until(c.opened.Add(c.life+c.patience)))
		return nil
	default:
		if c.renewSoon {
			return errRenewed
		}
		return c.renew()
	}
}

// rechecked returns the channel of recheck signals. It returns nil during a list, which a recheck
// must not interrupt.
func (c *connection) rechecked() <-chan struct{} {
	if c.syncing {
		return nil
	}
	return c.session.recheck
}

func (c *connection) take(ctx context.Context, e watch.Event) error {
	syncing := c.syncing
	if u, ok := e.Object.(*unstructured.Unstructured); ok {
		c.columns.Complete(u)
		c.session.setType(u)
	}
	if syncing {
		c.silence.noteEvent(e)
	}
	if err := c.pass(ctx, e); err != nil {
		return err
	}
	c.heard = time.Now()
	if e.Type != watch.Bookmark {
		c.proof.lastEvent = c.heard
		c.proof.noteChange(c.resumeFrom)
	}
	if !syncing {
		c.prove(ctx, e.Type == watch.Bookmark)
	}
	if !syncing && e.Type == watch.Bookmark {
		c.bookmarked, c.noBookmarks = true, false
		c.session.observeProgress(ctx, c.resumeFrom)
	}
	switch {
	case c.syncing:
		c.enter(phaseSync, c.silence.wait())
	case syncing && c.session.options.Bookmarks:
		c.enter(phaseLive, shortWatch) // the next watch shows whether the stream has caught up
	case syncing:
		c.enter(phaseLive, c.life)
	}
	return nil
}

// errRenewed ends a watch so that the server has to answer a new request.
var errRenewed = errors.New("renewed")

// renew returns the error that ends a watch at the end of its life. Only the next request shows
// whether a permission was revoked. If the server did not end a bounded watch in time and has sent
// nothing for as long as its life, the connection is dead.
func (c *connection) renew() error {
	if c.bounded && time.Since(c.heard) >= c.life {
		return ErrStalled
	}
	return errRenewed
}

// checkEnd returns an error if a watch that the server ended had not worked.
func (c *connection) checkEnd(lived time.Duration) error {
	switch {
	case c.syncing:
		return c.session.noteCutSync()
	case !c.heard.IsZero() || lived >= shortWatch:
		c.short = 0
		return nil
	}
	c.short++
	if c.short >= shortWatches {
		return apierrors.NewResourceExpired(errShortWatch.Error())
	}
	return errShortWatch
}
