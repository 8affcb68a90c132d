package watcher

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

var (
	errNoAnswer   = errors.New("the server does not answer")
	errShortWatch = errors.New("the server ends the watch at once")
	errCutSync    = errors.New("the server ended the watch before its initial events were complete")
	errSilentSync = errors.New("the server does not end its initial events")
)

// stream is one watch as the informer sees it: it lives on over any number of
// connections.
type stream struct {
	resourceWire
	options metav1.ListOptions
	out     chan watch.Event
	// ctx ends with the session, or when the informer stops the stream.
	ctx     context.Context
	cancel  context.CancelFunc
	stopped chan struct{}
	stop    sync.Once

	// syncing: the initial events have not ended yet.
	syncing bool
	// from is the last resourceVersion seen, where the next connection goes on.
	from string
	// received: an event has come over this stream.
	received bool
	short    int
	backoff  *backoff
}

func newStream(r resourceWire, options metav1.ListOptions) *stream {
	ctx, cancel := context.WithCancel(r.wire.ctx)
	return &stream{
		resourceWire: r,
		options:      options,
		ctx:          ctx,
		cancel:       cancel,
		out:          make(chan watch.Event),
		stopped:      make(chan struct{}),
		syncing:      options.SendInitialEvents != nil && *options.SendInitialEvents,
		from:         options.ResourceVersion,
		backoff:      newBackoff(),
	}
}

// ResultChan implements watch.Interface.
func (s *stream) ResultChan() <-chan watch.Event { return s.out }

// Stop implements watch.Interface. It does not wait.
func (s *stream) Stop() {
	s.stop.Do(func() {
		s.cancel()
		close(s.stopped)
	})
}

// run serves the stream until the informer stops it. At the session's end it
// falls silent but stays open: a closed stream would make the informer ask
// again.
func (s *stream) run() {
	defer close(s.out)
	defer s.cancel()
	for s.serve() {
	}
	if s.wire.ctx.Err() != nil {
		<-s.stopped
	}
}

// serve is one connection, and the wait before the next. It reports whether
// there is to be a next.
func (s *stream) serve() bool {
	if s.syncing {
		s.wire.target.beginSync()
	}
	opened := time.Now()
	err := s.connect(s.ctx)
	switch {
	case s.ctx.Err() != nil:
		return false
	case err == nil && time.Since(opened) < shortWatch:
		// It served something, but a server that ends each watch at once must not
		// be asked as fast as it can answer.
		return s.backoff.wait(s.ctx, nil)
	case err == nil:
		return true
	}
	switch s.wire.target.judge(err, s.phase(), s.from != "") {
	case abort:
		s.wire.fail(err)
		return false
	case hand:
		s.send(s.ctx, watch.Event{Type: watch.Error, Object: status(err)})
		return false
	default:
		s.wire.lost(err)
		return s.backoff.wait(s.ctx, err) && !(s.syncing && s.received)
	}
}

func (s *stream) phase() phase {
	if s.syncing {
		return phaseSync
	}
	return phaseWatch
}

// connect watches over one connection, to its end. A connection that the server
// ended in good order returns nil.
func (s *stream) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := s.silence(cancel)
	defer silence.Stop()

	opened := time.Now()
	conn, err := s.ResourceInterface.Watch(ctx, s.request())
	if err != nil {
		return causeOr(ctx, err)
	}
	defer conn.Stop()
	events, err := s.relay(ctx, conn, silence)
	if err != nil {
		return causeOr(ctx, err)
	}
	return s.judgeEnd(events, time.Since(opened))
}

// request is what the informer asked for, from where the stream has come to.
func (s *stream) request() metav1.ListOptions {
	options := s.options
	options.ResourceVersion = s.from
	if !s.syncing {
		options.SendInitialEvents = nil
		options.ResourceVersionMatch = ""
	}
	return options
}

// silence ends a connection that says nothing in mid-sync.
func (s *stream) silence(cancel context.CancelCauseFunc) *time.Timer {
	t := time.AfterFunc(s.wire.target.syncSilence(), func() { cancel(errSilentSync) })
	if !s.syncing {
		t.Stop()
	}
	return t
}

// relay passes on the events of one connection. It returns their number.
func (s *stream) relay(ctx context.Context, conn watch.Interface, silence *time.Timer) (n int, err error) {
	lives := time.NewTimer(shortWatch)
	defer lives.Stop()
	for {
		select {
		case <-ctx.Done():
			return n, context.Cause(ctx)
		case <-lives.C:
			if !s.syncing {
				s.answered()
			}
		case e, open := <-conn.ResultChan():
			if !open {
				return n, nil
			}
			silence.Stop() // a reader that stalls is no silence of the server
			if err := s.pass(ctx, e); err != nil {
				return n, err
			}
			if s.syncing {
				silence.Reset(s.wire.target.syncSilence())
			}
			n++
		}
	}
}

func (s *stream) noteAnswer() {
	s.received = true
	s.short = 0
	s.backoff.reset()
	s.answered()
}

// answered: the server serves this stream. That it took the request says
// nothing yet: that a resourceVersion is too old comes as the first event.
func (s *stream) answered() {
	if s.syncing {
		s.wire.answered("")
	} else {
		s.wire.answered(s.from)
	}
}

// judgeEnd tells a watch that ended in good order from one that never worked.
func (s *stream) judgeEnd(events int, lived time.Duration) error {
	switch {
	case s.syncing:
		return s.wire.cutSync()
	case events > 0 || lived >= shortWatch:
		s.short = 0
		return nil
	}
	s.short++
	if s.short >= shortWatches {
		return apierrors.NewResourceExpired(errShortWatch.Error())
	}
	return errShortWatch
}

// send hands e to the informer, unless the stream ends first.
func (s *stream) send(ctx context.Context, e watch.Event) error {
	select {
	case s.out <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// causeOr prefers the reason why ctx ended to the error that its end caused.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// status is err as the object of an ERROR event.
func status(err error) *metav1.Status {
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		s := api.Status()
		return &s
	}
	s := apierrors.NewInternalError(err).Status()
	return &s
}
