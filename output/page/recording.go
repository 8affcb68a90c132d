package page

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

// Past is a recording that is shown in place of the present: each viewer chooses a time. Without one it is what has been seen
// that is shown of other times.
type Recording struct {
	// At is the time that is shown first.
	InitialTime time.Time
	// Play delivers to sink what was there at the begin of what is shown, and what happened until a time. Times
	// before and after what is shown stand for its begin and its end. It is called by several goroutines.
	Replay func(ctx context.Context, until time.Time, sink event.Sink) (Coverage, error)
}

// rewinder is a past: it has a new Hub show what was there at a time, and says what is known of that, once that has arrived.
type rewinder interface {
	arrived(ctx context.Context, at time.Time) error
	rewind(ctx context.Context, at time.Time, into *Hub) (Coverage, error)
}

// arrived implements rewinder.
func (p *Recording) arrived(ctx context.Context, _ time.Time) error { return ctx.Err() }

// rewind implements rewinder.
func (p *Recording) rewind(ctx context.Context, at time.Time, into *Hub) (Coverage, error) {
	return p.Replay(ctx, at, into)
}

// Known is what is known of the past by what was played.
type Coverage struct {
	// From and To are between which times one can be chosen.
	From, To time.Time
	// Began is since when all is seen that is shown; zero: From.
	CompleteSince time.Time
	// Gaps are when not all is known, in order.
	Gaps []Gap
	// Unknown are why it is not known what was there at the time up to which was played; none: it is.
	StateGapsAtTime []Gap
	// Blind are all times, between their ends, of which it is not known what was there.
	StateGaps []Gap
	// Damage is what could not be read, a line each.
	ReadErrors []string
	// Clusters are those that are shown, of several.
	Clusters []string
	// First is the time that a file shows first; zero: To.
	InitialTime time.Time
}

// Gap is a time of which not all is known.
type Gap struct {
	Cluster  string // of several; empty: it is one
	From, To time.Time
	Reason   string
}

// maxTimes is of how many times Hubs are held that nobody uses: each has all objects. maxGaps and maxDamage are how many of
// these viewers are told.
const maxTimes, maxGaps, maxDamage = 4, 500, 20

// pastMessage is what hello says of a time of a recording.
type pastMessage struct {
	From     int64        `json:"from"`
	To       int64        `json:"to"`
	At       int64        `json:"at,omitempty"`
	Live     bool         `json:"live,omitempty"`  // the present can be shown, too
	First    int64        `json:"first,omitempty"` // of a file
	Unknown  []gapMessage `json:"unknown,omitempty"`
	Gaps     []gapMessage `json:"gaps,omitempty"`
	GapsMore int          `json:"gapsMore,omitempty"`
	Damage   []string     `json:"damage,omitempty"`
}

type gapMessage struct {
	Cluster string `json:"cluster,omitempty"` // of several
	From    int64  `json:"from"`
	To      int64  `json:"to"`
	Why     string `json:"why"`
}

// message says of which time a Hub shows what was there, live if the present can be shown, too.
func (k *Coverage) message(at time.Time, live bool) *pastMessage {
	m := &pastMessage{From: millis(k.From), To: millis(k.To), At: millis(at), Live: live}
	if !k.InitialTime.IsZero() {
		m.First = millis(k.InitialTime)
	}
	m.Gaps, m.Unknown = gapsOf(k.Gaps), gapsOf(k.StateGapsAtTime)
	m.GapsMore = len(k.Gaps) - len(m.Gaps)
	for _, d := range k.ReadErrors[:min(len(k.ReadErrors), maxDamage)] {
		m.Damage = append(m.Damage, clip(d, maxValue))
	}
	return m
}

func gapsOf(all []Gap) (some []gapMessage) {
	for _, g := range all[:min(len(all), maxGaps)] {
		some = append(some, gapMessage{clip(g.Cluster, maxName), millis(g.From), millis(g.To), clip(g.Reason, maxValue)})
	}
	return some
}

