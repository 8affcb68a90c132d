package subject

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// maxCandidates is the maximum number of remembered objects.
const maxCandidates = 500

// candidates remembers the last events of objects that did not pass but will if they target pods
// that are not known yet, directly or through a Service. A Service may be created before its
// Deployment.
type candidates struct {
	events  map[identity]event.Event
	checked int // version of the subject when the candidates were last checked
}

// add remembers an event that did not pass, if its object may target the pods. It ignores
// reconstructed events. If there are too many objects, later ones are not remembered.
func (c *candidates) add(e event.Event, s *Subject) {
	id := identityOf(&e)
	delete(c.events, id)
	if s == nil || e.Reconstructed != nil || !mayTarget(e.Object.GroupVersionKind().GroupKind()) || len(c.events) >= maxCandidates {
		return
	}
	if c.events == nil {
		c.events, c.checked = map[identity]event.Event{}, s.version()
	}
	c.events[id] = e
}

// removeTarget removes the objects of a target that is no longer watched.
func (c *candidates) removeTarget(t event.Target) {
	maps.DeleteFunc(c.events, func(_ identity, e event.Event) bool { return e.Target.Key() == t.Key() })
}

// takeMatches removes and returns the events of objects that now belong to the subject, in the
// order of their times. But an Ingress follows the Service through which it belongs to the subject.
func (c *candidates) takeMatches(s *Subject) (matches []event.Event) {
	for len(c.events) > 0 && c.checked != s.version() {
		c.checked = s.version()
		sorted := slices.SortedFunc(maps.Values(c.events), func(a, b event.Event) int {
			return cmp.Or(a.Time.Compare(b.Time), strings.Compare(string(a.Object.UID), string(b.Object.UID)), strings.Compare(a.Object.Name, b.Object.Name))
		})
		for _, e := range sorted {
			if u, err := e.Object.Decode(); err == nil && s.IsTargetOf(u) {
				delete(c.events, identityOf(&e))
				matches = append(matches, e)
			}
		}
	}
	return matches
}
