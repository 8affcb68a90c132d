package deliver

import (
	"cmp"
	"hash/maphash"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// Message is one event, ready to be sent.
type Message struct {
	// ID is the same whenever the same event is sent again, by any run.
	ID   string
	Type event.Type
	// Cluster is that of a run of several, and Source what CloudEvents call it; empty: it is one, which
	// the receiver knows.
	Cluster, Source string
	Rule            string // whose it was when it was given up, in a file of dead letters; empty: nobody's, or it was not
	Resource        schema.GroupVersionResource
	event.Identity
	Subject string    // the object as people know it
	Time    time.Time // when the event was seen
	Body    []byte    // the event as it is printed, with a newline at its end

	queued  time.Time // when it came
	initial bool      // it says of an ADDED object that it existed at the start
}

// newMessage returns an event as a message. It holds nothing of the event.
func newMessage(e *event.Event, body []byte, subject string) *Message {
	o := e.Object
	return &Message{
		ID:       idOf(e.Target.Cluster, e.Target.Resource().GroupResource(), o.Identity, e.Type),
		Cluster:  strings.Clone(e.Target.Cluster),
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
		initial: e.Initial,
	}
}

// ObjectID is the object of a message, and no other one: its UID, of several clusters behind the name of one.
func (m *Message) ObjectID() string {
	return uidOf(m.Cluster, m.Resource.GroupResource(), &m.Identity)
}

// idOf is UID/RESOURCEVERSION/TYPE, of several clusters behind the name of one: one event, and no other
// one.
func idOf(cluster string, r schema.GroupResource, o *event.Identity, t event.Type) string {
	return uidOf(cluster, r, o) + "/" + o.ResourceVersion + "/" + string(t)
}

// uidOf is an object, and no other one: a cluster may be the copy of another one, with the same UIDs.
// One that has no UID is known by its resource and name.
func uidOf(cluster string, r schema.GroupResource, o *event.Identity) string {
	uid := cmp.Or(string(o.UID), r.String()+"/"+o.Namespace+"/"+o.Name)
	if cluster != "" {
		return cluster + "/" + uid
	}
	return uid
}

// key is an object, by a hash of its name: there are many, in several places, so it is small.
// Objects that had one name after each other are one; two that happen to have the same hash are
// sent one after the other, and that is all.
type key uint64

var seed = maphash.MakeSeed()

func (m *Message) key() key { return keyOf(m.Cluster, m.Resource.GroupResource(), &m.Identity) }

func keyOf(cluster string, r schema.GroupResource, o *event.Identity) key {
	return max(key(maphash.Comparable(seed, [5]string{cluster, r.Group, r.Resource, o.Namespace, o.Name})), probe+1)
}
