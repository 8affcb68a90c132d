package source

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
	errNoAnswer = errors.New("the server does not answer")
	// ErrStalled: nothing came over a watch in all its life, and the server did not
	// end it when it should have.
	ErrStalled    = errors.New("stalled: nothing has been heard for too long, so the watch is renewed")
	errShortWatch = errors.New("the server ends the watch at once")
	errCutSync    = errors.New("the server ended the watch before its initial events were complete")
	errSilentSync = errors.New("the server does not finish the initial events; listing what exists instead")
)

// stream is one watch as the informer sees it: it lives on over any number of
// connections.
type stream struct {
	resourceTap
	options metav1.ListOptions
	out     chan watch.Event
	// ctx ends with the session, or when the informer stops the stream.
	ctx     context.Context
	cancel  context.CancelFunc
	stopped chan struct{}
	stop    sync.Once

	// syncing: the initial events have not ended yet.
	syncing bool
	// resumeFrom is the last resourceVersion seen, where the next connection goes on.
	resumeFrom string
	// lost: the connection was lost, and since then the server has not said where it
	// is, so many times.
	lost      bool
	unchecked int
	// received: an event has come over this stream.
	received bool
	// short counts the connections in a row that the server ended at once.
	short   int
	backoff *Backoff
}

func newStream(r resourceTap, options metav1.ListOptions) *stream {
	ctx, cancel := context.WithCancel(r.tap.ctx)
	syncing := options.SendInitialEvents != nil && *options.SendInitialEvents
	if syncing {
		options.ResourceVersion = "" // the present state, as for lists
	}
	return &stream{
		resourceTap: r,
		options:     options,
		ctx:         ctx,
		cancel:      cancel,
		out:         make(chan watch.Event),
		stopped:     make(chan struct{}),
		syncing:     syncing,
		resumeFrom:  options.ResourceVersion,
		backoff:     NewBackoff(),
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
	if s.tap.ctx.Err() != nil {
		<-s.stopped
	}
}

// serve is one connection, and the wait before the next. It reports whether
// there is to be a next.
func (s *stream) serve() bool {
	if s.syncing {
		s.tap.session.beginSync(s.ctx)
	}
	opened := time.Now()
	err := newConnection(s).serve(s.ctx)
	switch {
	case s.ctx.Err() != nil:
		return false
	case err == nil && time.Since(opened) < shortWatch:
		// It served something, but a server that ends each watch at once must not
		// be asked as fast as it can answer.
		return s.backoff.Wait(s.ctx, nil)
	case err == nil:
		return true
	}
	switch classify(err, s.request(), s.tap.HasAnswer(), s.resumeFrom != "") {
	case abort:
		s.tap.fail(err)
		return false
	case relist:
		if errors.Is(err, errSilentSync) {
			s.tap.lost(err)
		}
		s.send(s.ctx, watch.Event{Type: watch.Error, Object: status(err)})
		return false
	default:
		s.tap.session.drain(s.ctx) // what came before the loss is observed before it
		s.tap.lost(err)
		s.lost = true
		return s.backoff.Wait(s.ctx, err) && !(s.syncing && s.received)
	}
}

func (s *stream) request() request {
	if s.syncing {
		return forSync
	}
	return forWatch
}

func (s *stream) noteEvent() {
	s.tap.hear()
	s.received = true
	s.short = 0
	s.backoff.Reset()
	s.noteAnswer()
}

// noteAnswer: the server serves this stream. That it took the request says
// nothing yet: that a resourceVersion is too old comes as the first event.
func (s *stream) noteAnswer() {
	if s.syncing {
		s.tap.noteAnswer("")
	} else {
		s.tap.noteAnswer(s.resumeFrom)
	}
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
