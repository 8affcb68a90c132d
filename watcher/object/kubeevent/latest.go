package kubeevent

import (
	"cmp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/object/owner"
)

// Newest has what Events of a cluster said last about each object. The zero value has nothing.
type LatestMessages struct {
	byUID  map[types.UID]said
	byName map[named]said // of those that say no UID
}

type said struct {
	text string
	at   time.Time
}

type named struct{ kind, namespace, name string }

// namedAs is by what an object is found: Events about what is in no namespace are in the default one.
func namedAs(o owner.Ref) named {
	return named{o.Kind, cmp.Or(o.Namespace, metav1.NamespaceDefault), o.Name}
}

// Add takes in what an Event says about an object. Of two of the same time it does not matter which comes first.
func (n *LatestMessages) Add(about owner.Ref, text string, at time.Time) {
	one := said{text, at}
	if about.HasUID() {
		if n.byUID == nil {
			n.byUID = map[types.UID]said{}
		}
		n.byUID[about.UID] = n.byUID[about.UID].or(one)
		return
	}
	if n.byName == nil {
		n.byName = map[named]said{}
	}
	n.byName[namedAs(about)] = n.byName[namedAs(about)].or(one)
}

// About returns what was said last about an object, as it is meant by owner.Ref.Means, and when; empty if nothing was.
func (n *LatestMessages) Get(o owner.Ref) (text string, at time.Time) {
	last := n.byUID[o.UID].or(n.byName[namedAs(o)])
	return last.text, last.at
}

// or is the newer one.
func (s said) or(other said) said {
	if by := cmp.Or(s.at.Compare(other.at), cmp.Compare(s.text, other.text)); by < 0 {
		return other
	}
	return s
}
