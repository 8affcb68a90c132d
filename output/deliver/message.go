package deliver

import (
	"cmp"
	"strings"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// Message is one event, ready to be sent.
type Message struct {
	// ID is the same whenever the same event is sent again, by any run.
	ID       string
	Type     event.Type
	Resource schema.GroupVersionResource
	// Identity says which object it is about, and in which state.
	event.Identity
	// Subject is the object as people know it.
	Subject string
	// Time is when the event was seen.
	Time time.Time
	// Body is the event as it is printed, with a newline at its end.
	Body []byte

	queued  time.Time // when it came
	size    int64     // what it takes of the room, in memory
	initial bool      // it says of an ADDED object that it existed at the start
}

// overhead is what a message takes beside its body.
const overhead = 1 << 10

// newMessage returns an event as a message. It holds nothing of the event.
func newMessage(e *event.Event, body []byte, subject string) *Message {
	o := e.Object
	return &Message{
		ID:       idOf(e.Target.Resource().GroupResource(), o.Identity, e.Type),
		Type:     e.Type,
		Resource: e.Target.Resource(),
		Identity: event.Identity{
			APIVersion: strings.Clone(o.APIVersion), Kind: strings.Clone(o.Kind),
			Namespace: strings.Clone(o.Namespace), Name: strings.Clone(o.Name),
			UID: types.UID(strings.Clone(string(o.UID))), ResourceVersion: strings.Clone(o.ResourceVersion),
		},
		Subject: subject,
		Time:    e.Time,
		Body:    body,
		size:    int64(len(body)) + overhead,
		initial: e.Initial,
	}
}

// idOf is UID/RESOURCEVERSION/TYPE: one event, and no other one. An object that has no
// UID is known by its resource and name.
func idOf(r schema.GroupResource, o *event.Identity, t event.Type) string {
	object := cmp.Or(string(o.UID), r.String()+"/"+o.Namespace+"/"+o.Name)
	return object + "/" + o.ResourceVersion + "/" + string(t)
}

// objectName is an object. Objects that had one name after each other are one.
type objectName struct {
	resource  unique.Handle[schema.GroupResource]
	namespace unique.Handle[string]
	name      string
}

// key is an object, or a try whether the receiver is back. There are many, in several
// places: so it is small.
type key struct {
	object unique.Handle[objectName]
	// probe, if it is not 0, says for which time of waiting the try is.
	probe int
}

func (m *Message) key() key { return keyOf(m.Resource.GroupResource(), &m.Identity) }

func keyOf(r schema.GroupResource, o *event.Identity) key {
	return key{object: unique.Make(objectName{unique.Make(r), unique.Make(o.Namespace), o.Name})}
}
