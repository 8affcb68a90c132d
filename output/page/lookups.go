package page

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

const (
	// askTimeout limits a lookup. askEvery is the minimum interval between lookups for the same object. maxAsked is the
	// maximum number of running and cached lookups.
	askTimeout, askEvery = 10 * time.Second, 3 * time.Second
	maxAsked             = 20
)

// lookupFunc looks up items about the current state of an object.
type lookupFunc[T any] func(ctx context.Context, this *inventory.Entry, o event.Object) ([]T, error)

// lookupCache runs lookups about objects and shares each one among all viewers of the object.
type lookupCache[T any] struct {
	ask func(h *Hub) lookupFunc[T]
	ctx context.Context // ends the lookups

	every   time.Duration  // askEvery, except in tests
	working sync.WaitGroup // running lookups

	mu    sync.Mutex
	known map[string]*lookupCall[T] // by the stream of the Hub and the key of the object
}

func newLookupCache[T any](ctx context.Context, ask func(*Hub) lookupFunc[T]) *lookupCache[T] {
	return &lookupCache[T]{ask: ask, ctx: ctx, every: askEvery, known: map[string]*lookupCall[T]{}}
}

// lookupCall is a lookup. Its result is valid once done is closed.
type lookupCall[T any] struct {
	began time.Time
	done  chan struct{}
	items []T
	err   error
}

var errBusy = errors.New("the server is asked about too many objects at the same time: try again")

// get returns the items about an object of a Hub. It waits until the lookup or ctx ends.
func (q *lookupCache[T]) get(ctx context.Context, h *Hub, this *inventory.Entry, o event.Object) ([]T, error) {
	one, err := q.startOrJoin(h, this, o)
	if err != nil {
		return nil, err
	}
	select {
	case <-one.done:
		return one.items, one.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// startOrJoin returns the recent or running lookup for the object, or starts one.
func (q *lookupCache[T]) startOrJoin(h *Hub, this *inventory.Entry, o event.Object) (*lookupCall[T], error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for k, old := range q.known {
		if now.Sub(old.began) > q.every && old.isDone() {
			delete(q.known, k)
		}
	}
	key := h.stream + this.ID
	if one := q.known[key]; one != nil {
		return one, nil
	}
	if !q.makeRoomLocked() {
		return nil, errBusy
	}
	one := &lookupCall[T]{began: now, done: make(chan struct{})}
	q.known[key] = one
	q.working.Go(func() {
		defer close(one.done)
		ctx, cancel := context.WithTimeout(q.ctx, askTimeout)
		defer cancel()
		one.items, one.err = q.ask(h)(ctx, this, o)
	})
	return one, nil
}

// makeRoomLocked removes the oldest finished lookup if the cache is full. It returns false if all lookups are still running.
func (q *lookupCache[T]) makeRoomLocked() bool {
	if len(q.known) < maxAsked {
		return true
	}
	oldest := ""
	for key, one := range q.known {
		if one.isDone() && (oldest == "" || one.began.Before(q.known[oldest].began)) {
			oldest = key
		}
	}
	delete(q.known, oldest)
	return oldest != ""
}

func (a *lookupCall[T]) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// serve answers with the items about an object. An error of the lookup, for example a missing permission, is part of the
// answer, whose status is 200.
func (q *lookupCache[T]) serve(s *Server) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		hub, leave, err := s.hubAt(r)
		if err != nil {
			unshown(w, err)
			return
		}
		defer leave()
		values, err := keyQuery(r)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error())
			return
		}
		past, held := hub.inventory.History(values.Get("key"))
		if !held {
			fail(w, http.StatusNotFound, errNotRetained.Error())
			return
		}
		found := struct {
			Items []T    `json:"items"`
			Error string `json:"error,omitempty"`
		}{Items: []T{}}
		items, err := q.get(r.Context(), hub, past.Entry, past.States[len(past.States)-1].Object)
		found.Items = append(found.Items, items...)
		if err != nil {
			found.Error = err.Error()
		}
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.patience))
		answer(w, http.StatusOK, encode(found))
	}
}
