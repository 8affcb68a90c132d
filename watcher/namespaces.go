package watcher

import (
	"cmp"
	"errors"
	"slices"

	"dwatch/watcher/event"
)

// namespaces are watched if the run selects namespaces. The targets of a namespace join when it
// becomes selected, and leave when it is not selected any more.
//
// The targets of a deleted namespace stay until the deletions of all their objects have been
// reported, because each watch may be behind the watch of the namespaces. A denied target does not
// wait, because the permission may have been deleted with a RoleBinding of the namespace.
var namespaces = metadataTarget("", "namespaces")

var (
	errNamespaceUnmatched = errors.New("the namespace no longer matches")
	errNamespaceDeleted   = errors.New("the namespace was deleted")
)

func selectedNamespaces(all map[string]event.Namespace) map[string]bool {
	if all == nil {
		return nil
	}
	selected := map[string]bool{}
	for name, n := range all {
		selected[name] = n.Selected
	}
	return selected
}

// joinStatus returns whether t joins because something selected it (Joined) or because the server
// now serves its resource (Arrived), and whether its objects may have existed at the start.
func (s *targetSet) joinStatus(t event.Target, found event.Resolution) (_ event.Target, status event.Type, mayHaveExisted bool) {
	if s.options.ResolveAgain != nil && t.Name != "" {
		return t, event.Joined, true // an object now refers to it
	}
	if found.Namespaces == nil || t.Namespace == "" || s.selected[t.Namespace] {
		return t, event.Arrived, false
	}
	initial, existed := s.options.Namespaces[t.Namespace]
	return t, event.Joined, existed && initial.UID == found.Namespaces[t.Namespace].UID
}

// endExcluded ends a target whose namespace is not selected any more.
func (s *targetSet) endExcluded(r *runner, found event.Resolution) {
	reason := errNamespaceUnmatched
	if _, exists := found.NamespaceExcluded(r.key); !exists {
		reason = errNamespaceDeleted
	}
	s.end(r, reason)
}

// end ends a target, waits for that, and reports it with a Left event.
func (s *targetSet) end(r *runner, reason error) {
	r.cancel()
	<-r.done
	m := message{target: r.target, kind: msgLeft}
	m.Err = reason
	r.send(m)
}

// sortByNamespace sorts targets that join together. Consumers report each namespace once, however
// many targets it has.
func sortByNamespace(targets []event.Target) {
	slices.SortStableFunc(targets, func(a, b event.Target) int { return cmp.Compare(a.Namespace, b.Namespace) })
}

// sortRunners sorts the runners of targets that leave together.
func sortRunners(runners []*runner) {
	slices.SortFunc(runners, func(a, b *runner) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Resource.String(), b.key.Resource.String()), cmp.Compare(a.key.Name, b.key.Name))
	})
}
