package subject

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// maxAside is how many objects are remembered that may come to belong to a subject.
const maxAside = 500

// aside has the last events of objects that did not pass, but will if they stand in front of pods that are
// not known yet: a Service may be made before its Deployment.
type aside struct {
	events map[identity]event.Event
	known  int // how much the subject knew when they were looked at last
}

// keep remembers an event that did not pass. Of too many objects the later ones are not remembered.
func (a *aside) keep(e event.Event, s *Subject) {
	id := identityOf(&e)
	delete(a.events, id)
	if s == nil || e.Reconstructed != nil || !mayFront(e.Object.GroupVersionKind().GroupKind()) || len(a.events) >= maxAside {
		return
	}
	if a.events == nil {
		a.events, a.known = map[identity]event.Event{}, s.growth()
	}
	a.events[id] = e
}

// leave forgets the objects of a target, of which nothing is reported any more.
func (a *aside) leave(t event.Target) {
	maps.DeleteFunc(a.events, func(_ identity, e event.Event) bool { return e.Target.Key() == t.Key() })
}

// found returns what belongs to a subject now, since that knows more, in the order in which it was seen.
func (a *aside) found(s *Subject) (found []event.Event) {
	for len(a.events) > 0 && a.known != s.growth() {
		a.known = s.growth()
		inOrder := slices.SortedFunc(maps.Values(a.events), func(a, b event.Event) int {
			return cmp.Or(a.Time.Compare(b.Time), strings.Compare(string(a.Object.UID), string(b.Object.UID)), strings.Compare(a.Object.Name, b.Object.Name))
		})
		for _, e := range inOrder {
			if u, err := e.Object.Decode(); err == nil && s.IsTargetOf(u) {
				delete(a.events, identityOf(&e))
				found = append(found, e)
			}
		}
	}
	return found
}
