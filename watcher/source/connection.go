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
)

// phase is how far a connection has come. Each but the first has a deadline.
type phase uint8

const (
	phaseSync phase = iota + 1 // initial events come, each before the silence is too long
	// phaseYoung: the watch goes on from a known state. When it has lived for a moment that counts
	// as the server's answer, even if nothing comes.
	phaseYoung
	phaseLive // changes come, until the watch is renewed
)

// connection is one request of a stream, and all that comes of it. Each wait of it has a bound.
type connection struct {
	*stream
	opened time.Time
	// life is how long the watch is to be live. bounded: the server was asked to end it then.
	// patience is how much longer it may take to do so.
	life, patience time.Duration
	bounded        bool
	// heard is when the last event had been passed on, so that the wait for a slow reader does not
	// count as silence; zero before the first.
	heard   time.Time
	silence silence
	columns codec.Columns
	// again: the next watch, which is a short one, shows sooner how far behind the stream is.
	again bool

	phase    phase
	deadline *time.Timer // of the phase
}

// newConnection spreads the lives of watches, so that those which began together are not renewed
// together.
func newConnection(s *stream) *connection {
	least, now := s.session.options.MinWatchTimeout, time.Now()
	return &connection{
		stream:   s,
		opened:   now,
		life:     s.life((least + rand.N(least/3+1)).Round(time.Second)), // the server counts seconds
		bounded:  !s.syncing,
		patience: least / 6,
		silence:  silence{limit: s.session.options.SyncSilenceTimeout, since: now},
	}
}

// serve watches to the connection's end, and returns nil if that is in good order.
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

// open makes the request. The server has RequestTimeout to answer, in a sync no longer than for an
// event.
func (c *connection) open(ctx context.Context, cancel context.CancelCauseFunc) (watch.Interface, error) {
	patience, late := c.session.options.RequestTimeout, errNoAnswer
	if c.syncing && c.silence.limit < patience {
		patience, late = c.silence.limit, errSilentSync
	}
	deadline := time.AfterFunc(patience, func() { cancel(late) })
	defer deadline.Stop()
	conn, err := c.ResourceInterface.Watch(ctx, c.listOptions())
	if err != nil {
		return nil, err
	}
	c.session.hear()
	if c.syncing || !c.lost && !c.session.options.Bookmarks {
		return conn, nil
	}
	at := time.Now()
	present, err := c.checkPresent(ctx)
	if err != nil {
		conn.Stop()
		return nil, err
	}
	c.proof.noteAsked(at, present)
	c.lost, c.unchecked = false, 0
	return conn, nil
}

// listOptions are what the informer asked for, from where the stream has come to. A sync may take
// any time: the server is not asked to end it.
func (c *connection) listOptions() metav1.ListOptions {
	options := c.options
	options.ResourceVersion = c.resumeFrom
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
	asking, stop := context.WithCancel(ctx)
	ask := c.newQuestions()
	defer ask.end()
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
			if c.syncing { // it lists all
				continue
			}
			return apierrors.NewResourceExpired("all is to be listed anew")
		case <-ask.due.C:
			ask.ask(asking, c)
		case a := <-ask.answers:
			ask.answer(ctx, c, a)
		case e, open := <-conn.ResultChan():
			if !open {
				c.session.hear() // it was there until now
				return nil
			}
			if err := c.take(ctx, e); err != nil {
				return err
			}
		}
	}
}

// enter begins or prolongs a phase, which is to be over after d.
func (c *connection) enter(p phase, d time.Duration) {
	c.phase = p
	c.deadline.Reset(d)
}

func (c *connection) expire(ctx context.Context) error {
	switch c.phase {
	case phaseSync:
		return errSilentSync
	case phaseYoung:
		c.noteAnswer()
		c.prove(ctx, false)
		c.enter(phaseLive, time.Until(c.opened.Add(c.life+c.patience)))
		return nil
	default:
		if c.again {
			return errRenewed
		}
		return c.renew()
	}
}

// rechecked returns what ends a live watch. In a sync it has to wait.
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
		c.silence.heard(e)
	}
	if err := c.pass(ctx, e); err != nil {
		return err
	}
	c.heard = time.Now()
	if e.Type != watch.Bookmark {
		c.proof.moved = c.heard
		c.proof.noteChange(c.resumeFrom)
	}
	if !syncing {
		c.prove(ctx, e.Type == watch.Bookmark)
	}
	if !syncing && e.Type == watch.Bookmark {
		c.session.reach(ctx, c.resumeFrom)
	}
	switch {
	case c.syncing:
		c.enter(phaseSync, c.silence.wait())
	case syncing && c.session.options.Bookmarks:
		c.enter(phaseLive, shortWatch) // the next one shows how far behind it is
	case syncing:
		c.enter(phaseLive, c.life)
	}
	return nil
}

// errRenewed ends a watch so that the server has to answer again.
var errRenewed = errors.New("renewed")

// renew ends a watch that has lived long enough: only at the next one does a right that was taken
// away show, or a connection that is dead. One that the server was asked to end, and over which
// nothing came either, was dead.
func (c *connection) renew() error {
	if c.bounded && time.Since(c.heard) >= c.life {
		return ErrStalled
	}
	return errRenewed
}

// checkEnd returns an error for a watch that ended without having worked.
func (c *connection) checkEnd(lived time.Duration) error {
	switch {
	case c.syncing:
		return c.session.cutSync()
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
