package source

import (
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/shallow"
)

// stored is an object in the informer's store: its identity, in one piece of
// memory, and what the handler is to be given with it. To client-go it is an object
// of which nothing but the identity is known.
type stored struct {
	*metav1.ObjectMeta // nothing: for what client-go does not ask for
	identity           event.Identity
	// content is the object's bytes. Where the store does not keep them they are
	// there until the handler has been given them; none but the handler looks.
	content string
	// ticket is nil but for what came after the sync, until the handler has been
	// given it.
	ticket *ticket
}

var (
	nothing metav1.ObjectMeta

	_ metav1.Object = (*stored)(nil)
)

func (s *stored) GetNamespace() string       { return s.identity.Namespace }
func (s *stored) GetName() string            { return s.identity.Name }
func (s *stored) GetUID() types.UID          { return s.identity.UID }
func (s *stored) GetResourceVersion() string { return s.identity.ResourceVersion }

// ticket goes with a live event through the informer. The informer may pass over
// the event (an object of a kind that it does not take, an unknown type): then its
// transform has not been asked, and nobody gives the ticket back but who wrote it.
type ticket struct {
	// held is what the event holds of the gate.
	held int64
	// taken: the informer has the event, and its handler will be given it.
	taken atomic.Bool
}

// ticketKey is where a shallow object on its way to the informer has its ticket.
const ticketKey = "\x00ticket"

// transform is the informer's: it makes of an object what the store is to keep.
// client-go calls it twice for some objects.
func (s *session) transform(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	o := &stored{ObjectMeta: &nothing, identity: *shallow.Identity(u), content: shallow.Content(u)}
	if t, ok := u.Object[ticketKey].(*ticket); ok {
		t.taken.Store(true)
		o.ticket = t
	}
	return o, nil
}

// open returns the object that the informer hands out as obj, and its ticket; the
// zero Object if it is none.
func open(obj any) (event.Object, *ticket) {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return event.NewObject(shallow.Identity(obj), shallow.Content(obj)), nil
	case *stored:
		return event.NewObject(&obj.identity, obj.content), obj.ticket
	default:
		return event.Object{}, nil
	}
}

// strip leaves in the store what it is to keep of obj, which the handler has been
// given.
func strip(obj any, keep Keep) {
	if o, ok := obj.(*stored); ok {
		o.ticket = nil
		if keep == KeepIdentity {
			o.content = ""
		}
	}
}
