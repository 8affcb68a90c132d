package live

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// table has all rows, and says which are shown in which order.
type table struct {
	sections []*section
	order    order
	filter   filter
	// young are the rows that change with time by more than their age.
	young map[*row]*section
}

func newTable() *table { return &table{young: map[*row]*section{}} }

// section returns that of a resource; they stand in the order of the first calls.
func (t *table) section(r schema.GroupResource) *section {
	for _, s := range t.sections {
		if s.resource == r {
			return s
		}
	}
	s := newSection(r)
	t.sections = append(t.sections, s)
	return s
}

// apply takes over what an event says of an object.
func (t *table) apply(s *section, u *update) *row {
	key := object{u.event.Object.Namespace, u.event.Object.Name}
	r := s.rows[key]
	if u.event.Type == event.Deleted {
		if r != nil {
			t.bury(s, r, u.event.Time)
		}
		return r
	}
	s.setColumns(u.columns)
	isNew := r == nil
	if isNew {
		r = &row{namespace: key.namespace, name: key.name, rank: ready, sorted: u.rank}
		s.rows[key] = r
	} else {
		s.tally(r, -1)
		s.hide(t.order, r)
	}
	r.take(u, len(s.columns), isNew)
	s.tally(r, 1)
	s.widen(r)
	if !r.at.IsZero() {
		t.young[r] = s
	}
	t.place(s, r)
	return r
}

// take makes the row what an update says.
func (r *row) take(u *update, columns int, isNew bool) {
	e := u.event
	before, again := r.cells, r.gone
	r.object, r.cells, r.created, r.rank, r.why = u.object, u.cells, u.created, u.rank, u.why
	r.gone, r.made, r.sorted = false, e.Time, min(r.sorted, u.rank)
	switch {
	case isNew && e.Initial:
		return
	case isNew || again:
		r.sign, r.added, r.changed = '+', e.Time, nil
	default:
		if freshness(r.added, e.Time) == 0 { // what is new changes at once, and stays new
			r.sign = '~'
		}
		r.mark(before, columns, e.Time)
	}
	r.at = e.Time
}

// mark notes which cells have changed.
func (r *row) mark(before []string, columns int, at time.Time) {
	for i := range min(len(before), len(r.cells), columns) {
		if cellChanged(before[i], r.cells[i]) {
			if len(r.changed) != columns {
				r.changed = make([]time.Time, columns)
			}
			r.changed[i] = at
		}
	}
}

// bury shows a row as deleted.
func (t *table) bury(s *section, r *row, at time.Time) {
	if r.gone {
		return
	}
	s.tally(r, -1)
	s.hide(t.order, r)
	r.gone, r.sign, r.at, r.changed = true, '-', at, nil
	s.tally(r, 1)
	t.young[r] = s
	t.place(s, r)
}

// remove forgets a row.
func (t *table) remove(s *section, r *row) {
	s.tally(r, -1)
	s.hide(t.order, r)
	delete(s.rows, object{r.namespace, r.name})
	delete(t.young, r)
	r.drop()
}

// forget removes the row of an object that is none any more of those that are shown.
func (t *table) forget(s *section, o event.Object) {
	if r := s.rows[object{o.Namespace, o.Name}]; r != nil {
		t.remove(s, r)
	}
}

// place shows a row where it belongs, if it is to be shown.
func (t *table) place(s *section, r *row) {
	if t.filter.matches(s, r) {
		s.show(t.order, r)
	}
}

// grow does what time does to the rows: what was deleted disappears, and what has become
// ready goes to its place. It reports whether there is something that still changes.
func (t *table) grow(now time.Time) bool {
	for r, s := range t.young {
		switch {
		case !r.settled(now):
		case r.gone:
			t.remove(s, r)
		default:
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

// choose takes another filter for all rows. Of objects that are found it is known whether
// it matches.
func (t *table) choose(f filter, found map[*event.Identity]bool) {
	t.filter = f
	for _, s := range t.sections {
		for _, r := range s.rows {
			matches, known := found[r.object.Identity]
			r.shown = known && matches || !known && t.filter.matches(s, r)
		}
	}
	t.arrange()
}

// arrange puts the rows that are shown in order anew.
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

// clone returns a table of its own, of the rows as they are.
func (t *table) clone() *table {
	c := &table{order: t.order, filter: t.filter, young: map[*row]*section{}}
	for _, s := range t.sections {
		copied := *s
		copied.rows, copied.order = make(map[object]*row, len(s.rows)), nil
		copied.widths = slices.Clone(s.widths)
		for key, r := range s.rows {
			one := *r
			one.changed, one.states = slices.Clone(r.changed), slices.Clone(r.states)
			copied.rows[key] = &one
		}
		c.sections = append(c.sections, &copied)
	}
	c.arrange()
	return c
}

// total counts the objects, those that are not ready or failed, and those shown.
func (t *table) total() (objects, notReady, shown int) {
	for _, s := range t.sections {
		objects += s.count()
		notReady += s.unready + s.failed
		shown += len(s.order)
	}
	return objects, notReady, shown
}
