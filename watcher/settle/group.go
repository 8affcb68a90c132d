package settle

import (
	"cmp"
	"slices"
	"strings"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/event"
)

// bundle is what waits and belongs together.
type bundle struct {
	root    string
	held    []*held   // in the order in which they came
	since   time.Time // when the first came
	from    time.Time // the first change that is more than noise; zero: none is
	until   time.Time // the last one
	changes int
}

// roots say what belongs together: what belongs to one object, and what took the name of another that waits, or
// belongs to what did.
type roots struct {
	known  *known
	joined map[string]string // a root by one that its objects are told of with
}

// roots are those of what waits now.
func (s *Stage) roots() roots {
	r := roots{&s.known, map[string]string{}}
	for _, h := range s.waiting {
		if h.after == nil || h.after.isGone {
			continue
		}
		if after, now := r.of(h.after.id, h.after.up), r.of(h.id, h.up); after != now {
			r.joined[now] = after
		}
	}
	return r
}

// of is what an object is told of with others by.
func (r roots) of(id, up string) string {
	root, _ := r.known.root(id, up)
	for above, is := r.joined[root]; is; above, is = r.joined[root] {
		root = above
	}
	return root
}

// bundles are all that waits, the oldest first.
func (s *Stage) bundles(r roots) []*bundle {
	var all []*bundle
	byRoot := map[string]*bundle{}
	for _, h := range s.waiting {
		root := r.of(h.id, h.up)
		b := byRoot[root]
		if b == nil {
			b = &bundle{root: root, since: h.since, until: h.since}
			all, byRoot[root] = append(all, b), b
		}
		b.held = append(b.held, h)
		b.changes += h.changes
		if b.from.IsZero() || !h.from.IsZero() && h.from.Before(b.from) {
			b.from = h.from
		}
		if h.until.After(b.until) {
			b.until = h.until
		}
	}
	return all
}

// settle lets go of the bundles of which it is due, and which are told why then.
func (s *Stage) settle(due func(*bundle) (event.FlushReason, bool)) {
	var wrong map[string][]*wrong
	told := false
	r := s.roots()
	for _, b := range s.bundles(r) {
		cut, is := due(b)
		if !is {
			continue
		}
		if wrong == nil {
			wrong = s.wrongByRoot(r)
		}
		s.tell(b, cut, wrong[b.root])
		told = true
	}
	if told {
		s.waiting = slices.DeleteFunc(s.waiting, func(h *held) bool { return h.isGone })
	}
}

// tell lets a bundle go on: first what is nearest to its root, then the others in the order in which they came.
func (s *Stage) tell(b *bundle, cut event.FlushReason, wrong []*wrong) {
	lead := s.lead(b)
	slices.SortStableFunc(b.held, func(x, y *held) int {
		return cmp.Compare(rank(x == lead), rank(y == lead))
	})
	all := &event.SettledGroup{HasRoot: s.isTop(lead, b), Changes: b.changes, Since: b.since, Until: b.until, FlushReason: cut}
	if !b.from.IsZero() {
		all.Since = b.from
	}
	present := lead
	for _, h := range b.held {
		if nameOf(&h.event) == nameOf(&lead.event) {
			present = h
		}
		e := h.event
		e.Settled = &event.Settled{Since: h.since, Changes: h.changes, ShortLived: h.came && e.Type == event.Deleted, Group: all}
		all.Events = append(all.Events, e)
		s.letGo(h)
	}
	if e := &present.event; !e.Object.IsEvent() && e.Type != event.Deleted {
		all.Status = kstatus.CurrentStatus.String()
		if w := s.known.wrong[present.id]; w != nil {
			all.Status, all.Message = w.Status, w.Message
		}
	}
	for _, w := range wrong {
		if w == s.known.wrong[present.id] {
			continue
		}
		if all.UnhealthyCount++; w.says && len(all.Unhealthy) < maxWrong {
			all.Unhealthy = append(all.Unhealthy, w.UnhealthyObject)
		}
	}
	s.passing = append(s.passing, all.Events...)
}

// maxWrong is of how many objects it is said what is wrong.
const maxWrong = 5

func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// lead is what the others of a bundle are told with: what is nearest to the root, and is no Event, and of
// that what came first; of what had its name one after the other, the first.
func (s *Stage) lead(b *bundle) *held {
	distance := func(h *held) int {
		_, depth := s.known.root(h.id, h.up)
		if h.event.Object.IsEvent() {
			depth += maxDepth
		}
		return depth
	}
	lead := slices.MinFunc(b.held, func(x, y *held) int { return distance(x) - distance(y) })
	for lead.after != nil && !lead.after.isGone {
		lead = lead.after
	}
	return lead
}

// isTop reports whether all of a bundle belongs to its lead, or to what had the name of that.
func (s *Stage) isTop(lead *held, b *bundle) bool {
	called := map[string]bool{}
	for _, h := range b.held {
		if nameOf(&h.event) == nameOf(&lead.event) {
			called[h.id] = true
		}
	}
	return !slices.ContainsFunc(b.held, func(h *held) bool {
		root, _ := s.known.root(h.id, h.up)
		return !called[root]
	})
}

// letGo has an object wait no longer.
func (s *Stage) letGo(h *held) {
	h.isGone = true
	s.bytes -= h.size
	if as := shownBy(h.id, &h.event); s.last[as] == h {
		delete(s.last, as)
	}
	if called := nameOf(&h.event); s.named[called] == h {
		delete(s.named, called)
	}
}

// wrongByRoot are the objects that are not Current by what they belong to, in the order of their names.
func (s *Stage) wrongByRoot(r roots) map[string][]*wrong {
	all := map[string][]*wrong{}
	for id, w := range s.known.wrong {
		root := r.of(id, s.known.up[id].id)
		all[root] = append(all[root], w)
	}
	for _, some := range all {
		slices.SortFunc(some, func(a, b *wrong) int {
			return cmp.Or(strings.Compare(a.Target.Resource().Resource, b.Target.Resource().Resource), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
		})
	}
	return all
}

// stuck are those of which something says what is wrong with it.
func (s *Stage) stuck() map[string]bool {
	r := s.roots()
	all := map[string]bool{}
	for id, w := range s.known.wrong {
		if w.says {
			all[r.of(id, s.known.up[id].id)] = true
		}
	}
	return all
}

// isUnderWay reports whether what waits, or what it belongs to, is about to become something else.
func (s *Stage) isUnderWay(b *bundle) bool {
	waits := func(id string) bool {
		w := s.known.wrong[id]
		return w != nil && w.waits
	}
	return slices.ContainsFunc(b.held, func(h *held) bool {
		root, _ := s.known.root(h.id, h.up)
		return waits(root) || waits(h.id)
	})
}

// heard reports whether all that happens to what waits is heard of, and since when.
func (s *Stage) heard(b *bundle) (is bool, since time.Time) {
	for _, h := range b.held {
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