// maxShown is of how many times Hubs are held if all are looked at, maxReading how many are read at the same time,
// and keepFailed how long nobody has one read again that could not be.
const maxShown, maxReading, keepFailed = 16, 2, 30 * time.Second

// maxCopied is how many objects all Hubs of what was seen have together, if that are more than two: each takes 1.6 KB. awaitRoom is
// how long who comes waits for others to go, as does who chooses another time, and maxAwaiting how many do.
const maxCopied, awaitRoom, maxAwaiting = 20_000, 5 * time.Second, 32

// hubs are those of times of the past, the one that was asked for last at the end. One that is used is always held.
type historyHubs struct {
	Options
	past    rewinder
	unused  int           // how many are held that nobody uses
	turns   chan struct{} // has one for each that is being read
	asking  chan struct{} // has one for each request that is not a viewer's, of what was seen; nil: of a recording
	reading sync.WaitGroup
	copies  func() int // how many objects each has, about; nil: it is not copies that are held

	mu       sync.Mutex // for what follows, and what is in held
	held     []*historyHub
	awaiting int           // how many wait for room
	left     chan struct{} // closed when there may be room
	closing  bool
	reason   string // of closing
}

// newHubs are those of the past that a Hub shows, or beside it.
func newHistoryHubs(of *Hub) *historyHubs {
	h := &historyHubs{Options: of.Options, turns: make(chan struct{}, maxReading), left: make(chan struct{})}
	if of.Recording != nil {
		h.past, h.unused = of.Recording, maxTimes
		return h
	}
	h.past, h.asking = liveHistory{of}, make(chan struct{}, maxSearches)
	h.copies = func() int { return inventory.Count(of.inventory) }
	return h
}

// hubOf is the Hub of a time, once done is closed.
type historyHub struct {
	at     time.Time
	users  int                // who wait for it, or look at it
	cancel context.CancelFunc // ends that it is read
	ended  time.Time          // when that was
	done   chan struct{}
	hub    *Hub
	err    error
}

func (o *historyHub) isDone() bool {
	select {
	case <-o.done:
		return true
	default:
		return false
	}
}

// hasLapsed reports whether what it shows is no longer held.
func (o *historyHub) isExpired() bool {
	return o.isDone() && o.err == nil && o.hub.isExpired != nil && o.hub.isExpired()
}

// errTime is wrong usage.
var errTime = errors.New("time takes milliseconds since 1970")

var errShown = errors.New("too many times of the past are looked at: try again later, or choose one that is shown elsewhere")

// unshown answers why there is no Hub of the time that a request is about.
func unshown(w http.ResponseWriter, err error) {
	code := http.StatusServiceUnavailable
	if errors.Is(err, errTime) {
		code = http.StatusBadRequest
	}
	fail(w, code, err.Error())
}

// isLive reports whether the present is shown unless a time is asked for.
func (o *Options) isLive() bool { return o.Recording == nil }

// timeOf returns the time of the past that a request is about, which it takes out of its query; zero: the present.
func (s *Server) timeOf(r *http.Request) (at time.Time, err error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	switch {
	case err != nil && s.hub.isLive(): // who reads the rest says so
		return at, nil
	case err != nil:
		return at, errTime
	case !s.hub.isLive():
		at = s.hub.Recording.InitialTime.Truncate(time.Millisecond)
	}
	if text := values.Get("time"); text != "" {
		ms, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ms < 0 {
			return at, errTime
		}
		at = time.UnixMilli(ms)
	}
	if values.Has("time") {
		values.Del("time")
		r.URL.RawQuery = values.Encode()
	}
	if s.hub.isLive() && !at.Before(s.hub.clock()) {
		return time.Time{}, nil
	}
	return at, nil
}

// hubAt returns the Hub of the time that a request is about, and what is to be called when it is not used any more.
func (s *Server) hubAt(r *http.Request) (hub *Hub, leave func(), err error) {
	at, err := s.timeOf(r)
	if err != nil || at.IsZero() {
		return s.hub, func() {}, err
	}
	release, err := s.hubs.ask(r.Context())
	if err != nil {
		return nil, nil, err
	}
	hub, left, err := s.hubs.of(r.Context(), s.ctx, at)
	if err != nil {
		release()
		return nil, nil, err
	}
	return hub, func() { left(); release() }, nil
}

