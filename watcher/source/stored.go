package source

import (
	"bytes"

	"github.com/klauspost/compress/s2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/event"
	"dwatch/watcher/shallow"
)

// stored is an object in the informer's store: its identity, in one piece of
// memory, and what the handler is to be given with it. To client-go it is an object
// of which nothing but the identity is known.
type stored struct {
	*metav1.ObjectMeta // nothing: for what client-go does not ask for
	identity           event.Identity
	// packed is the object's content, where the store keeps that.
	packed []byte
	// content and attached are of what came after the sync, until the handler has been
	// given them; none but the handler looks.
	content  string
	attached *attachment
}

var (
	nothing metav1.ObjectMeta

	_ metav1.Object = (*stored)(nil)
)

func (s *stored) GetNamespace() string       { return s.identity.Namespace }
func (s *stored) GetName() string            { return s.identity.Name }
func (s *stored) GetUID() types.UID          { return s.identity.UID }
func (s *stored) GetResourceVersion() string { return s.identity.ResourceVersion }

// attachment goes with a live event through the informer, to its handler.
type attachment struct {
	// held is what the event holds of the gate.
	held int64
	// row is what the server shows of the object in a table.
	row string
}

// attachmentKey is where a shallow object on its way to the informer has its attachment.
const attachmentKey = "\x00attachment"

// transform is the informer's: it makes of an object what the store is to keep.
// client-go calls it twice for some objects.
func (s *session) transform(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	o := &stored{ObjectMeta: &nothing, identity: *shallow.Identity(u)}
	content := shallow.Content(u)
	if s.source.options.Keep == KeepContent {
		o.packed = s.pack(content)
	}
	if t, ok := u.Object[attachmentKey].(*attachment); ok {
		o.content, o.attached = content, t
	}
	return o, nil
}

// pack makes content small: to less than half, for some microseconds. It is called
// by the reflector, which does one thing at a time.
func (s *session) pack(content string) []byte {
	s.plain = append(s.plain[:0], content...)
	s.packed = s2.Encode(s.packed[:cap(s.packed)], s.plain)
	return bytes.Clone(s.packed)
}

// Content implements event.Kept.
func (s *stored) Content() string {
	content, err := s2.Decode(nil, s.packed)
	if err != nil {
		panic(err) // it was packed here
	}
	return string(content)
}

// open returns the object that the informer's store has as obj; the zero Object if
// that is none.
func open(obj any) event.Object {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return event.NewObject(shallow.Identity(obj), shallow.Content(obj)).WithRow(shallow.Row(obj))
	case *stored:
		if obj.content == "" && obj.packed != nil {
			return event.NewKept(&obj.identity, obj)
		}
		return event.NewObject(&obj.identity, obj.content)
	default:
		return event.Object{}
	}
}

// find returns what the store has under a key; the zero Object if that is nothing.
func (s *session) find(key string) event.Object {
	obj, _, _ := s.informer.Informer().GetStore().GetByKey(key) // it knows no error
	return open(obj)
}

// last returns what finds what the store has now, also when it has been replaced.
func (s *session) last() func(cache.ObjectName) event.Object {
	objects := s.informer.Informer().GetStore().List()
	var found map[cache.ObjectName]event.Object
	return func(name cache.ObjectName) event.Object {
		if found == nil {
			found = make(map[cache.ObjectName]event.Object, len(objects))
			for _, obj := range objects {
				o := open(obj)
				found[cache.ObjectName{Namespace: o.Namespace, Name: o.Name}] = o
			}
		}
		return found[name]
	}
}
