package source

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

var (
	errNoAnswer = errors.New("the server does not answer")
	// ErrStalled: nothing came over a watch in all its life, and the server did not end it in time.
	ErrStalled    = errors.New("stalled: nothing has been heard for too long, so the watch is renewed")
	errShortWatch = errors.New("the server ends the watch at once")
	errCutSync    = errors.New("the server ended the watch before its initial events were complete")
	errSilentSync = errors.New("the server does not finish the initial events; listing what exists instead")
)

// stream is one watch as the informer sees it: it lives on over any number of connections.
type stream struct {
	resourceClient
	options metav1.ListOptions
	out     chan watch.Event
	// ctx ends with the session, or when the informer stops the stream.
	ctx     context.Context
	cancel  context.CancelFunc
	stopped chan struct{}
	stop    sync.Once

	syncing    bool   // the initial events have not ended yet
	resumeFrom string // the last resourceVersion seen, where the next connection goes on
	// lost: the connection was lost, and since then the server has not said where it is, so many
	// times.
	lost      bool
	unchecked int
	received  bool // an event
	short     int  // how many connections in a row the server ended at once
	backoff   Backoff
	proof     proof
}

func newStream(r resourceClient, options metav1.ListOptions) *stream {
	ctx, cancel := context.WithCancel(r.session.ctx)
	syncing := options.SendInitialEvents != nil && *options.SendInitialEvents
	if syncing {
		options.ResourceVersion = "" // the present state, as for lists
	}
	return &stream{
		resourceClient: r,
		options:        options,
		ctx:            ctx,
		cancel:         cancel,
		out:            make(chan watch.Event),
		stopped:        make(chan struct{}),
		syncing:        syncing,
		resumeFrom:     options.ResourceVersion,
	}
}

func (s *stream) ResultChan() <-chan watch.Event { return s.out }

func (s *stream) Stop() {
	s.stop.Do(func() {
		s.cancel()
		close(s.stopped)
	})
}

// run serves the stream until the informer stops it. At the session's end it falls silent but
// stays open: a closed stream would make the informer ask again.
func (s *stream) run() {
	defer close(s.out)
	defer s.cancel()
	for s.serve() {
	}
	if s.session.ctx.Err() != nil {
		<-s.stopped
	}
}

// serve is one connection, and the wait before the next. It reports whether there is to be a next.
func (s *stream) serve() bool {
	if s.syncing {
		s.session.beginSync(s.ctx)
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
	switch classify(err, s.syncing, s.session.HasServerResponded(), s.resumeFrom != "") {
	case abort:
		s.session.fail(err)
		return false
	case relist:
		if errors.Is(err, errSilentSync) {
			s.session.lost(err)
		}
		s.send(s.ctx, watch.Event{Type: watch.Error, Object: status(err)})
		return false
	default:
		s.session.drain(s.ctx) // what came before the loss is observed before it
		s.session.lost(err)
		s.lost, s.proof = true, proof{}
		return s.backoff.Wait(s.ctx, err) && !(s.syncing && s.received)
	}
}

func (s *stream) noteEvent() {
	s.session.hear()
	s.received = true
	s.short = 0
	s.backoff.Reset()
	s.noteAnswer()
}

// noteAnswer: the server serves this stream. That it took the request says nothing yet: that a
// resourceVersion is too old comes as the first event.
func (s *stream) noteAnswer() {
	from := s.resumeFrom
	if s.syncing {
		from = ""
	}
	s.session.noteAnswer(from)
}

// checkPresent returns an error if the server is at an older resourceVersion than the one from
// which the watch goes on: it has lost its past then, as when etcd was restored from a backup,
// and would keep silent up to that. Who may not list, or gets no answer again and again, has to
// do without. It returns where the server is, if that is known.
func (s *stream) checkPresent(ctx context.Context) (resourceVersion string, err error) {
	present, err := s.present(ctx)
	if err != nil && !s.lost {
		return "", nil
	}
	if err != nil {
		s.unchecked++
		if isRefused(err) || s.unchecked >= maxUnchecked {
			return "", nil
		}
		return "", err
	}
	if order, err := resourceversion.CompareResourceVersion(present, s.resumeFrom); err == nil && order < 0 {
		return "", apierrors.NewResourceExpired("the server is at an older resourceVersion than before")
	}
	return present, nil
}

// present asks the server where it is.
func (s *stream) present(ctx context.Context) (resourceVersion string, err error) {
	list, err := s.ResourceInterface.List(ctx, metav1.ListOptions{
		LabelSelector: s.options.LabelSelector,
		FieldSelector: s.options.FieldSelector,
		Limit:         1,
	})
	if err != nil {
		return "", err
	}
	return list.GetResourceVersion(), nil
}

// maxUnchecked is how often in a row the server may fail to say where it is.
const maxUnchecked = 3

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
