package kubeevent

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/object/owner"
)

// LatestMessages has the latest message about each object in the Events of a cluster. The zero value is empty and ready
// to use. It is not safe for concurrent use.
type LatestMessages struct {
	byUID  map[types.UID]message
	byName map[nameKey]message // for Events that do not have the UID of their object
}

type message struct {
	text string
	at   time.Time
}

type nameKey struct{ kind, namespace, name string }

// keyOf returns the key of an object. Events about cluster-scoped objects are in the namespace default.
func keyOf(o owner.Ref) nameKey {
	return nameKey{o.Kind, cmp.Or(o.Namespace, metav1.NamespaceDefault), o.Name}
}

// Add records a message about an object. The result does not depend on the order of calls, even for equal times.
func (n *LatestMessages) Add(about owner.Ref, text string, at time.Time) {
	one := message{text, at}
	if about.HasUID() {
		if n.byUID == nil {
			n.byUID = map[types.UID]message{}
		}
		n.byUID[about.UID] = n.byUID[about.UID].newer(one)
		return
	}
	if n.byName == nil {
		n.byName = map[nameKey]message{}
	}
	n.byName[keyOf(about)] = n.byName[keyOf(about)].newer(one)
}

// Get returns the latest message about an object, and its time. It includes Events without the UID of their object that
// have the same kind, namespace and name. The text is empty if there is no message.
func (n *LatestMessages) Get(o owner.Ref) (text string, at time.Time) {
	last := n.byUID[o.UID].newer(n.byName[keyOf(o)])
	return last.text, last.at
}

// newer returns the newer of two messages. At the same time, the greater text wins.
func (s message) newer(other message) message {
	if by := cmp.Or(s.at.Compare(other.at), cmp.Compare(s.text, other.text)); by < 0 {
		return other
	}
	return s
}
