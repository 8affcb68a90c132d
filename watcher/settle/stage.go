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
	// MaxBytes is the size above which the buffer is full. Zero means DefaultMaxBytes.
	MaxBytes int64
	// Compare defines which changes are significant. Its Masks also apply to SettledGroup.Message and
	// UnhealthyObject.Message.
	Compare change.Options
	// Warn is called when the buffer becomes full. nil disables it.
	Warn func(line string)
}

// DefaultMaxBytes is the default size of the buffer.
const DefaultMaxBytes = 64 << 20

// HeartbeatInterval returns the interval at which the Stage needs heartbeats.
func (o *Options) HeartbeatInterval() time.Duration {
	return min(max(o.QuietPeriod/10, 100*time.Millisecond), time.Second)
}

// Stage is a Sink that buffers events. See the package comment.
type Stage struct {
	Options
	next event.Sink

	tracker   tracker
	watches   *event.WatchStates
	buffer    buffer
	checkedAt time.Time     // time of the last check for quiet groups
	released  []event.Event // events to deliver to next
	warned    bool          // Warn was called, and the buffer has been more than half full since

	changes, objects atomic.Int64 // for Pending
}

var _ event.Sink = (*Stage)(nil)

// New returns a Stage that delivers to next.
func New(next event.Sink, o Options) *Stage {
	o.MaxBytes = cmp.Or(o.MaxBytes, DefaultMaxBytes)
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	return &Stage{Options: o, next: next, tracker: newTracker(o.Compare.Masks), watches: event.NewWatchStates(nil), buffer: newBuffer()}
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

// Flush delivers all pending events, with FlushShutdown as the reason. The caller must not call Deliver afterwards.
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
	defer func() { clear(s.released) }() // allows the memory of the objects to be freed
	return s.next.Deliver(ctx, s.released)
}

// count updates the numbers that Pending returns.
func (s *Stage) count() {
	s.changes.Store(int64(s.buffer.changes()))
	s.objects.Store(int64(len(s.buffer.objects)))
}

// take buffers an event, or adds it to the released events.
func (s *Stage) take(e *event.Event) {
	s.watches.Observe(e)
	switch {
	case e.Type.IsStatus():
		s.observeStatus(e)
		s.released = append(s.released, *e)
	case e.Reconstructed != nil:
		s.released = append(s.released, *e)
	default:
		id := idOf(e)
		ownerID := s.tracker.observe(id, e)
		if e.Initial && s.buffer.byObject[resourceObjectOf(id, e)] == nil {
			s.releasePredecessor(e)
			s.released = append(s.released, *e)
			return
		}
		s.buffer.add(id, ownerID, e, isSignificant(e, s.Compare))
	}
}

// releasePredecessor releases the group of a pending object with the same name as the object of e, so that its events
// precede e.
func (s *Stage) releasePredecessor(e *event.Event) {
	predecessor := s.buffer.byName[nameOf(e)]
	if predecessor == nil {
		return
	}
	s.release(func(g *group) (event.FlushReason, bool) {
		return event.FlushOrdering, slices.Contains(g.objects, predecessor)
	})
}

// observeStatus releases the groups with objects of targets that a status event ends: its own target, or the targets that
// it replaces.
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

// releaseTargets releases the groups with objects of the targets for which match returns true.
func (s *Stage) releaseTargets(reason event.FlushReason, match func(event.Key) bool) {
	s.release(func(g *group) (event.FlushReason, bool) {
		return reason, slices.ContainsFunc(g.objects, func(p *pendingObject) bool { return match(p.event.Target.Key()) })
	})
}

// releaseQuiet releases the groups that are quiet or have been buffered for MaxWait.
func (s *Stage) releaseQuiet(now time.Time) {
	if len(s.buffer.objects) == 0 || now.Sub(s.checkedAt) < s.HeartbeatInterval()/2 { // several clusters send heartbeats
		return
	}
	s.checkedAt = now
	stuck := s.rootsWithReason()
	s.release(func(g *group) (event.FlushReason, bool) {
		connected, since := s.connectedSince(g)
		switch {
		case connected && now.Sub(g.lastChange) >= s.QuietPeriod && now.Sub(since) >= s.QuietPeriod && (stuck[g.root] || !s.isInProgress(g)):
			return "", true
		case now.Sub(g.since) < s.MaxWait:
		case connected:
			return event.FlushMaxSettle, true
		default:
			return event.FlushDisconnected, true
		}
		return "", false
	})
	s.tracker.forget(now.Add(-s.MaxWait))
}

// makeRoom releases the oldest groups until the buffer is at most half full. It does nothing if the buffer is not full.
func (s *Stage) makeRoom() {
	if s.buffer.bytes <= s.MaxBytes {
		s.warned = s.warned && s.buffer.bytes > s.MaxBytes/2
		return
	}
	if !s.warned {
		s.warned = true
		s.Warn(fmt.Sprintf("--settle: the buffer of %d MiB is full, emitting the oldest changes before they are quiet", s.MaxBytes>>20))
	}
	s.release(func(*group) (event.FlushReason, bool) { return event.FlushBufferFull, s.buffer.bytes > s.MaxBytes/2 })
}
