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

// Recording is a recording that the page shows instead of a live cluster. Each viewer chooses a time.
type Recording struct {
	// InitialTime is the time that is shown to viewers that have not chosen one.
	InitialTime time.Time
	// Replay delivers the initial objects of the shown range and the later events up to until. Times outside of the range
	// mean its start or end. It must be safe for concurrent use.
	Replay func(ctx context.Context, until time.Time, sink event.Sink) (Coverage, error)
}

// rewinder is a source of past states: a Recording or a liveHistory.
type rewinder interface {
	// arrived waits until all events before at should have arrived.
	arrived(ctx context.Context, at time.Time) error
	// rewind fills a new Hub with the state at a time.
	rewind(ctx context.Context, at time.Time, into *Hub) (Coverage, error)
}

// arrived implements rewinder.
func (p *Recording) arrived(ctx context.Context, _ time.Time) error { return ctx.Err() }

// rewind implements rewinder.
func (p *Recording) rewind(ctx context.Context, at time.Time, into *Hub) (Coverage, error) {
	k, err := p.Replay(ctx, at, into)
	into.refresh(at)
	return k, err
}

// Coverage tells which times can be shown, and where data is missing.
type Coverage struct {
	// From and To limit the times that can be chosen.
	From, To time.Time
	// CompleteSince is when dwatch started, for a live cluster. Zero means From.
	CompleteSince time.Time
	// Gaps are the times in which events may be missing, in order.
	Gaps []Gap
	// StateGapsAtTime are the gaps that may make the state at the shown time wrong. If empty, the state is right.
	StateGapsAtTime []Gap
	// StateGaps are all times at which the state may be wrong. Their ends are exclusive. Only exported files use them.
	StateGaps []Gap
	// ReadErrors describe the damage of a recording, one line each.
	ReadErrors []string
	// Clusters are the names of the shown clusters. It is nil with a single cluster.
	Clusters []string
	// InitialTime is the time that an exported file shows first. Zero means To.
	InitialTime time.Time
}

// Gap is a period without full coverage.
type Gap struct {
	Cluster  string // empty with a single cluster
	From, To time.Time
	Reason   string
}

// maxTimes is the maximum number of Hubs for times of a recording that are cached without users. Each has all objects.
// maxGaps and maxDamage limit the gaps and read errors in a message.
const maxTimes, maxGaps, maxDamage = 4, 500, 20

// pastMessage describes a shown time of the past, and the times that can be shown.
type pastMessage struct {
	From     int64        `json:"from"`
	To       int64        `json:"to"`
	At       int64        `json:"at,omitempty"`
	Live     bool         `json:"live,omitempty"`  // the present can be shown, too
	First    int64        `json:"first,omitempty"` // only in exported files
	Unknown  []gapMessage `json:"unknown,omitempty"`
	Gaps     []gapMessage `json:"gaps,omitempty"`
	GapsMore int          `json:"gapsMore,omitempty"`
	Damage   []string     `json:"damage,omitempty"`
}

type gapMessage struct {
	Cluster string `json:"cluster,omitempty"` // empty with a single cluster
	From    int64  `json:"from"`
	To      int64  `json:"to"`
	Why     string `json:"why"`
}

// message returns the message about a shown time. live is true if the present can be shown, too.
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

// maxShown is the maximum number of Hubs in use. maxReading is the maximum number that is being filled. keepFailed is how
// long a failed replay is not retried.
const maxShown, maxReading, keepFailed = 16, 2, 30 * time.Second

// maxCopied is the maximum number of objects in all Hubs of a live history together. Each takes 1.6 KB. Two Hubs are always
// allowed. awaitRoom is how long a request waits for another Hub to be released, and maxAwaiting the maximum number of
// waiting requests.
const maxCopied, awaitRoom, maxAwaiting = 20_000, 5 * time.Second, 32

// historyHubs has a Hub for each shown time of the past. All viewers of a time share its Hub. It embeds Options because each
// Hub of a past time is made with them.
type historyHubs struct {
	Options
	past    rewinder
	unused  int            // maxTimes for a recording; zero disables the cache of unused Hubs
	turns   chan struct{}  // semaphore for filling Hubs
	asking  chan struct{}  // semaphore for API requests; nil for a recording
	reading sync.WaitGroup // Hubs that are being filled
	copies  func() int     // approximate number of objects in a Hub; nil for a recording

	mu       sync.Mutex    // guards the fields below and those of the Hubs in held
	held     []*historyHub // the most recently requested last
	awaiting int           // number of requests that wait for room
	left     chan struct{} // closed when there may be room, and then replaced
	closing  bool
	reason   string // why it was closed
}

