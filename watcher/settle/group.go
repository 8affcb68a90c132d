package settle

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"dwatch/watcher/event"
)

// group is a set of pending objects that are released together.
type group struct {
	root        string           // ID that identifies the group
	objects     []*pendingObject // in the order of their first event
	since       time.Time        // time of the first event
	firstChange time.Time        // time of the first significant change; zero if there is none
	lastChange  time.Time        // time of the last significant change; since if there is none
	changes     int              // number of buffered events
}

// grouping assigns objects to groups. Objects with the same root are in one group. The groups of pending objects that had
// the same name one after the other are joined.
type grouping struct {
	tracker *tracker
	joined  map[string]string // root -> root of the group that it was joined with
}

// grouping returns the grouping of the pending objects.
func (s *Stage) grouping() grouping {
	r := grouping{&s.tracker, map[string]string{}}
	for _, p := range s.buffer.objects {
		if p.predecessor == nil || p.predecessor.released {
			continue
		}
		if earlier, later := r.root(p.predecessor.id, p.predecessor.owner), r.root(p.id, p.owner); earlier != later {
			r.joined[later] = earlier
		}
	}
	return r
}

// root returns the root that identifies the group of an object with this owner.
func (r grouping) root(id, ownerID string) string {
	root, _ := r.tracker.root(id, ownerID)
	for other, isJoined := r.joined[root]; isJoined; other, isJoined = r.joined[root] {
		root = other
	}
	return root
}

// groups returns the groups of all pending objects, the oldest first.
func (s *Stage) groups(r grouping) []*group {
	var all []*group
	byRoot := map[string]*group{}
	for _, p := range s.buffer.objects {
		root := r.root(p.id, p.owner)
		g := byRoot[root]
		if g == nil {
			g = &group{root: root, since: p.since, lastChange: p.since}
			all, byRoot[root] = append(all, g), g
		}
		g.objects = append(g.objects, p)
		g.changes += p.changes
		if g.firstChange.IsZero() || !p.firstChange.IsZero() && p.firstChange.Before(g.firstChange) {
			g.firstChange = p.firstChange
		}
		if p.lastChange.After(g.lastChange) {
			g.lastChange = p.lastChange
		}
	}
	return all
}

// release releases the groups for which isDue returns true, the oldest first. isDue also returns why a group is released
// before it is quiet, or "" if it is quiet.
func (s *Stage) release(isDue func(*group) (event.FlushReason, bool)) {
	var unhealthy map[string][]*unhealthyObject
	r := s.grouping()
	for _, g := range s.groups(r) {
		reason, due := isDue(g)
		if !due {
			continue
		}
		if unhealthy == nil {
			unhealthy = s.unhealthyByRoot(r)
		}
		s.releaseGroup(g, reason, unhealthy[g.root])
	}
	if unhealthy != nil { // a group was released
		s.buffer.removeReleased()
	}
}

// releaseGroup releases a group: first the object that represents it, then the others in the order of their first event.
// unhealthy are the unhealthy objects with the same root, changed or not.
func (s *Stage) releaseGroup(g *group, reason event.FlushReason, unhealthy []*unhealthyObject) {
	first := s.first(g)
	slices.SortStableFunc(g.objects, func(x, y *pendingObject) int {
		return cmp.Compare(rank(x == first), rank(y == first))
	})
	settled := &event.SettledGroup{HasRoot: s.hasRoot(first, g), Changes: g.changes, Since: g.since, Until: g.lastChange, FlushReason: reason}
	if !g.firstChange.IsZero() {
		settled.Since = g.firstChange
	}
	present := first // or the last object with its name
	for _, p := range g.objects {
		if nameOf(&p.event) == nameOf(&first.event) {
			present = p
		}
		e := p.event
		e.Settled = &event.Settled{Since: p.since, Changes: p.changes, ShortLived: p.created && e.Type == event.Deleted, Group: settled}
		settled.Events = append(settled.Events, e)
		s.buffer.release(p)
	}
	if e := &present.event; !e.Object.IsEvent() && e.Type != event.Deleted {
		settled.Status, settled.Message = s.tracker.statusOf(present.id, e)
	}
	for _, u := range unhealthy {
		if u == s.tracker.unhealthy[present.id] {
			continue
		}
		if settled.UnhealthyCount++; u.hasReason && len(settled.Unhealthy) < maxUnhealthy {
			settled.Unhealthy = append(settled.Unhealthy, u.UnhealthyObject)
		}
	}
	s.released = append(s.released, settled.Events...)
}

