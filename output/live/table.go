package live

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// table has all rows, and says which are shown in which order.
type table struct {
	sections []*section
	order    order
	filter   filter
	// young are the rows that change with time by more than their age.
	young map[*row]*section
	// forget lets go of an object that no row is about any more.
	forget func(*inventory.Entry)
	// histories are those that a row shows.
	histories func(*row) []inventory.History
}

func newTable(forget func(*inventory.Entry), histories func(*row) []inventory.History) *table {
	return &table{young: map[*row]*section{}, forget: forget, histories: histories}
}

// section returns that of a resource; they stand in the order of the first calls.
func (t *table) section(r schema.GroupResource) *section {
	for _, s := range t.sections {
		if s.resource == r {
			return s
		}
	}
	s := &section{resource: r, rows: map[name]*row{}, sets: map[string][]inventory.Column{}}
	t.sections = append(t.sections, s)
	return s
}

// apply takes over a change of an object; cells are those that it has now.
func (t *table) apply(c *inventory.Change, cells []string) {
	e := c.Event
	s, named := t.section(e.Target.Resource().GroupResource()), name{e.Target.Cluster, e.Object.Namespace, e.Object.Name}
	r := s.rows[named]
	isDeleted := e.Type == event.Deleted
	switch {
	case c.State == nil: // it is none any more of those that are shown
		if r != nil {
			t.remove(s, r)
		}
		return
	case isDeleted && (r == nil || r.gone): // there is nothing that could disappear
		t.forget(c.State.Entry)
		return
	case !isDeleted:
		s.setColumns(e.Target.Cluster, c.State.Columns())
	}
	if r == nil {
		r = &row{}
		s.rows[named] = r
	} else {
		s.tally(r, -1)
		s.hide(t.order, r)
	}
	if isDeleted {
		r.leave(e)
	} else {
		t.succeed(r, c.State.Entry)
		r.take(c.State, s.fit(c.State, cells))
		s.widen(r)
	}
	s.tally(r, 1)
	if !r.at.IsZero() || !r.gone && !r.ClearsAt().IsZero() {
		t.young[r] = s
	}
	t.place(s, r)
}

// succeed notes which object had the name of a row before. One is enough.
func (t *table) succeed(r *row, by *inventory.Entry) {
	if r.State == nil || r.Entry == by {
		return
	}
	if r.earlier != nil {
		t.forget(r.earlier)
	}
	r.earlier = r.Entry
}

// leave takes away the rows of a target of which nothing more is heard. What is deleted goes by itself.
func (t *table) leave(target event.Target) {
	s := t.section(target.Resource().GroupResource())
	for _, r := range s.rows {
		if !r.gone && r.Entry.IsIn(target) {
			t.remove(s, r)
		}
	}
}

func (t *table) remove(s *section, r *row) {
	s.tally(r, -1)
	s.hide(t.order, r)
	delete(s.rows, r.name())
	delete(t.young, r)
	t.forget(r.Entry)
	if r.earlier != nil {
		t.forget(r.earlier)
	}
}

// place shows a row where it belongs, if it is to be shown.
func (t *table) place(s *section, r *row) {
	if t.hasWords(s, r) && t.filter.holdsOf(r) {
		s.show(t.order, r)
	}
}

// hasWords reports whether a row has the words of the filter: who changed it is in one of the states that are held.
func (t *table) hasWords(s *section, r *row) bool {
	if !t.filter.asksWho() {
		return t.filter.hasWords(s, r, nil)
	}
	var by []string
	for _, h := range t.histories(r) {
		by = append(by, h.Managers()...)
	}
	return t.filter.hasWords(s, r, by)
}

// grow lets what was deleted go and what is ready move, and reports whether more will change.
func (t *table) grow(now time.Time) bool {
	for r, s := range t.young {
		switch {
		case !r.settled(now):
		case r.gone:
			t.remove(s, r)
		default:
			if !r.ClearsAt().IsZero() { // the crash loop has ended
				s.tally(r, -1)
				r.State = r.Cleared()
				r.rank = rankOf(r.State)
				s.tally(r, 1)
			}
			if r.sorted != r.rank {
				s.hide(t.order, r)
				r.sorted = r.rank
				t.place(s, r)
			}
			r.changed = nil
			delete(t.young, r)
		}
	}
	return len(t.young) > 0
}

// choose takes another filter for all rows; of the states in found it is known whether it matches.
func (t *table) choose(f filter, found map[*inventory.State]bool) {
	t.filter = f
	for _, s := range t.sections {
		for _, r := range s.rows {
			matches, known := found[r.State]
			r.shown = (known && matches || !known && f.holdsOf(r)) && t.hasWords(s, r)
		}
	}
	t.arrange()
}

func (t *table) arrange() {
	for _, s := range t.sections {
		s.order = s.order[:0]
		for _, r := range s.rows {
			if r.shown {
				s.order = append(s.order, r)
			}
		}
		slices.SortFunc(s.order, t.order.compare)
	}
}

// clone returns a table of its own, of the rows as they are. past says what they were.
func (t *table) clone(past func(*row) []inventory.History) *table {
	c := &table{order: t.order, filter: t.filter, young: map[*row]*section{}, histories: t.histories}
	for _, s := range t.sections {
		copied := *s
		copied.rows, copied.order = make(map[name]*row, len(s.rows)), nil
		copied.widths, copied.sets = slices.Clone(s.widths), maps.Clone(s.sets)
		for key, r := range s.rows {
			one := *r
			one.changed, one.past = slices.Clone(r.changed), past(r)
			copied.rows[key] = &one
		}
		c.sections = append(c.sections, &copied)
	}
	c.arrange()
	return c
}

func (t *table) total() (objects, notReady, shown int) {
	for _, s := range t.sections {
		objects += s.count()
		notReady += s.notReady
		shown += len(s.order)
	}
	return objects, notReady, shown
}
