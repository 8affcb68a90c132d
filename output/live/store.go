package live

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dwatch/output"
	"dwatch/watcher/event"
)

// store is what the screen shows, as of now. The watcher writes to it, and the screen
// reads it.
type store struct {
	Options
	mu      sync.Mutex
	table   *table
	archive archive
	links   *event.Links
	notes   []note
	// events counts those of objects, and last is when the last came.
	events int
	last   time.Time

	// changed has room for one word that something has.
	changed chan struct{}

	// rows and scratch are for Deliver alone.
	rows    map[*section]*output.Rows
	scratch []byte
}

// note is what somebody else says.
type note struct {
	at   time.Time
	text string
}

// maxNotes is how many are kept.
const maxNotes = 1000

func newStore(o Options) *store {
	s := &store{
		Options: o, table: newTable(), archive: archive{limit: maxHistory}, links: event.NewLinks(o.Targets),
		changed: make(chan struct{}, 1), rows: map[*section]*output.Rows{},
	}
	for _, t := range o.Targets {
		s.table.section(t.Resource().GroupResource())
	}
	return s
}

// chunk is for how many events the store is locked at once.
const chunk = 128

// Deliver implements event.Sink.
func (s *store) Deliver(_ context.Context, batch []event.Event) error {
	for part := range slices.Chunk(batch, chunk) {
		updates := make([]*update, len(part))
		for i := range part {
			if err := s.prepare(&part[i], &updates[i]); err != nil {
				return err
			}
		}
		s.put(part, updates)
	}
	return nil
}

// prepare works out what an event makes of its row; nothing for a mark.
func (s *store) prepare(e *event.Event, into **update) error {
	if e.Type.IsMark() {
		return nil
	}
	u := &update{event: e}
	*into = u
	if s.Where != nil && e.Type != event.Deleted && !s.Where(e) {
		u.leaves = true
		return nil
	}
	u.object, u.size = pack(e.Object, &s.scratch)
	if e.Type == event.Deleted {
		return nil
	}
	rows := s.rowsOf(e)
	var err error
	if u.cells, err = rows.Cells(e.Object); err == nil {
		shorten(u.cells)
		u.columns = rows.Columns()
		err = u.judge(e.Object)
	}
	if err != nil {
		return fmt.Errorf("show %s/%s: %w", e.Object.Kind, output.Line(e.Object.Name), err)
	}
	return nil
}

// maxCell is how many bytes of a cell are kept: more than a screen can show.
const maxCell = 1000

// shorten cuts cells that are too long for any screen.
func shorten(cells []string) {
	for i, cell := range cells {
		if len(cell) > maxCell {
			cells[i] = strings.ToValidUTF8(cell[:maxCell], "") + ellipsis
		}
	}
}

// rowsOf returns what makes the cells of an object.
func (s *store) rowsOf(e *event.Event) *output.Rows {
	s.mu.Lock()
	section := s.table.section(e.Target.Resource().GroupResource())
	s.mu.Unlock()
	if s.rows[section] == nil {
		s.rows[section] = &output.Rows{Labels: s.Labels, ShowLabels: s.ShowLabels}
	}
	return s.rows[section]
}

// put takes over some events.
func (s *store) put(part []event.Event, updates []*update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, u := range updates {
		e := &part[i]
		s.links.Observe(e)
		if u == nil {
			continue
		}
		s.events++
		if e.Time.After(s.last) {
			s.last = e.Time
		}
		section := s.table.section(e.Target.Resource().GroupResource())
		if u.leaves {
			s.table.forget(section, e.Object)
			continue
		}
		s.record(u, s.table.apply(section, u))
	}
	s.touch()
}

// overhead is about what a state takes in memory beside what is packed.
const overhead = 300

// record keeps the state of an object.
func (s *store) record(u *update, r *row) {
	if r == nil {
		return
	}
	e := u.event
	r.add(&s.archive, state{
		kind: e.Type, at: e.Time, object: u.object, target: e.Target, size: u.size + overhead,
		initial: e.Initial, listed: e.Listed, unknown: e.FinalStateUnknown,
	})
}

// Note takes what somebody else has to say.
func (s *store) Note(at time.Time, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, note{at, output.Line(text)})
	if len(s.notes) > maxNotes {
		s.notes = slices.Delete(s.notes, 0, len(s.notes)-maxNotes)
	}
	s.touch()
}

// touch says that something has changed.
func (s *store) touch() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
