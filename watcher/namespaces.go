package watcher

import (
	"cmp"
	"errors"
	"slices"

	"dwatch/watcher/event"
)

// Which namespaces are chosen changes with the namespaces, of which only the metadata is asked for.
// Each target of one that comes to be chosen joins, and of one that no longer is, leaves.
//
// One that was deleted stays until the deletion of all that was in it has been reported: the
// watches of its objects and that of the namespace may be late, each by itself. But a target whose
// right is missing, as it may with the RoleBindings of the namespace, would stay for ever.
var namespaces = metadataOf("", "namespaces")

var (
	errUnmatched = errors.New("the namespace no longer matches")
	errDeleted   = errors.New("the namespace was deleted")
)

func chosenOf(all map[string]event.Namespace) map[string]bool {
	if all == nil {
		return nil
	}
	chosen := map[string]bool{}
	for name, n := range all {
		chosen[name] = n.Selected
	}
	return chosen
}

// joining says how a target joins: with its namespace, or as the server has its resource. What is in
// a namespace that was there at the start, and is chosen only now, is new only if it was created since.
func (s *targetSet) joining(t event.Target, found event.Resolution) (event.Target, event.Type, bool) {
	if s.options.ResolveAgain != nil && t.Name != "" {
		return t, event.Joined, true // something has come to refer to it
	}
	if found.Namespaces == nil || t.Namespace == "" || s.chosen[t.Namespace] {
		return t, event.Arrived, false
	}
	was, existed := s.options.Namespaces[t.Namespace]
	return t, event.Joined, existed && was.UID == found.Namespaces[t.Namespace].UID
}

// drop ends a target that is not asked for any more.
func (s *targetSet) drop(l *life, found event.Resolution) {
	why := errUnmatched
	if _, exists := found.NamespaceExcluded(l.key); !exists {
		why = errDeleted
	}
	s.end(l, why)
}

// end has a target leave.
func (s *targetSet) end(l *life, why error) {
	l.cancel()
	<-l.ended
	n := note{of: l.target, what: dropped}
	n.Err = why
	l.note(n)
}

// byNamespace sorts what joins at once: what becomes of a namespace is told once, however many
// targets there are in it.
func byNamespace(targets []event.Target) {
	slices.SortStableFunc(targets, func(a, b event.Target) int { return cmp.Compare(a.Namespace, b.Namespace) })
}

// inOrder sorts what leaves at once.
func inOrder(lives []*life) {
	slices.SortFunc(lives, func(a, b *life) int {
		return cmp.Or(cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Resource.String(), b.key.Resource.String()), cmp.Compare(a.key.Name, b.key.Name))
	})
}
