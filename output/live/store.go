package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// store has the data that the screen shows. The watcher writes it and the model reads it. It embeds Options because the
// model and its parts read them from the store.
type store struct {
	Options
	inventory *inventory.Inventory

	mu       sync.Mutex // guards the fields below
	table    *table
	links    *event.WatchStates
	notes    []note
	events   int       // number of object events
	timeView *timeView // nil for a live watch

	changed chan struct{} // signals changes; has a buffer of one
}

// note is a message about the watch.
type note struct {
	at   time.Time
	text string
}

const maxNotes = 1000

func newStore(o Options) *store {
	s := &store{Options: o, links: event.NewWatchStates(o.Targets), changed: make(chan struct{}, 1)}
	if o.Recording != nil {
		s.timeView = &timeView{at: o.Recording.InitialTime, isEnd: o.Recording.InitialTime.IsZero()}
	}
	s.inventory = inventory.New(inventory.Options{Where: o.Where, Labels: o.Labels, ShowLabels: o.ShowLabels, EvictionCompare: &s.Compare, LookupOwners: o.LookupOwners, LookupWarning: o.LookupWarning, Targets: o.Targets, KubeEventsFiltered: o.KubeEventsFiltered, FullHistory: s.timeView != nil}, s.take)
	s.table = newTable(s.inventory.Forget, s.histories)
	for _, t := range o.Targets {
		s.table.section(t.Resource().GroupResource())
	}
	return s
}

// Deliver implements event.Sink.
func (s *store) Deliver(ctx context.Context, batch []event.Event) error {
	return s.inventory.Deliver(ctx, batch)
}

func (s *store) take(changes []inventory.Change) {
	if s.timeView != nil {
		s.takeRecorded(changes)
		return
	}
	cells := make([][]string, len(changes))
	for i, c := range changes {
		if c.State != nil {
			changes[i].State = s.inventory.WithOwned(c.State, c.Event.Time)
		}
		if c.State != nil && c.State.Type != event.Deleted {
			cells[i] = c.State.Cells() // slow: not under the lock
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range changes {
		c := &changes[i]
		s.links.Observe(c.Event)
		switch {
		case c.Event.Type == event.Left:
			s.table.removeTarget(c.Event.Target)
		case !c.Event.Type.IsStatus():
			s.events++
			s.table.apply(c, cells[i])
		}
	}
	s.refresh(changes[len(changes)-1].Event.Time)
	s.touch()
}

// refresh shows what became of objects without an event: crash loops that ended, and failures of objects that they own.
// The caller holds s.mu.
func (s *store) refresh(now time.Time) {
	if s.timeView != nil {
		return
	}
	for _, one := range s.inventory.Refresh(now) {
		s.table.turn(one)
	}
}

// histories returns the histories of a row's predecessor and object, as far as they are retained.
func (s *store) histories(r *row) (all []inventory.History) {
	if r.frozenHistories != nil {
		return r.frozenHistories
	}
	for _, o := range []*inventory.Entry{r.predecessor, r.Entry} {
		if o == nil {
			continue
		}
		if h, held := s.inventory.History(o.ID); held && h.Entry == o {
			all = append(all, s.timeView.withoutLater(h))
		}
	}
	return all
}

// Note adds a message about the watch.
func (s *store) Note(at time.Time, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, note{at, output.EscapeLine(text)})
	if len(s.notes) > maxNotes {
		s.notes = slices.Delete(s.notes, 0, len(s.notes)-maxNotes)
	}
	s.touch()
}

func (s *store) touch() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