// newHistoryHubs returns the Hubs for the times of a Hub's recording or live history.
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

// historyHub is the Hub of a time. hub and err are valid once done is closed.
type historyHub struct {
	at     time.Time
	users  int                // number of users, including those that still wait
	cancel context.CancelFunc // cancels filling the Hub
	ended  time.Time          // when it was filled, or failed
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

// isExpired reports whether the states that the Hub shows are no longer retained.
func (o *historyHub) isExpired() bool {
	return o.isDone() && o.err == nil && o.hub.isExpired != nil && o.hub.isExpired()
}

// errTime means that the time parameter is invalid.
var errTime = errors.New("time takes milliseconds since 1970")

var errShown = errors.New("too many times of the past are being viewed: try again later, or choose one that another viewer has chosen")

// unshown answers a request for whose time there is no Hub.
func unshown(w http.ResponseWriter, err error) {
	code := http.StatusServiceUnavailable
	if errors.Is(err, errTime) {
		code = http.StatusBadRequest
	}
	fail(w, code, err.Error())
}

// isLive reports whether the page shows a live cluster, and not a recording.
func (o *Options) isLive() bool { return o.Recording == nil }

// timeOf returns the time of the past that a request is for, and removes the parameter from the request. Zero means the
// present.
func (s *Server) timeOf(r *http.Request) (at time.Time, err error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	switch {
	case err != nil && s.hub.isLive(): // the handler reports the error
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

// hubAt returns the Hub for the time of a request. The caller must call leave when it is done.
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

// ask waits until another API request may use a Hub of the live history. Such a Hub is usually built for one request and
// then dropped. The caller must call release when it is done.
func (h *historyHubs) ask(ctx context.Context) (release func(), err error) {
	if h.asking == nil {
		return func() {}, nil
	}
	return takeTurn(ctx, h.asking)
}

// awaitHub returns the Hub of a time for a viewer. While it waits, it sends a readingMessage at each interval. It also
// sends errors to the viewer. The caller must call leave when it is done.
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

// whyNotShown explains an error to a viewer.
func whyNotShown(err error) string {
	if errors.Is(err, errShown) { // not a problem of the recording
		return strings.ToUpper(err.Error()[:1]) + err.Error()[1:]
	}
	return "The recording can't be read: " + err.Error()
}

// of returns the Hub of a time. reading limits how long the Hub may be filled, ctx how long of waits. The caller must call
// leave when it is done.
func (h *historyHubs) of(ctx, reading context.Context, at time.Time) (hub *Hub, leave func(), err error) {
	return h.await(ctx, reading, at, nil, nil)
}

// await is like of, and calls tell at each tick while it waits.
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

// beginSoon is like beginLocked, but waits up to awaitRoom for room. The caller must not hold h.mu.
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

// roomLocked wakes the requests that wait for room.
func (h *historyHubs) roomLocked() {
	close(h.left)
	h.left = make(chan struct{})
}

// beginLocked returns the Hub of a time. If there is none yet, it starts to fill one. The caller must hold h.mu, and call leave.
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

// makeRoomLocked drops unused Hubs, the least recently requested first, and reports whether there is room.
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

// mostLocked returns the maximum number of Hubs in use.
func (h *historyHubs) mostLocked() int {
	if h.copies == nil {
		return maxShown
	}
	return min(max(maxCopied/max(h.copies(), 1), 2), maxShown)
}

// leave removes a user of a Hub. Without users, a Hub is dropped if it is still being filled or shows the live history.
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
	defer close(one.done) // with the lock: either close closes the Hub, or read sees closing
	one.ended = time.Now()
	switch {
	case h.closing:
		one.err = errBye
	case err != nil:
		one.err = err // retained for keepFailed
	default:
		one.hub, one.at = hub, at.Truncate(time.Millisecond) // later times are read again, as a recording may grow
	}
}

// show sets the shown time of a Hub, and its coverage to k. It returns the time. In a recording, that is the nearest time
// between From and To.
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
	h.showPast(clock, k, began)
	return at
}

// play fills a Hub with the state at a time, once fewer than maxReading others are being filled.
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

// why returns the reason that was passed to close.
func (h *historyHubs) why() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.reason
}

// close closes all Hubs for a reason, which viewers get, and cancels those that are being filled.
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
