package settle

import (
	"cmp"
	"slices"
	"strings"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
)

// group is a set of pending objects that are released together.
type group struct {
	root        string
	objects     []*pendingObject // in the order of their first event
	since       time.Time        // time of the first event
	firstChange time.Time        // the first change that is more than noise; zero: none is
	lastChange  time.Time        // the last one
	changes     int
}

// grouping assigns objects to groups: by their root owner, and by names that several pending objects had one after the
// other.
type grouping struct {
	tracker *tracker
	joined  map[string]string // root -> root of the group that it was joined with
}

// grouping returns the grouping of the pending objects.
func (s *Stage) grouping() grouping {
	r := grouping{&s.tracker, map[string]string{}}
	for _, h := range s.waiting {
		if h.predecessor == nil || h.predecessor.released {
			continue
		}
		if after, now := r.root(h.predecessor.id, h.predecessor.owner), r.root(h.id, h.owner); after != now {
			r.joined[now] = after
		}
	}
	return r
}

// root returns the root that identifies the group of an object.
func (r grouping) root(id, up string) string {
	root, _ := r.tracker.root(id, up)
	for above, is := r.joined[root]; is; above, is = r.joined[root] {
		root = above
	}
	return root
}

// groups returns the groups of all pending objects, the oldest first.
func (s *Stage) groups(r grouping) []*group {
	var all []*group
	byRoot := map[string]*group{}
	for _, h := range s.waiting {
		root := r.root(h.id, h.owner)
		b := byRoot[root]
		if b == nil {
			b = &group{root: root, since: h.since, lastChange: h.since}
			all, byRoot[root] = append(all, b), b
		}
		b.objects = append(b.objects, h)
		b.changes += h.changes
		if b.firstChange.IsZero() || !h.firstChange.IsZero() && h.firstChange.Before(b.firstChange) {
			b.firstChange = h.firstChange
		}
		if h.lastChange.After(b.lastChange) {
			b.lastChange = h.lastChange
		}
	}
	return all
}

// release releases the groups that are due. due also returns why a group is released that is not quiet.
func (s *Stage) release(due func(*group) (event.FlushReason, bool)) {
	var wrong map[string][]*unhealthyObject
	told := false
	r := s.grouping()
	for _, b := range s.groups(r) {
		cut, is := due(b)
		if !is {
			continue
		}
		if wrong == nil {
			wrong = s.unhealthyByRoot(r)
		}
		s.releaseGroup(b, cut, wrong[b.root])
		told = true
	}
	if told {
		s.waiting = slices.DeleteFunc(s.waiting, func(h *pendingObject) bool { return h.released })
	}
}

// releaseGroup releases a group: first the object that is nearest to the root, then the others in the order of their
// first event. unhealthy are the unhealthy objects under the same root.
func (s *Stage) releaseGroup(b *group, cut event.FlushReason, wrong []*unhealthyObject) {
	lead := s.first(b)
	slices.SortStableFunc(b.objects, func(x, y *pendingObject) int {
		return cmp.Compare(rank(x == lead), rank(y == lead))
	})
	all := &event.SettledGroup{HasRoot: s.hasRoot(lead, b), Changes: b.changes, Since: b.since, Until: b.lastChange, FlushReason: cut}
	if !b.firstChange.IsZero() {
		all.Since = b.firstChange
	}
	present := lead
	for _, h := range b.objects {
		if nameOf(&h.event) == nameOf(&lead.event) {
			present = h
		}
		e := h.event
		e.Settled = &event.Settled{Since: h.since, Changes: h.changes, ShortLived: h.created && e.Type == event.Deleted, Group: all}
		all.Events = append(all.Events, e)
		s.releaseObject(h)
	}
	if e := &present.event; !e.Object.IsEvent() && e.Type != event.Deleted {
		all.Status = kstatus.CurrentStatus.String()
		if w := s.tracker.unhealthy[present.id]; w != nil {
			all.Status, all.Message = w.Status, w.Message
		}
	}
	for _, w := range wrong {
		if w == s.tracker.unhealthy[present.id] {
			continue
		}
		if all.UnhealthyCount++; w.hasReason && len(all.Unhealthy) < maxUnhealthy {
			all.Unhealthy = append(all.Unhealthy, w.UnhealthyObject)
		}
	}
	s.released = append(s.released, all.Events...)
}

