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

// Options configures a Stage.
type Options struct {
	// QuietPeriod is the time without significant changes after which a group is quiet. MaxWait is the maximum time for
	// which a group is buffered.
	QuietPeriod, MaxWait time.Duration
	// MaxBytes bounds the buffer. Zero means DefaultMaxBytes.
	MaxBytes int64
	// Compare tells which changes are significant. Values that its Masks hide appear in no reason.
	Compare change.Options
	Warn    func(line string) // called when the buffer is full; nil disables it
}

// DefaultMaxBytes is the default size of the buffer.
const DefaultMaxBytes = 64 << 20

// HeartbeatInterval is the interval at which the Stage needs heartbeats.
func (o *Options) HeartbeatInterval() time.Duration {
	return min(max(o.QuietPeriod/10, 100*time.Millisecond), time.Second)
}

// Stage is a Sink that buffers events. See the package comment.
type Stage struct {
	Options
	next event.Sink

	tracker   tracker
	links     *event.WatchStates
	waiting   []*pendingObject                  // in the order of their first event
	byObject  map[resourceObject]*pendingObject // latest pending entry of each object
	byName    map[name]*pendingObject           // latest pending entry of each name
	bytes     int64
	checkedAt time.Time // time of the last check for quiet groups
	released  []event.Event
	warned    bool // a warning was issued since the buffer last had room

	changes, objects atomic.Int64 // that are pending
}

var _ event.Sink = (*Stage)(nil)

// New returns a Stage that delivers to next.
func New(next event.Sink, o Options) *Stage {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &Stage{Options: o, next: next, tracker: newTracker(o.Compare.Masks), links: event.NewWatchStates(nil), byObject: map[resourceObject]*pendingObject{}, byName: map[name]*pendingObject{}}
}

// Deliver implements event.Sink.
func (s *Stage) Deliver(ctx context.Context, batch []event.Event) error {
	s.released = s.released[:0]
	var beat time.Time
	for i := range batch {
		if e := &batch[i]; e.Type == event.Heartbeat {
			beat = e.Time
		} else {
			s.take(e)
		}
	}
	if !beat.IsZero() { // after all events of the batch, which were received before the heartbeat
		s.releaseQuiet(beat)
	}
	s.makeRoom()
	return s.deliverReleased(ctx)
}

// Flush delivers all pending events. No other method may be called after it, except Pending and Status.
func (s *Stage) Flush(ctx context.Context) error {
	s.released = s.released[:0]
	s.release(func(*group) (event.FlushReason, bool) { return event.FlushShutdown, true })
	return s.deliverReleased(ctx)
}

// Pending returns the numbers of buffered changes and objects. It is safe for concurrent use.
func (s *Stage) Pending() (changes, objects int) {
	return int(s.changes.Load()), int(s.objects.Load())
}

// Status describes the buffered changes. It returns "" if there are none or s is nil. It is safe for concurrent use.
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

// deliverReleased delivers the released events to the next Sink.
func (s *Stage) deliverReleased(ctx context.Context) error {
	s.count()
	if len(s.released) == 0 {
		return nil
	}
	defer func() { clear(s.released) }() // release the objects
	return s.next.Deliver(ctx, s.released)
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
		s.observeStatus(e)
		s.released = append(s.released, *e)
	case e.Reconstructed != nil:
		s.released = append(s.released, *e)
	default:
		id := idOf(e)
		up := s.tracker.observe(id, e)
		if e.Initial && s.byObject[resourceObjectOf(id, e)] == nil {
			s.releasePredecessor(e)
			s.released = append(s.released, *e)
			return
		}
		s.buffer(id, up, e)
	}
}

// releasePredecessor releases a pending object before an unbuffered event of another object with its name.
func (s *Stage) releasePredecessor(e *event.Event) {
	before := s.byName[nameOf(e)]
	if before == nil {
		return
	}
	s.release(func(b *group) (event.FlushReason, bool) {
		return event.FlushOrdering, slices.Contains(b.objects, before)
	})
}

// observeStatus releases the objects of targets that a status event ends: its own target, or targets that a new one
// replaces.
func (s *Stage) observeStatus(e *event.Event) {
	key := e.Target.Key()
	switch e.Type {
	case event.Left, event.Gone:
		s.releaseTargets(event.FlushUnwatched, func(o event.Key) bool { return o == key })
	case event.Arrived, event.Joined:
		s.releaseTargets(event.FlushOrdering, key.Covers)
	}
	if e.Type == event.Left {
		s.tracker.dropTarget(key)
	}
}

// releaseTargets releases the groups with objects of some targets.
func (s *Stage) releaseTargets(cut event.FlushReason, is func(event.Key) bool) {
	s.release(func(b *group) (event.FlushReason, bool) {
		return cut, slices.ContainsFunc(b.objects, func(h *pendingObject) bool { return is(h.event.Target.Key()) })
	})
}

// buffer adds an event to the pending object, or creates one.
func (s *Stage) buffer(id, up string, e *event.Event) {
	counts := isSignificant(e, s.Compare)
	as := resourceObjectOf(id, e)
	h := s.byObject[as]
	if h != nil && h.accepts(e) {
		s.bytes -= h.size
		h.owner = up // an owner may have been set
		h.add(e, counts)
	} else {
		called := nameOf(e)
		h = newPendingObject(id, up, e, counts)
		h.predecessor = s.byName[called]
		s.waiting, s.byObject[as], s.byName[called] = append(s.waiting, h), h, h
	}
	s.bytes += h.size
}

// releaseQuiet releases the groups that are quiet or have waited for too long.
func (s *Stage) releaseQuiet(now time.Time) {
	if len(s.waiting) == 0 || now.Sub(s.checkedAt) < s.HeartbeatInterval()/2 { // several clusters send heartbeats
		return
	}
	s.checkedAt = now
	stuck := s.rootsWithReason()
	s.release(func(b *group) (event.FlushReason, bool) {
		heard, since := s.connectedSince(b)
		switch {
		case heard && now.Sub(b.lastChange) >= s.QuietPeriod && now.Sub(since) >= s.QuietPeriod && (stuck[b.root] || !s.isInProgress(b)):
			return "", true
		case now.Sub(b.since) < s.MaxWait:
		case heard:
			return event.FlushMaxSettle, true
		default:
			return event.FlushDisconnected, true
		}
		return "", false
	})
	s.tracker.forget(now.Add(-s.MaxWait))
}

// makeRoom releases the oldest groups until the buffer is half empty, if it is full.
func (s *Stage) makeRoom() {
	if s.bytes <= s.MaxBytes {
		s.warned = s.warned && s.bytes > s.MaxBytes/2
		return
	}
	if !s.warned {
		s.warned = true
		s.Warn(fmt.Sprintf("--settle: the buffer of %d MiB is full, emitting the oldest changes before they are quiet", s.MaxBytes>>20))
	}
	s.release(func(*group) (event.FlushReason, bool) { return event.FlushBufferFull, s.bytes > s.MaxBytes/2 })
}
