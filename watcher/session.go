package watcher

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// session is one life of a target's informer. A factory has one namespace and
// one stop channel, an informer never restarts: so each session has its own.
type session struct {
	target   *target
	wire     *wire
	factory  dynamicinformer.DynamicSharedInformerFactory
	informer informers.GenericInformer
	stop     chan struct{}
}

// session watches until ctx ends or the wire fails, tells what has been
// received by then, and returns the cause.
func (t *target) session(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := t.newSession(ctx, fail)
	handler, err := s.handle()
	if err != nil {
		return fmt.Errorf("watch %s: %w", t.Resource(), err)
	}
	s.factory.Start(s.stop)
	defer s.end()
	select {
	case <-handler.HasSyncedChecker().Done():
		t.settle()
		if t.synced != nil {
			t.synced(s)
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	t.drain()
	return context.Cause(ctx)
}

func (t *target) newSession(ctx context.Context, fail context.CancelCauseFunc) *session {
	t.mu.Lock()
	t.settled = false
	t.cargo = map[cargoKey]cargo{}
	t.mu.Unlock()
	s := &session{
		target: t,
		wire:   &wire{Interface: t.client, target: t, ctx: ctx, fail: fail},
		stop:   make(chan struct{}),
	}
	s.factory = dynamicinformer.NewFilteredDynamicSharedInformerFactory(s.wire, 0, t.Namespace, t.tweak)
	s.informer = s.factory.ForResource(t.Resource())
	return s
}

// handle makes the target the handler of the informer.
func (s *session) handle() (cache.ResourceEventHandlerRegistration, error) {
	informer := s.informer.Informer()
	if !s.target.options.KeepContent {
		if err := informer.SetTransform(slim); err != nil {
			return nil, err
		}
	}
	return informer.AddEventHandler(s.target)
}

// slim makes of an object without content what takes least memory in the
// informer's store: one struct, where maps take three times as much.
func slim(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil // client-go does it twice, and to tombstones
	}
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: u.GetAPIVersion(), Kind: u.GetKind()},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       u.GetNamespace(),
			Name:            u.GetName(),
			UID:             u.GetUID(),
			ResourceVersion: u.GetResourceVersion(),
		},
	}, nil
}

// tweak narrows each request to what the target asks for.
func (t *target) tweak(options *metav1.ListOptions) {
	options.LabelSelector = t.options.LabelSelector
	options.FieldSelector = t.fieldSelector()
}

func (t *target) fieldSelector() string {
	if t.Name == "" {
		return t.options.FieldSelector
	}
	name := fields.OneTermEqualSelector(metav1.ObjectNameField, t.Name).String()
	if t.options.FieldSelector == "" {
		return name
	}
	return t.options.FieldSelector + "," + name
}

// end stops the informer and waits for all that the session started.
func (s *session) end() {
	close(s.stop)
	s.factory.Shutdown()
	s.wire.calls.close()
}
