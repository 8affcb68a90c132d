package source

import (
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/codec"
	"dwatch/watcher/event"
)

// session runs one informer of a source. It is the informer's client and its handler.
type session struct {
	*Source
	// ctx ends with the session. It is stored because the contexts that client-go passes to List and
	// Watch end later, when the informer is stopped.
	ctx  context.Context
	fail context.CancelCauseFunc

	// calls counts the informer's open watches and lists. At its end, the session acquires the
	// whole semaphore, which waits for all calls and prevents new ones. client-go's reflector does
	// not wait for a list in progress when it is stopped.
	calls *semaphore.Weighted
	// inFlight counts the events after the list that the informer has received and its handler has
	// not.
	inFlight       *semaphore.Weighted
	factory        dynamicinformer.DynamicSharedInformerFactory
	informer       informers.GenericInformer
	initialHandled <-chan struct{} // closed when the handler has received the first list
	stop           chan struct{}

	// unpaged is true if the continue token of a list expired. The informer's pager then requests
	// all objects in one list and ignores the continue token of the response. Only List uses it.
	unpaged bool
	cuts    atomic.Int32 // consecutive initial events that were interrupted
	// positions are the positions of the objects in the list of a snapshot, because a store has no order.
	positions map[types.NamespacedName]int
	// syncBegan is when the current or most recent list began.
	syncBegan time.Time
}

// unlimited is the size of a semaphore that counts, but does not limit.
const unlimited = math.MaxInt64

// drainTimeout is how long drain waits for the informer to pass on its events. That usually takes
// milliseconds, because the handler never blocks. The limit prevents an informer that loses an event
// from blocking the session forever.
const drainTimeout = 5 * time.Second

// Run watches until ctx ends or the session fails. Before it returns the cause, it observes
// everything that it has received, and waits for everything that it has started.
func (s *Source) Run(ctx context.Context) error {
	return s.runSession(ctx, func(*session) error { return nil })
}

// errListed ends a session because its list is complete.
var errListed = errors.New("listed")

// List runs a session until the informer has synced, and returns the objects of its store, in
// the server's order. It requires Options.Snapshot.
func (s *Source) List(ctx context.Context) (objects []event.Object, err error) {
	err = s.runSession(ctx, func(sess *session) error {
		if objects, err = sess.listStore(); err != nil {
			return err
		}
		return errListed
	})
	if err == errListed {
		return objects, nil
	}
	return nil, err
}

// runSession runs one session. It calls synced when the informer has synced. An error of synced
// ends the session.
func (s *Source) runSession(ctx context.Context, synced func(*session) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	sess, err := s.newSession(ctx, fail)
	if err != nil {
		return fmt.Errorf("watch %s: %w", s.target.Resource(), err)
	}
	s.observer.Observe(Observation{Kind: SessionBegan})
	sess.factory.Start(sess.stop)
	defer sess.shutdown()
	select {
	case <-sess.initialHandled:
		if err := synced(sess); err != nil {
			fail(err)
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	sess.drain(context.WithoutCancel(ctx))
	return context.Cause(ctx)
}

func (s *Source) newSession(ctx context.Context, fail context.CancelCauseFunc) (*session, error) {
	s.synced.Store(false)
	sess := &session{
		Source: s, ctx: ctx, fail: fail, stop: make(chan struct{}),
		calls: semaphore.NewWeighted(unlimited), inFlight: semaphore.NewWeighted(unlimited),
		positions: map[types.NamespacedName]int{},
	}
	sess.factory = dynamicinformer.NewFilteredDynamicSharedInformerFactory(sess, 0, s.target.Namespace, s.options.tweakFor(s.target))
	sess.informer = sess.factory.ForResource(s.target.Resource())
	informer := sess.informer.Informer()
	if !s.options.Snapshot {
		if err := informer.SetTransform(transform); err != nil {
			return nil, err
		}
	}
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: sess.handle, UpdateFunc: func(_, obj any) { sess.handle(obj) }, DeleteFunc: sess.handle,
	})
	if err != nil {
		return nil, err
	}
	sess.initialHandled = handler.HasSyncedChecker().Done()
	return sess, nil
}

// beginSync observes SyncBegan. Before that, it waits until earlier events have been observed,
// because they must precede the objects of the list. The list also fulfills a pending request for a
// relist.
func (s *session) beginSync(ctx context.Context) {
	s.drain(ctx)
	select {
	case <-s.relist:
	default:
	}
	s.syncBegan = time.Now()
	s.observer.Observe(Observation{Kind: SyncBegan})
}

// drain waits until every event that the informer received after the list has been observed.
// Otherwise, the informer would drop the rest when it stops. It returns false if that took longer
// than drainTimeout or ctx ended.
func (s *session) drain(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if s.inFlight.Acquire(ctx, unlimited) != nil {
		return false
	}
	s.inFlight.Release(unlimited)
	return true
}

// shutdown stops the informer and waits for everything that the session started.
func (s *session) shutdown() {
	close(s.stop)
	s.factory.Shutdown()
	s.calls.Acquire(context.Background(), unlimited) // never fails, because the context does not end
}

func keyOf(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// listStore returns the objects of the store through the generic lister, in the server's order.
func (s *session) listStore() ([]event.Object, error) {
	t := s.target
	var items []runtime.Object
	var err error
	// The server has applied the label selector. The store does not know the labels.
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
	slices.SortFunc(objects, func(a, b event.Object) int {
		return s.positions[keyOf(a.Namespace, a.Name)] - s.positions[keyOf(b.Namespace, b.Name)]
	})
	return objects, nil
}
