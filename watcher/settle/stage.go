package settle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Options say when something is quiet.
type Options struct {
	// Quiet is for how long nothing may change, and Max after what time nobody waits any longer.
	QuietPeriod, MaxWait time.Duration
	// Room is how many bytes may wait; 0: DefaultRoom.
	MaxBytes int64
	// Compare says which changes count. What its Masks cover is in no reason.
	Compare change.Options
	Warn    func(line string) // nil: nobody is told that there is no room
}

// DefaultRoom is how much waits by default.
const DefaultMaxBytes = 64 << 20

// Beat is how often a Stage needs a heartbeat.
func (o *Options) HeartbeatInterval() time.Duration {
	return min(max(o.QuietPeriod/10, 100*time.Millisecond), time.Second)
}

// Stage is a Sink that holds events. See the package comment.
type Stage struct {
	Options
	next event.Sink

	known   known
	links   *event.WatchStates
	waiting []*held         // in the order in which they came
	last    map[shown]*held // the last one of an object that waits
	named   map[name]*held  // and of a name
	bytes   int64
	looked  time.Time // when it was looked last what is quiet
	passing []event.Event
	told    bool // that there is no room, and there still is none

	changes, objects atomic.Int64 // that wait
}

var _ event.Sink = (*Stage)(nil)

// New returns a Stage before next.
func New(next event.Sink, o Options) *Stage {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &Stage{Options: o, next: next, known: newKnown(o.Compare.Masks), links: event.NewWatchStates(nil), last: map[shown]*held{}, named: map[name]*held{}}
}

// Deliver implements event.Sink.
func (s *Stage) Deliver(ctx context.Context, batch []event.Event) error {
	s.passing = s.passing[:0]
	var beat time.Time
	for i := range batch {
		if e := &batch[i]; e.Type == event.Heartbeat {
			beat = e.Time
		} else {
			s.take(e)
		}
	}
	if !beat.IsZero() { // only now: what comes behind one in a batch was received before it
		s.look(beat)
	}
	s.makeRoom()
	return s.pass(ctx)
}

// End delivers all that waits. It is called last.
func (s *Stage) Flush(ctx context.Context) error {
	s.passing = s.passing[:0]
	s.settle(func(*bundle) (event.FlushReason, bool) { return event.FlushShutdown, true })
	return s.pass(ctx)
}

// Waiting is how much waits. It may be called at any time.
func (s *Stage) Pending() (changes, objects int) {
	return int(s.changes.Load()), int(s.objects.Load())
}

// Status says how much waits; empty if nothing does. It may be called at any time, also of nil.
func (s *Stage) Status() string {
	if s == nil {
		return ""
	}
	switch changes, objects := s.Pending(); {
	case objects == 0:
		return ""
	case changes == 1:
		return "1 change waits for quiet"
	case objects == 1:
		return fmt.Sprintf("%d changes of 1 object wait for quiet", changes)
	default:
		return fmt.Sprintf("%d changes of %d objects wait for quiet", changes, objects)
	}
}

// pass delivers what is to go on.
func (s *Stage) pass(ctx context.Context) error {
	s.count()
	if len(s.passing) == 0 {
		return nil
	}
	defer func() { clear(s.passing) }() // so that the objects do not stay in memory
	return s.next.Deliver(ctx, s.passing)
}

func (s *Stage) count() {
	changes := 0
	for _, h := range s.waiting {
		changes += h.changes
	}
	s.changes.Store(int64(changes))
	s.objects.Store(int64(len(s.waiting)))
}

func (s *Stage) take(e *event.Event) {
	s.links.Observe(e)
	switch {
	case e.Type.IsStatus():
		s.mark(e)
		s.passing = append(s.passing, *e)
	case e.Reconstructed != nil:
		s.passing = append(s.passing, *e)
	default:
		id := idOf(e)
		up := s.known.observe(id, e)
		if e.Initial && s.last[shownBy(id, e)] == nil {
			s.letGoBefore(e)
			s.passing = append(s.passing, *e)
			return
		}
		s.hold(id, up, e)
	}
}

// letGoBefore lets go what had the name of an object that does not wait.
func (s *Stage) letGoBefore(e *event.Event) {
	before := s.named[nameOf(e)]
	if before == nil {
		return
	}
	s.settle(func(b *bundle) (event.FlushReason, bool) { return event.FlushOrdering, slices.Contains(b.held, before) })
}

// mark lets go what a mark is about, which says that its target, or one of which it takes the place, is watched
// no more.
func (s *Stage) mark(e *event.Event) {
	key := e.Target.Key()
	switch e.Type {
	case event.Left, event.Gone:
		s.letGoOf(event.FlushUnwatched, func(o event.Key) bool { return o == key })
	case event.Arrived, event.Joined:
		s.letGoOf(event.FlushOrdering, key.Covers)
	}
	if e.Type == event.Left {
		s.known.leave(key)
	}
}

// letGoOf lets go what waits of some targets, and what belongs to it.
func (s *Stage) letGoOf(cut event.FlushReason, is func(event.Key) bool) {
	s.settle(func(b *bundle) (event.FlushReason, bool) {
		return cut, slices.ContainsFunc(b.held, func(h *held) bool { return is(h.event.Target.Key()) })
	})
}

// hold has an event wait.
func (s *Stage) hold(id, up string, e *event.Event) {
	counts := isNews(e, s.Compare)
	as := shownBy(id, e)
	h := s.last[as]
	if h != nil && h.takes(e) {
		s.bytes -= h.size
		h.up = up // it may have got an owner
		h.add(e, counts)
	} else {
		called := nameOf(e)
		h = newHeld(id, up, e, counts)
		h.after = s.named[called]
		s.waiting, s.last[as], s.named[called] = append(s.waiting, h), h, h
	}
	s.bytes += h.size
}

// look lets go what is quiet now.
func (s *Stage) look(now time.Time) {
	if len(s.waiting) == 0 || now.Sub(s.looked) < s.HeartbeatInterval()/2 { // several clusters have a heart each
		return
	}
	s.looked = now
	stuck := s.stuck()
	s.settle(func(b *bundle) (event.FlushReason, bool) {
		heard, since := s.heard(b)
		switch {
		case heard && now.Sub(b.until) >= s.QuietPeriod && now.Sub(since) >= s.QuietPeriod && (stuck[b.root] || !s.isUnderWay(b)):
			return "", true
		case now.Sub(b.since) < s.MaxWait:
		case heard:
			return event.FlushMaxSettle, true
		default:
			return event.FlushDisconnected, true
		}
		return "", false
	})
	s.known.forget(now.Add(-s.MaxWait))
}

// makeRoom lets go the oldest of what waits while that is too much.
func (s *Stage) makeRoom() {
	if s.bytes <= s.MaxBytes {
		s.told = s.told && s.bytes > s.MaxBytes/2
		return
	}
	if !s.told {
		s.told = true
		s.Warn(fmt.Sprintf("--settle: there is room for %d MiB of what waits for quiet, and more changes: the oldest is told as it is", s.MaxBytes>>20))
	}
	s.settle(func(*bundle) (event.FlushReason, bool) { return event.FlushBufferFull, s.bytes > s.MaxBytes/2 })
}
