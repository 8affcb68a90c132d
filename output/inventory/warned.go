package inventory

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// tellers are the targets of Events of Kubernetes that are watched, but those with a name.
type tellers map[event.Key]bool

func tellersOf(targets []event.Target) tellers {
	t := tellers{}
	for _, one := range targets {
		t.join(one)
	}
	return t
}

func (t tellers) join(target event.Target) {
	if event.IsEvent(target.Mapping.GroupVersionKind.GroupKind()) && target.Name == "" {
		t[target.Key()] = true
	}
}

// tell reports whether Events about an object in a namespace come; empty: an object in none, whose Events are in the default one.
func (t tellers) tell(cluster, namespace string) bool {
	for _, group := range []string{"", "events.k8s.io"} {
		key := event.Key{Cluster: cluster, Resource: schema.GroupResource{Group: group, Resource: "events"}}
		if t[key] {
			return true
		}
		key.Namespace = cmp.Or(namespace, "default")
		if t[key] {
			return true
		}
	}
	return false
}

// warningsOf finds the newest Warning about an object, as all are by last: among the Events that are held, or else, where they are
// not watched, by Options.Warned. It is called under the lock.
func warningsOf(i *Inventory, last lastState) func(*State) (why string, at time.Time) {
	var held map[string]*kubeevent.Newest // by cluster; all at once, and only if somebody asks
	return func(s *State) (why string, at time.Time) {
		if held == nil {
			held = heldWarnings(i, last)
		}
		ref := owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: s.Of.Namespace, Name: s.Of.Name, UID: s.Of.UID}
		if n := held[s.Of.Cluster]; n != nil {
			why, at = n.About(ref)
		}
		if why != "" || i.options.Warned == nil || !i.options.SomeEvents && i.tellers.tell(s.Of.Cluster, s.Of.Namespace) {
			return why, at
		}
		return i.options.Warned(s.Of.Cluster, ref)
	}
}

func heldWarnings(i *Inventory, last lastState) map[string]*kubeevent.Newest {
	all := map[string]*kubeevent.Newest{}
	if _, held := i.kinds[schema.GroupKind{Kind: "Event"}]; !held {
		if _, held = i.kinds[schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}]; !held {
			return all
		}
	}
	for _, o := range i.byID {
		e := last(o)
		if e == nil || e.Told == nil || e.Told.Wrong == "" {
			continue
		}
		if all[e.Of.Cluster] == nil {
			all[e.Of.Cluster] = &kubeevent.Newest{}
		}
		all[e.Of.Cluster].Add(e.Told.About, e.Told.Wrong, e.Told.Last)
	}
	return all
}