// maxUnhealthy is the maximum length of SettledGroup.Unhealthy.
const maxUnhealthy = 5

func rank(isFirst bool) int {
	if isFirst {
		return 0
	}
	return 1
}

// first returns the object that represents the group: the one that is nearest to its root and, if possible, not a
// Kubernetes Event. If it has pending predecessors, first returns the earliest of them.
func (s *Stage) first(g *group) *pendingObject {
	distance := func(p *pendingObject) int {
		_, depth := s.tracker.root(p.id, p.owner)
		if p.event.Object.IsEvent() {
			depth += maxDepth
		}
		return depth
	}
	first := slices.MinFunc(g.objects, func(x, y *pendingObject) int { return distance(x) - distance(y) })
	for first.predecessor != nil && !first.predecessor.released {
		first = first.predecessor
	}
	return first
}

// hasRoot reports whether the root of each object of a group is the first object, or another one with its name.
func (s *Stage) hasRoot(first *pendingObject, g *group) bool {
	sameName := map[string]bool{} // IDs
	for _, p := range g.objects {
		if nameOf(&p.event) == nameOf(&first.event) {
			sameName[p.id] = true
		}
	}
	return !slices.ContainsFunc(g.objects, func(p *pendingObject) bool {
		root, _ := s.tracker.root(p.id, p.owner)
		return !sameName[root]
	})
}

// unhealthyByRoot returns the unhealthy objects by root, ordered by resource, namespace and name.
func (s *Stage) unhealthyByRoot(r grouping) map[string][]*unhealthyObject {
	all := map[string][]*unhealthyObject{}
	for id, u := range s.tracker.unhealthy {
		root := r.root(id, s.tracker.owners[id].id)
		all[root] = append(all[root], u)
	}
	for _, objects := range all {
		slices.SortFunc(objects, func(a, b *unhealthyObject) int {
			return cmp.Or(strings.Compare(a.Target.Resource().Resource, b.Target.Resource().Resource), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	return all
}

// rootsWithReason returns the roots of unhealthy objects that have failed or report what is wrong.
func (s *Stage) rootsWithReason() map[string]bool {
	r := s.grouping()
	roots := map[string]bool{}
	for id, u := range s.tracker.unhealthy {
		if u.hasReason {
			roots[r.root(id, s.tracker.owners[id].id)] = true
		}
	}
	return roots
}

// isInProgress reports whether an object of the group, or its root, is in progress. It ignores other objects with the
// same root, which have not changed.
func (s *Stage) isInProgress(g *group) bool {
	inProgress := func(id string) bool {
		u := s.tracker.unhealthy[id]
		return u != nil && u.inProgress
	}
	return slices.ContainsFunc(g.objects, func(p *pendingObject) bool {
		root, _ := s.tracker.root(p.id, p.owner)
		return inProgress(root) || inProgress(p.id)
	})
}

// connectedSince reports whether the watches of all objects in the group are connected and not relisting, and when the
// last of them connected. That is zero if none has sent a status event yet.
func (s *Stage) connectedSince(g *group) (connected bool, since time.Time) {
	for _, p := range g.objects {
		watch := s.watches.Get(p.event.Target)
		if watch.LastStatus == "" { // no status event yet, so the initial list may be in progress
			connected = !p.event.Listed
		} else {
			connected = watch.Phase() == event.PhaseLive && !watch.Relisting
		}
		if !connected {
			return false, time.Time{}
		}
		if watch.Since.After(since) {
			since = watch.Since
		}
	}
	return true, since
}
