package live

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// table has all rows, and the sort order of the shown rows.
type table struct {
	sections []*section
	order    order
	filter   filter
	// changing are the rows that still fade or will disappear.
	changing map[*row]*section
	// forget releases an object that no row shows any more.
	forget func(*inventory.Entry)
	// histories returns the histories of a row.
	histories func(*row) []inventory.History
}

func newTable(forget func(*inventory.Entry), histories func(*row) []inventory.History) *table {
	return &table{changing: map[*row]*section{}, forget: forget, histories: histories}
}

// section returns the section of a resource. It creates it at the end of the table if there is none.
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

// apply applies a change of an object. cells are its current cells.
func (t *table) apply(c *inventory.Change, cells []string) {
	e := c.Event
	s, named := t.section(e.Target.Resource().GroupResource()), name{e.Target.Cluster, e.Object.Namespace, e.Object.Name}
	r := s.rows[named]
	isDeleted := e.Type == event.Deleted
	switch {
	case c.State == nil: // no longer selected
		if r != nil {
			t.remove(s, r)
		}
		return
	case isDeleted && (r == nil || r.deleted): // no row to remove
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
		r.markDeleted(e)
	} else {
		t.setPredecessor(r, c.State.Entry)
		r.take(c.State, s.fit(c.State, cells))
		s.widen(r)
	}
	s.tally(r, 1)
	if !r.at.IsZero() {
		t.changing[r] = s
	}
	t.place(s, r)
}

// turn shows another status of an object that no event was about. Its row moves at once.
func (t *table) turn(to *inventory.State) {
	s := t.section(to.Entry.Resource)
	r := s.rows[name{to.Entry.Cluster, to.Entry.Namespace, to.Entry.Name}]
	if r == nil || r.deleted || r.Entry != to.Entry {
		return
	}
	s.tally(r, -1)
	s.hide(t.order, r)
	r.State, r.rank = to, rankOf(to)
	r.sorted = r.rank
	s.tally(r, 1)
	t.place(s, r)
}

// setPredecessor stores the previous object of the row's name before a new one takes it. Only one is retained.
func (t *table) setPredecessor(r *row, by *inventory.Entry) {
	if r.State == nil || r.Entry == by {
		return
	}
	if r.predecessor != nil {
		t.forget(r.predecessor)
	}
	r.predecessor = r.Entry
}

// removeTarget removes the rows of a target that is no longer watched. Rows of deleted objects disappear by themselves.
func (t *table) removeTarget(target event.Target) {
	s := t.section(target.Resource().GroupResource())
	for _, r := range s.rows {
		if !r.deleted && r.Entry.IsIn(target) {
			t.remove(s, r)
		}
	}
}

func (t *table) remove(s *section, r *row) {
	s.tally(r, -1)
	s.hide(t.order, r)
	delete(s.rows, r.name())
	delete(t.changing, r)
	t.forget(r.Entry)
	if r.predecessor != nil {
		t.forget(r.predecessor)
	}
}

// place inserts a row in the order if it matches the filter.
func (t *table) place(s *section, r *row) {
	if t.hasWords(s, r) && t.filter.matchesCondition(r) {
		s.show(t.order, r)
	}
}

// hasWords reports whether a row matches the words and managers of the filter. Managers of all retained states count.
func (t *table) hasWords(s *section, r *row) bool {
	if !t.filter.needsManagers() {
		return t.filter.hasWords(s, r, nil)
	}
	var by []string
	for _, h := range t.histories(r) {
		by = append(by, h.Managers()...)
	}
	return t.filter.hasWords(s, r, by)
}

// age ends highlights whose time has passed, removes the rows of deleted objects, and moves rows that became ready. It
// reports whether rows remain that will still change.
func (t *table) age(now time.Time) bool {
	for r, s := range t.changing {
		switch {
		case !r.isStable(now):
		case r.deleted:
			t.remove(s, r)
		default:
			if r.sorted != r.rank {
				s.hide(t.order, r)
				r.sorted = r.rank
				t.place(s, r)
			}
			r.changed = nil
			delete(t.changing, r)
		}
	}
	return len(t.changing) > 0
}

// choose applies another filter. found has the known results of its condition.
func (t *table) choose(f filter, found map[*inventory.State]bool) {
	t.filter = f
	for _, s := range t.sections {
		for _, r := range s.rows {
			matches, known := found[r.State]
			r.shown = (known && matches || !known && f.matchesCondition(r)) && t.hasWords(s, r)
		}
	}
	t.sort()
}

func (t *table) sort() {
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

// clone returns an independent copy of the table. past returns the histories to retain for a row.
func (t *table) clone(past func(*row) []inventory.History) *table {
	c := &table{order: t.order, filter: t.filter, changing: map[*row]*section{}, histories: t.histories}
	for _, s := range t.sections {
		copied := *s
		copied.rows, copied.order = make(map[name]*row, len(s.rows)), nil
		copied.widths, copied.sets = slices.Clone(s.widths), maps.Clone(s.sets)
		for key, r := range s.rows {
			one := *r
			one.changed, one.frozenHistories = slices.Clone(r.changed), past(r)
			copied.rows[key] = &one
		}
		c.sections = append(c.sections, &copied)
	}
	c.sort()
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
