package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// session is one run of a source's informer: its client, and its handler.
type session struct {
	*Source
	// ctx ends with the session. It is kept here as client-go's reflector lists with
	// context.Background().
	ctx  context.Context
	fail context.CancelCauseFunc

	// calls has room for any number of calls: the watches that the informer was given, and its
	// lists. The session's end takes all of the room: client-go's reflector leaves a list alone
	// that is on its way when it is stopped, so one may begin or be busy at any time.
	calls *semaphore.Weighted
	// inFlight has room for any number of events: those after the sync that the informer was given,
	// and its handler was not yet.
	inFlight *semaphore.Weighted
	factory  dynamicinformer.DynamicSharedInformerFactory
	informer informers.GenericInformer
	handled  <-chan struct{} // closed when the handler has been given all of the first sync
	stop     chan struct{}

	// unpaged: the pages of a list expired, and the informer's pager asks for all of it next. It
	// takes what it gets then for all, and follows no continue token. Only List looks at it.
	unpaged bool
	cuts    atomic.Int32 // the syncs in a row that broke off
	// syncBegan is when the sync began that goes on, or went on last.
	syncBegan time.Time
}

// anyNumber is the size of a semaphore that is waited for, and bounds nothing.
const anyNumber = math.MaxInt64

// drainPatience is how long an informer may take to pass on what it was given, which takes it
// milliseconds: its handler never waits. An informer that loses something must not hold up the end.
const drainPatience = 5 * time.Second

// Run watches until ctx ends or the session fails, observes what was received by then, and returns
// the cause. All that it started has ended then.
func (s *Source) Run(ctx context.Context) error {
	return s.runSession(ctx, func(*session) error { return nil })
}

// errListed is the cause with which a session ends because its work is done.
var errListed = errors.New("listed")

// List runs a session until the informer has synced, and returns what the generic lister has then,
// by namespace and name. It is for Options.Objects.
func (s *Source) List(ctx context.Context) (objects []event.Object, err error) {
	err = s.runSession(ctx, func(now *session) error {
		if objects, err = now.list(); err != nil {
			return err
		}
		return errListed
	})
	if err == errListed {
		return objects, nil
	}
	return nil, err
}

// runSession runs one session. synced is called when the informer has; its error ends the session.
func (s *Source) runSession(ctx context.Context, synced func(*session) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	now, err := s.newSession(ctx, fail)
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.target.Resource(), err)
	}
	s.observer.Observe(Observation{Kind: SessionBegan})
	now.factory.Start(now.stop)
	defer now.end()
	select {
	case <-now.handled:
		if err := synced(now); err != nil {
			fail(err)
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	now.drain(context.WithoutCancel(ctx))
	return context.Cause(ctx)
}

func (s *Source) newSession(ctx context.Context, fail context.CancelCauseFunc) (*session, error) {
	s.synced.Store(false)
	now := &session{
		Source: s, ctx: ctx, fail: fail, stop: make(chan struct{}),
		calls: semaphore.NewWeighted(anyNumber), inFlight: semaphore.NewWeighted(anyNumber),
	}
	now.factory = dynamicinformer.NewFilteredDynamicSharedInformerFactory(now, 0, s.target.Namespace, s.options.narrowTo(s.target))
	now.informer = now.factory.ForResource(s.target.Resource())
	informer := now.informer.Informer()
	if !s.options.KeepObjects {
		if err := informer.SetTransform(transform); err != nil {
			return nil, err
		}
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: now.handle, UpdateFunc: func(_, obj any) { now.handle(obj) }, DeleteFunc: now.handle,
	})
	if err != nil {
		return nil, err
	}
	now.handled = handler.HasSyncedChecker().Done()
	return now, nil
}

// beginSync observes that the server is to name all that there is. What the informer was given
// before is observed first, lest it come after what the sync shows. That all is to be listed is
// done by it.
func (s *session) beginSync(ctx context.Context) {
	s.drain(ctx)
	select {
	case <-s.relist:
	default:
	}
	s.syncBegan = time.Now()
	s.observer.Observe(Observation{Kind: SyncBegan})
}

// drain waits until all that the informer took after the sync has been observed: on its stop it
// would drop the rest. It reports whether that is so.
func (s *session) drain(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	if s.inFlight.Acquire(ctx, anyNumber) != nil {
		return false
	}
	s.inFlight.Release(anyNumber)
	return true
}

// end stops the informer and waits for all that the session started.
func (s *session) end() {
	close(s.stop)
	s.factory.Shutdown()
	s.calls.Acquire(context.Background(), anyNumber) // fails never
}

// list reads the store through the generic lister.
func (s *session) list() ([]event.Object, error) {
	t := s.target
	var items []runtime.Object
	var err error
	// The server has selected by the labels, of which the store knows nothing.
	if lister := s.informer.Lister(); t.Namespace == metav1.NamespaceAll {
		items, err = lister.List(labels.Everything())
	} else {
		items, err = lister.ByNamespace(t.Namespace).List(labels.Everything())
	}
	if err != nil {
		return nil, &event.TargetError{Target: t, Err: err}
	}
	objects := make([]event.Object, len(items))
	for i, item := range items {
		u := item.(*unstructured.Unstructured)
		objects[i] = event.NewObject(codec.IdentityOf(u), codec.Content(u)).WithRow(codec.TableRow(u))
	}
	// As the server sorts its keys, in which a slash follows the namespace.
	slices.SortFunc(objects, func(a, b event.Object) int {
		if a.Namespace == b.Namespace {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Compare(a.Namespace+"/", b.Namespace+"/")
	})
	return objects, nil
}
