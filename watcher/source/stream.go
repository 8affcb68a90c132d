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

	"dwatch/watcher/event"
)

var (
	errNoAnswer = errors.New("the server does not answer")
	// ErrStalled is the cause of a loss if the server did not end a watch in time and has sent nothing
	// for as long as the watch should have lasted.
	ErrStalled    = errors.New("stalled: the server has sent nothing for too long, renewing the watch")
	errShortWatch = errors.New("the server ends the watch at once")
	errCutSync    = errors.New("the server ended the watch before its initial events were complete")
)

// stream is one watch from the informer's point of view. It can span any number of connections. It
// is one type because each connection continues from the state that the previous one left.
type stream struct {
	resourceClient
	options metav1.ListOptions
	out     chan watch.Event
	// ctx ends with the session, or when the informer stops the stream.
	ctx     context.Context
	cancel  context.CancelFunc
	stopped chan struct{}
	stop    sync.Once

	syncing    bool   // the initial events are not complete
	resumeFrom string // the last resourceVersion received, where the next connection resumes
	// lost is true after a lost connection until the server's current resourceVersion has been
	// checked. unchecked counts the failed checks.
	lost      bool
	unchecked int
	received  bool // the stream has received an event
	short     int  // consecutive connections that the server ended immediately
	backoff   Backoff
	proof     proof
	// noBookmarks is true if the server is not expected to send bookmarks.
	noBookmarks bool
}

func newStream(r resourceClient, options metav1.ListOptions) *stream {
	ctx, cancel := context.WithCancel(r.session.ctx)
	syncing := options.SendInitialEvents != nil && *options.SendInitialEvents
	if syncing {
		options.ResourceVersion = "" // requests the current state, as for lists
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
		noBookmarks:    hasNoBookmarks(r.session.target.Resource().GroupResource()),
	}
}

func (s *stream) ResultChan() <-chan watch.Event { return s.out }

func (s *stream) Stop() {
	s.stop.Do(func() {
		s.cancel()
		close(s.stopped)
	})
}

// run serves the stream until the informer stops it, has to act on an error, or the session ends. At
// the end of the session, it closes out only when the informer has stopped the stream, because the
// informer would otherwise start another watch.
func (s *stream) run() {
	defer close(s.out)
	defer s.cancel()
	for s.serve() {
	}
	if s.session.ctx.Err() != nil {
		<-s.stopped
	}
}

// serve runs one connection and waits before the next one. It returns false if there should be
// none.
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
		// The server did not fail, but one that ends each watch immediately must not be asked in a
		// tight loop.
		return s.backoff.Wait(s.ctx, nil)
	case err == nil:
		return true
	}
	switch classify(err, s.syncing, s.session.HasServerResponded(), s.resumeFrom != "") {
	case abort:
		s.session.fail(err)
		return false
	case relist:
		if errors.Is(err, event.ErrSilentSync) {
			s.session.reportLoss(err)
		}
		s.send(s.ctx, watch.Event{Type: watch.Error, Object: status(err)})
		return false
	default:
		s.session.drain(s.ctx) // observe earlier events before the loss
		s.session.reportLoss(err)
		s.lost, s.proof = true, proof{}
		return s.backoff.Wait(s.ctx, err) && !(s.syncing && s.received)
	}
}

func (s *stream) noteEvent() {
	s.session.noteHeard()
	s.received = true
	s.short = 0
	s.backoff.Reset()
	s.noteConnected()
}

// noteConnected records that the server serves this stream. The response to the request is not
// enough, because an expired resourceVersion is reported by the first event.
func (s *stream) noteConnected() {
	from := s.resumeFrom
	if s.syncing {
		from = ""
	}
	s.session.noteConnected(from)
}

// checkCurrentVersion returns the server's current resourceVersion, or an empty string if it is
// unknown. It returns an error if that is older than the one from which the watch resumes. The
// server has then lost changes, for example because etcd was restored from a backup, and would send
// nothing until it reaches that version. After a loss, a failed request is also an error, unless
// the server refuses the request or it has failed maxUnchecked times.
func (s *stream) checkCurrentVersion(ctx context.Context) (resourceVersion string, err error) {
	present, err := s.currentVersion(ctx)
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

// currentVersion requests the server's current resourceVersion.
func (s *stream) currentVersion(ctx context.Context) (resourceVersion string, err error) {
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

// maxUnchecked is the number of consecutive failed checks after which a watch resumes without one.
const maxUnchecked = 3

func (s *stream) send(ctx context.Context, e watch.Event) error {
	select {
	case s.out <- e:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// causeOr returns the reason why ctx ended, or err if it has not ended.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// status converts err to the object of an ERROR event.
func status(err error) *metav1.Status {
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		s := api.Status()
		return &s
	}
	s := apierrors.NewInternalError(err).Status()
	return &s
}
