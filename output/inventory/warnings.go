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
	var held map[string]*kubeevent.LatestMessages // by cluster; all at once, and only if somebody asks
	return func(s *State) (why string, at time.Time) {
		if held == nil {
			held = heldWarnings(i, last)
		}
		ref := owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: s.Entry.Namespace, Name: s.Entry.Name, UID: s.Entry.UID}
		if n := held[s.Entry.Cluster]; n != nil {
			why, at = n.Get(ref)
		}
		if why != "" || i.options.LookupWarning == nil || !i.options.KubeEventsFiltered && i.tellers.tell(s.Entry.Cluster, s.Entry.Namespace) {
			return why, at
		}
		return i.options.LookupWarning(s.Entry.Cluster, ref)
	}
}

func heldWarnings(i *Inventory, last lastState) map[string]*kubeevent.LatestMessages {
	all := map[string]*kubeevent.LatestMessages{}
	if _, held := i.kinds[schema.GroupKind{Kind: "Event"}]; !held {
		if _, held = i.kinds[schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}]; !held {
			return all
		}
	}
	for _, o := range i.byID {
		e := last(o)
		if e == nil || e.KubeEvent == nil || e.KubeEvent.Warning == "" {
			continue
		}
		if all[e.Entry.Cluster] == nil {
			all[e.Entry.Cluster] = &kubeevent.LatestMessages{}
		}
		all[e.Entry.Cluster].Add(e.KubeEvent.InvolvedObject, e.KubeEvent.Warning, e.KubeEvent.LastSeen)
	}
	return all
}