// maxUnhealthy is the maximum number of unhealthy objects that are listed.
const maxUnhealthy = 5

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// first returns the object that represents the group: the one that is nearest to the root and not an Event, or its first
// pending predecessor.
func (s *Stage) first(b *group) *pendingObject {
	distance := func(h *pendingObject) int {
		_, depth := s.tracker.root(h.id, h.owner)
		if h.event.Object.IsEvent() {
			depth += maxDepth
		}
		return depth
	}
	lead := slices.MinFunc(b.objects, func(x, y *pendingObject) int { return distance(x) - distance(y) })
	for lead.predecessor != nil && !lead.predecessor.released {
		lead = lead.predecessor
	}
	return lead
}

// hasRoot reports whether all objects of a group have the same root: the first object, or another one with its name.
func (s *Stage) hasRoot(lead *pendingObject, b *group) bool {
	called := map[string]bool{}
	for _, h := range b.objects {
		if nameOf(&h.event) == nameOf(&lead.event) {
			called[h.id] = true
		}
	}
	return !slices.ContainsFunc(b.objects, func(h *pendingObject) bool {
		root, _ := s.tracker.root(h.id, h.owner)
		return !called[root]
	})
}

// releaseObject removes an object from the indexes.
func (s *Stage) releaseObject(h *pendingObject) {
	h.released = true
	s.bytes -= h.size
	if as := resourceObjectOf(h.id, &h.event); s.byObject[as] == h {
		delete(s.byObject, as)
	}
	if called := nameOf(&h.event); s.byName[called] == h {
		delete(s.byName, called)
	}
}

// unhealthyByRoot returns the unhealthy objects by root, ordered by resource, namespace and name.
func (s *Stage) unhealthyByRoot(r grouping) map[string][]*unhealthyObject {
	all := map[string][]*unhealthyObject{}
	for id, w := range s.tracker.unhealthy {
		root := r.root(id, s.tracker.owners[id].id)
		all[root] = append(all[root], w)
	}
	for _, some := range all {
		slices.SortFunc(some, func(a, b *unhealthyObject) int {
			return cmp.Or(strings.Compare(a.Target.Resource().Resource, b.Target.Resource().Resource), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	return all
}

// rootsWithReason returns the roots below which an unhealthy object reports a reason.
func (s *Stage) rootsWithReason() map[string]bool {
	r := s.grouping()
	all := map[string]bool{}
	for id, w := range s.tracker.unhealthy {
		if w.hasReason {
			all[r.root(id, s.tracker.owners[id].id)] = true
		}
	}
	return all
}

// isInProgress reports whether an object of the group, or its root, is in progress.
func (s *Stage) isInProgress(b *group) bool {
	waits := func(id string) bool {
		w := s.tracker.unhealthy[id]
		return w != nil && w.inProgress
	}
	return slices.ContainsFunc(b.objects, func(h *pendingObject) bool {
		root, _ := s.tracker.root(h.id, h.owner)
		return waits(root) || waits(h.id)
	})
}

// connectedSince reports whether the watches of all objects in the group are connected, and since when.
func (s *Stage) connectedSince(b *group) (is bool, since time.Time) {
	for _, h := range b.objects {
		link := s.links.Get(h.event.Target)
		switch {
		case link.LastStatus == "": // before the first Synced
			is = !h.event.Listed
		default:
			is = link.Phase() == event.PhaseLive && !link.Relisting
		}
		if !is {
			return false, time.Time{}
		}
		if link.Since.After(since) {
			since = link.Since
		}
	}
	return true, since
}
