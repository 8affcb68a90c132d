package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/filter"
	"dwatch/watcher/object/expression"
)

// maxQueue is the maximum number of queued events of a subscriber, in addition to its initial events.
const maxQueue = 10_000

// subscriber is a client of /api/events. The lock of the Hub guards all fields but wanted.
type subscriber struct {
	wanted selection
	queue  []event.Event
	limit  int  // maximum length of queue
	lost   bool // removed, because its queue was full
}

// subscribe adds a subscriber whose queue has an initial ADDED event for each existing object, and then a Synced event for each
// target whose existing objects have all been reported.
func (h *Hub) subscribe(wanted selection) *subscriber {
	s := &subscriber{wanted: wanted}
	h.mu.Lock()
	defer h.mu.Unlock()
	all, _ := h.inventory.ListAt(inventory.Now, wanted.matches) // Now is always valid
	for _, state := range all {
		if d := rowViewOf(h, state); d != nil { // others are about to be published
			e := d.state.ToEvent(nil)
			e.Type, e.Initial = event.Added, true
			s.queue = append(s.queue, e)
		}
	}
	for _, l := range h.targets.links.All() {
		if l.Synced {
			s.queue = append(s.queue, event.Event{Type: event.Synced, Target: l.Target, Time: time.Now(), Count: l.Count})
		}
	}
	s.limit = len(s.queue) + maxQueue
	h.subscribers[s] = true
	return s
}

// publish queues an event for all subscribers whose selection matches. Status events match all. The Hub must be locked.
func (h *Hub) publish(c *inventory.Change) {
	for s := range h.subscribers {
		if c.State != nil && !s.wanted.matches(c.State) {
			continue
		}
		if s.lost = len(s.queue) >= s.limit; s.lost {
			s.queue = nil
			delete(h.subscribers, s)
			continue
		}
		e := *c.Event
		if e.Old = (event.Object{}); c.State != nil {
			e.Object = c.State.Object // masked
		}
		s.queue = append(s.queue, e)
	}
}

// queued takes all events from the queue of a subscriber. more is closed when there may be more.
func (h *Hub) queued(s *subscriber) (events []event.Event, more <-chan struct{}, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, s.queue, s.limit = s.queue, nil, maxQueue
	return events, h.news, s.lost
}

// filterOf parses the parameters that select events. They have the same names as the flags of the command line.
func filterOf(r *http.Request) (wanted selection, o filter.Options, err error) {
	wanted, values, err := selectionOf(r, "types", "watch-only", "marks")
	watchOnly, wrongWatchOnly := flagOf(values, "watch-only")
	marks, wrongMarks := flagOf(values, "marks")
	if err = cmp.Or(err, wrongWatchOnly, wrongMarks); err != nil {
		return wanted, o, err
	}
	o.WatchOnly, o.PassStatus = watchOnly, marks
	if text := values.Get("types"); text != "" {
		if o.Types, err = filter.ParseTypes(strings.Split(text, ",")); err != nil {
			return wanted, o, err
		}
	}
	if x := wanted.where; x != nil {
		o.Where = func(e *event.Event) bool {
			holds, err := x.Matches(expression.NewInput(*e, expression.Options{}))
			return holds && err == nil
		}
	}
	return wanted, o, nil
}

func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	wanted, passing, err := filterOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if !s.hub.isLive() {
		fail(w, http.StatusBadRequest, "a recording has no live events: dwatch RESOURCE... --from DIR prints its events")
		return
	}
	subscriber := s.hub.subscribe(wanted)
	defer s.hub.unsubscribe(subscriber)
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would wait for more before it passes it on
	w.WriteHeader(http.StatusOK)
	if err := s.send(r.Context(), w, subscriber, passing); err != nil {
		panic(http.ErrAbortHandler) // so that the client notices that the stream is incomplete
	}
}

func (h *Hub) unsubscribe(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.subscribers, s)
}

var errLost = errors.New("the reader is too far behind")

// send writes events until the Hub is closed, ctx ends, or the subscriber is lost.
func (s *Server) send(ctx context.Context, w http.ResponseWriter, to *subscriber, passing filter.Options) error {
	printer, err := output.New(w, output.Options{})
	if err != nil {
		return err
	}
	sink, control := filter.New(printer, passing), http.NewResponseController(w)
	for {
		closed := s.hub.isClosed()
		events, more, lost := s.hub.queued(to)
		for part := range slices.Chunk(events, maxTurn) {
			if err := control.SetWriteDeadline(time.Now().Add(s.patience)); err != nil {
				return err
			}
			if err := sink.Deliver(ctx, part); err != nil {
				return err
			}
		}
		switch err := control.Flush(); {
		case err != nil:
			return err
		case lost:
			return errLost
		case closed:
			return nil
		}
		select {
		case <-more:
		case <-s.hub.closed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
