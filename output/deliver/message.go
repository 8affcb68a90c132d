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

// Message is an encoded event. Its fields are the metadata that receivers read, the encoded event, and what the Queue knows
// about it.
type Message struct {
	// ID identifies the event. It is the same for each attempt and each run.
	ID   string
	Type event.Type
	// Cluster is the name of the cluster, and Source its name in CloudEvents. Both are empty unless the run watches several
	// clusters. The receiver then knows the source.
	Cluster, Source string
	Rule            string // the rule that gave up the message, if it comes from a file of dead letters
	Resource        schema.GroupVersionResource
	event.Identity
	Subject string    // the object as people know it
	Time    time.Time // the time of the event
	Body    []byte    // the encoded event; it ends with a line feed

	queued  time.Time // when the Queue accepted the event
	initial bool      // true for an ADDED event of an object that existed at the start
}

// newMessage returns an event as a message, which does not refer to memory of the event.
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

// ObjectID returns a unique identifier of the message's object: its UID, after the name of the cluster if there are several.
func (m *Message) ObjectID() string {
	return uidOf(m.Cluster, m.Resource.GroupResource(), &m.Identity)
}

// idOf returns the unique ID of an event: UID/RESOURCEVERSION/TYPE, after the name of the cluster if there are several.
func idOf(cluster string, r schema.GroupResource, o *event.Identity, t event.Type) string {
	return uidOf(cluster, r, o) + "/" + o.ResourceVersion + "/" + string(t)
}

// uidOf returns a unique identifier of an object. The name of the cluster is part of it, because a cluster may be a copy of
// another one with the same UIDs. If the object has no UID, resource and name identify it.
func uidOf(cluster string, r schema.GroupResource, o *event.Identity) string {
	uid := cmp.Or(string(o.UID), r.String()+"/"+o.Namespace+"/"+o.Name)
	if cluster != "" {
		return cluster + "/" + uid
	}
	return uid
}

// key is a hash of the name of an object. It is small because many keys are in memory, in several places. Objects that had the same
// name in succession share a key. A collision only means that the messages of two objects are sent one after the other.
type key uint64

var seed = maphash.MakeSeed()

func (m *Message) key() key { return keyOf(m.Cluster, m.Resource.GroupResource(), &m.Identity) }

func keyOf(cluster string, r schema.GroupResource, o *event.Identity) key {
	return max(key(maphash.Comparable(seed, [5]string{cluster, r.Group, r.Resource, o.Namespace, o.Name})), probe+1)
}