// ask waits for the turn of who asks for a time without looking at it: a Hub of what was seen is made for that, and dropped. release
// ends it.
func (h *historyHubs) ask(ctx context.Context) (release func(), err error) {
	if h.asking == nil {
		return func() {}, nil
	}
	return takeTurn(ctx, h.asking)
}

// awaitHub returns the Hub of a time for a viewer, who is told now and then that it is being read, and what is to be
// called when it is not used any more.
func (s *Server) awaitHub(ctx context.Context, at time.Time, to transport) (hub *Hub, leave func(), err error) {
	if at.IsZero() {
		return s.hub, func() {}, nil
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	hub, leave, err = s.hubs.await(ctx, s.ctx, at, tick.C, func() error {
		return to.send(ctx, encode(readingMessage{Type: "reading"}))
	})
	switch {
	case err == nil || ctx.Err() != nil:
		return hub, leave, err
	case errors.Is(err, errBye):
		return nil, nil, errors.Join(err, to.send(ctx, encode(bye{"bye", s.hubs.why()})))
	}
	return nil, nil, errors.Join(err, to.send(ctx, encode(readingMessage{"reading", whyNotShown(err)})))
}

// whyNotShown says to a viewer why there is no Hub of a time.
func whyNotShown(err error) string {
	if errors.Is(err, errShown) { // which says nothing of the recording
		return strings.ToUpper(err.Error()[:1]) + err.Error()[1:]
	}
	return "The recording can't be read: " + err.Error()
}

// of returns the Hub of a time, and what is to be called when it is not used any more.
func (h *historyHubs) of(ctx, reading context.Context, at time.Time) (hub *Hub, leave func(), err error) {
	return h.await(ctx, reading, at, nil, nil)
}

// await is of, and calls tell at each tick as long as it waits.
func (h *historyHubs) await(ctx, reading context.Context, at time.Time, tick <-chan time.Time, tell func() error) (*Hub, func(), error) {
	one, err := h.beginSoon(ctx, reading, at)
	if err != nil {
		return nil, nil, err
	}
	for err == nil {
		select {
		case <-one.done:
			if one.err == nil {
				return one.hub, sync.OnceFunc(func() { h.leave(one) }), nil
			}
			err = one.err
		case <-ctx.Done():
			err = ctx.Err()
		case <-tick:
			err = tell()
		}
	}
	h.leave(one)
	return nil, nil, err
}

// beginSoon is begin, once there is room, if that is soon.
func (h *historyHubs) beginSoon(ctx, reading context.Context, at time.Time) (*historyHub, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one, err := h.beginLocked(reading, at)
	if !errors.Is(err, errShown) || h.awaiting >= maxAwaiting {
		return one, err
	}
	h.awaiting++
	defer func() { h.awaiting-- }()
	end := time.NewTimer(awaitRoom)
	defer end.Stop()
	for errors.Is(err, errShown) {
		left := h.left
		h.mu.Unlock()
		isLate := false
		select {
		case <-left:
		case <-ctx.Done():
			err = ctx.Err()
		case <-end.C:
			isLate = true
		}
		h.mu.Lock()
		if isLate || !errors.Is(err, errShown) {
			return nil, err
		}
		one, err = h.beginLocked(reading, at)
	}
	return one, err
}

// roomLocked tells those who wait for room that there may be some.
func (h *historyHubs) roomLocked() {
	close(h.left)
	h.left = make(chan struct{})
}

// begin has the recording read up to a time, unless the Hub of that is held. Who calls it calls leave.
func (h *historyHubs) begin(ctx context.Context, at time.Time) (*historyHub, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beginLocked(ctx, at)
}

func (h *historyHubs) beginLocked(ctx context.Context, at time.Time) (*historyHub, error) {
	if h.closing {
		return nil, errBye
	}
	h.held = slices.DeleteFunc(h.held, func(one *historyHub) bool {
		return one.isDone() && one.err != nil && time.Since(one.ended) > keepFailed
	})
	if n := slices.IndexFunc(h.held, func(one *historyHub) bool { return one.at.Equal(at) && !one.isExpired() }); n >= 0 {
		one := h.held[n]
		one.users++
		h.held = append(slices.Delete(h.held, n, n+1), one)
		return one, nil
	}
	if !h.makeRoomLocked() {
		return nil, errShown
	}
	one := &historyHub{at: at, users: 1, done: make(chan struct{})}
	ctx, one.cancel = context.WithCancel(ctx)
	h.held = append(h.held, one)
	h.reading.Go(func() { h.read(ctx, one) })
	return one, nil
}

// makeRoomLocked lets go of those that were asked for first and are not used, and reports whether there is room.
func (h *historyHubs) makeRoomLocked() bool {
	for len(h.held) >= min(maxTimes, h.mostLocked()) {
		n := slices.IndexFunc(h.held, func(one *historyHub) bool { return one.users == 0 })
		if n < 0 {
			return len(h.held) < h.mostLocked()
		}
		h.held = slices.Delete(h.held, n, n+1)
	}
	return true
}

// mostLocked is how many are held at most if all are looked at.
func (h *historyHubs) mostLocked() int {
	if h.copies == nil {
		return maxShown
	}
	return min(max(maxCopied/max(h.copies(), 1), 2), maxShown)
}

// leave ends that one is used, and that it is read if nobody waits for it any more.
func (h *historyHubs) leave(one *historyHub) {
	h.mu.Lock()
	defer h.mu.Unlock()
	one.users--
	if one.users > 0 {
		return
	}
	defer h.roomLocked()
	if isDone := one.isDone(); !isDone || h.unused == 0 {
		one.cancel()
		h.held = slices.DeleteFunc(h.held, func(other *historyHub) bool { return other == one })
	}
}

func (h *historyHubs) read(ctx context.Context, one *historyHub) {
	defer one.cancel()
	hub := New(h.Options)
	known, err := h.play(ctx, one.at, hub)
	at := known.show(hub, one.at)
	h.mu.Lock()
	defer h.mu.Unlock()
	defer close(one.done) // close sees either that it is, or reads that it closes
	one.ended = time.Now()
	switch {
	case h.closing:
		one.err = errBye
	case err != nil:
		one.err = err // who asks again soon is told the same
	default:
		one.hub, one.at = hub, at.Truncate(time.Millisecond) // who asks for a later one has it read anew: it may go on
	}
}

// show has a Hub show a time, of which that is known, or the nearest one; it returns which.
func (k *Coverage) show(h *Hub, at time.Time) time.Time {
	began, clock := k.CompleteSince, endOf(at)
	if began.IsZero() {
		began = k.From
		if at.Before(k.From) {
			at = k.From
		} else if at.After(k.To) {
			at = k.To
		}
		clock = at
	}
	h.clock, h.ofPast = func() time.Time { return clock }, k
	h.startedAt(began)
	return at
}

// play plays the recording up to a time when it is its turn.
func (h *historyHubs) play(ctx context.Context, until time.Time, hub *Hub) (Coverage, error) {
	if err := h.past.arrived(ctx, until); err != nil {
		return Coverage{}, err
	}
	select {
	case h.turns <- struct{}{}:
		defer func() { <-h.turns }()
	case <-ctx.Done():
		return Coverage{}, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return Coverage{}, err
	}
	return h.past.rewind(ctx, until, hub)
}

// why is for which reason all were closed.
func (h *historyHubs) why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}

// close says goodbye to all viewers, for this reason, and to those who wait for what is being read.
func (h *historyHubs) close(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closing, h.reason = true, reason
	h.roomLocked()
	for _, one := range h.held {
		switch {
		case !one.isDone():
			one.cancel()
		case one.err == nil:
			one.hub.Close(reason)
		}
	}
}
