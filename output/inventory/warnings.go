package inventory

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// eventTargets are the watched targets of Events, without targets that select a single name.
type eventTargets map[event.Key]bool

func newEventTargets(targets []event.Target) eventTargets {
	t := eventTargets{}
	for _, one := range targets {
		t.add(one)
	}
	return t
}

func (t eventTargets) add(target event.Target) {
	if event.IsEvent(target.Mapping.GroupVersionKind.GroupKind()) && target.Name == "" {
		t[target.Key()] = true
	}
}

// covers reports whether Events about objects in a namespace are watched. Events about cluster-scoped objects, whose
// namespace is empty, are in the namespace default.
func (t eventTargets) covers(cluster, namespace string) bool {
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

// warningLookup returns a function that finds the latest Warning about an object: among the retained Events, or, if
// Events are not watched, with Options.LookupWarning. last returns the states at the time in question. It requires i.mu
// to be held.
func warningLookup(i *Inventory, last lastState) func(*State) (why string, at time.Time) {
	var retained map[string]*kubeevent.LatestMessages // by cluster; built at the first call
	return func(s *State) (why string, at time.Time) {
		if retained == nil {
			retained = retainedWarnings(i, last)
		}
		ref := owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: s.Entry.Namespace, Name: s.Entry.Name, UID: s.Entry.UID}
		if n := retained[s.Entry.Cluster]; n != nil {
			why, at = n.Get(ref)
		}
		if why != "" || i.options.LookupWarning == nil || !i.options.KubeEventsFiltered && i.eventTargets.covers(s.Entry.Cluster, s.Entry.Namespace) {
			return why, at
		}
		return i.options.LookupWarning(s.Entry.Cluster, ref)
	}
}

func retainedWarnings(i *Inventory, last lastState) map[string]*kubeevent.LatestMessages {
	all := map[string]*kubeevent.LatestMessages{}
	if _, retained := i.kinds[schema.GroupKind{Kind: "Event"}]; !retained {
		if _, retained = i.kinds[schema.GroupKind{Group: "events.k8s.io", Kind: "Event"}]; !retained {
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
