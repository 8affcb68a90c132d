package watcher

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// connection is one request of a stream, and all that comes of it. No wait of it
// is without end: for the answer, for the next initial event, for anything at
// all once the watch is live.
type connection struct {
	*stream
	opened time.Time
	// life is how long the watch is to be live. bounded: the server was asked to
	// end it then. patience is how much longer it may take to do so.
	life, patience time.Duration
	bounded        bool
	// heard is when the server was last heard, or the reader last held us up.
	heard  time.Time
	events int
	// silence ends a sync without progress; nil if there is no sync.
	silence *silence
	// overdue fires when the server should have ended the watch.
	overdue *time.Timer
}

// newConnection spreads the lives of watches, so that those which began together
// are not renewed together.
func newConnection(s *stream) *connection {
	least := s.wire.target.watchLife()
	return &connection{
		stream:   s,
		opened:   time.Now(),
		heard:    time.Now(),
		life:     (least + rand.N(least/3+1)).Round(time.Second), // the server counts seconds
		bounded:  !s.syncing,
		patience: least / 6,
	}
}

// serve watches to the connection's end. An end in good order returns nil.
func (c *connection) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	noAnswer := time.AfterFunc(c.wire.target.listTimeout(), func() { cancel(errNoAnswer) })
	defer noAnswer.Stop()
	if c.syncing {
		c.silence = newSilence(c.wire.target.syncSilence(), func() { cancel(errSilentSync) })
		defer c.silence.stop()
	}
	conn, err := c.ResourceInterface.Watch(ctx, c.request())
	if err != nil {
		return causeOr(ctx, err)
	}
	defer conn.Stop()
	noAnswer.Stop()
	switch err := c.relay(ctx, conn); {
	case err == errPoked:
		return nil
	case err != nil:
		return causeOr(ctx, err)
	}
	return c.judgeEnd(time.Since(c.opened))
}

// request is what the informer asked for, from where the stream has come to. A
// sync takes as long as it takes: its end is not asked for.
func (c *connection) request() metav1.ListOptions {
	options := c.options
	options.ResourceVersion = c.from
	if !c.syncing {
		options.SendInitialEvents = nil
		options.ResourceVersionMatch = ""
		seconds := int64(c.life / time.Second)
		options.TimeoutSeconds = &seconds
	}
	return options
}

// relay passes on the events of the connection.
func (c *connection) relay(ctx context.Context, conn watch.Interface) error {
	lives := time.NewTimer(shortWatch)
	defer lives.Stop()
	c.overdue = time.NewTimer(c.life + c.patience)
	defer c.overdue.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-lives.C:
			if !c.syncing {
				c.answered()
			}
		case <-c.overdue.C:
			if !c.syncing {
				return c.renew()
			}
		case <-c.poked():
			return errPoked
		case e, open := <-conn.ResultChan():
			if !open {
				return nil
			}
			if err := c.take(ctx, e); err != nil {
				return err
			}
		}
	}
}

// poked returns what ends a live watch. In a sync it has to wait.
func (c *connection) poked() <-chan struct{} {
	if c.syncing {
		return nil
	}
	return c.wire.target.poked
}

// take passes on one event.
func (c *connection) take(ctx context.Context, e watch.Event) error {
	syncing := c.syncing
	if syncing {
		c.silence.heard(e)
	}
	if err := c.pass(ctx, e); err != nil {
		return err
	}
	c.events++
	c.heard = time.Now()
	switch {
	case c.syncing:
		c.silence.wait()
	case syncing:
		c.overdue.Reset(c.life)
	}
	return nil
}

// errPoked ends a watch so that the server has to answer anew.
var errPoked = errors.New("poked")

// renew ends a watch that has lived long enough: only at the next one does a
// right that was taken away show, or a connection that is dead. One that the server
// was asked to end, and over which nothing came either, was not what it seemed.
func (c *connection) renew() error {
	if c.bounded && time.Since(c.heard) >= c.life {
		return errStalled
	}
	return nil
}

// judgeEnd tells a watch that ended in good order from one that never worked.
func (c *connection) judgeEnd(lived time.Duration) error {
	switch {
	case c.syncing:
		return c.wire.cutSync()
	case c.events > 0 || lived >= shortWatch:
		c.short = 0
		return nil
	}
	c.short++
	if c.short >= shortWatches {
		return apierrors.NewResourceExpired(errShortWatch.Error())
	}
	return errShortWatch
}
