package page

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"dwatch/output/inventory"
)

// interval is the time between two pings.
const interval = 2 * time.Second

const (
	// maxRows is the maximum number of rows in a part of a snapshot, and maxPart its approximate maximum size in bytes.
	maxRows = 500
	maxPart = 256 << 10
	// maxTurn is the maximum number of messages that a viewer reads from the log at once.
	maxTurn = 256
	// pause is how long a viewer waits between turns, so that it sends messages in batches.
	pause = 20 * time.Millisecond
)

// transport sends messages to one viewer. send does not retain message.
type transport interface {
	send(ctx context.Context, message []byte) error
}

// position is the position in a stream from which a viewer resumes. The zero value requests a snapshot.
type position struct {
	stream string
	seq    uint64
}

// viewer sends the messages of a Hub to one client. Only one goroutine uses it. It embeds the Hub because most messages are
// built from its state.
type viewer struct {
	*Hub
	to transport
	// at is the sequence number of the last message that was sent, or that the snapshot includes.
	at uint64
	// question is the expression whose matches the viewer gets. nil means none.
	question     *question
	buffer       []byte
	lastProblems []byte           // last sent message about problems
	lastClusters []byte           // last sent message about clusters
	tick         <-chan time.Time // ping interval
}

var (
	errBye    = errors.New("the run has ended")
	errLapsed = errors.New("dwatch no longer has the objects at that time")
)

// view sends a snapshot, or resumes at from, and then sends all further messages. It returns an error when ctx ends, a send
// fails, or the Hub is closed or expires. questions may be nil.
func (h *Hub) view(ctx context.Context, to transport, from position, questions <-chan *question) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	if h.ofPast == nil {
		h.refresh(h.clock())
	}
	v := &viewer{Hub: h, to: to, tick: tick.C}
	if err := v.begin(ctx, from); err != nil {
		return err
	}
	for {
		v.mu.Lock()
		news, rest := v.news, (<-chan time.Time)(nil)
		v.mu.Unlock()
		more, err := v.turn(ctx)
		if err != nil {
			return err
		}
		isOld := false
		if !more { // after the rows that the problems are about
			if isOld, err = v.sendProblems(ctx); err != nil {
				return err
			}
		}
		if more || isOld {
			news, rest = nil, time.After(pause)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-h.closed:
			return v.leave(ctx)
		case <-v.tick:
			err = v.ping(ctx)
		case q := <-questions:
			err = v.ask(ctx, q)
		case <-rest:
		case <-news:
			v.pause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

func (v *viewer) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-v.closed:
	case <-time.After(pause):
	}
}

// begin sends hello, the snapshot unless the viewer resumes, and the states of clusters and problems.
func (v *viewer) begin(ctx context.Context, from position) error {
	v.mu.Lock()
	_, held := v.log.after(from.seq, 0)
	resumed := from.stream == v.stream && held && (v.ofPast == nil || from.seq == v.log.last) // the log of a past time may have gaps
	if v.at = v.log.last; resumed {
		v.at = from.seq
	}
	m := hello{
		Type: "hello", Protocol: protocol, Stream: v.stream, Seq: v.log.last, Resumed: resumed,
		Now: millis(v.clock()), Started: millis(v.started), Version: v.Version, Cluster: v.Cluster, Server: v.Server, Title: v.Title, UTC: v.UTC, Secrets: v.Compare.Masks == nil || !v.Compare.Masks.Secrets,
		Ping: interval.Milliseconds(), Resources: slices.Collect(maps.Values(v.resources)),
		Targets: v.targets.list(), Clusters: v.clusters(), Watch: v.targets.watch(),
		Limits: limits{maxEnded, maxHistory, maxSegments, maxTicks},
	}
	if m.Live = v.ofPast == nil; !m.Live {
		m.Past = v.ofPast.message(v.clock(), v.isLive())
	}
	v.mu.Unlock()
	slices.SortFunc(m.Resources, func(a, b *resource) int { return strings.Compare(a.ID, b.ID) })
	if err := v.to.send(ctx, encode(m)); err != nil {
		return err
	}
	if !resumed {
		if err := v.snapshot(ctx); err != nil {
			return err
		}
	}
	v.lastProblems, v.lastClusters = nil, nil
	return v.tell(ctx)
}

// snapshot sends all rows in parts. Each part has the state at the time when it is sent.
func (v *viewer) snapshot(ctx context.Context) error {
	states, err := v.inventory.ListAt(inventory.Now, nil)
	if err != nil {
		return err
	}
	states = append(states, v.inventory.ListDeleted()...)
	for part := 0; ; part++ {
		var message []byte
		message, states = v.part(part, states)
		if err := v.to.send(ctx, message); err != nil {
			return err
		}
		switch {
		case len(states) == 0:
			return nil
		case v.isClosed():
			return v.leave(ctx)
		}
	}
}

func (v *viewer) part(number int, states []*inventory.State) (message []byte, rest []*inventory.State) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rows, n := v.buffer[:0], 0
	for ; n < len(states) && n < maxRows && len(rows) < maxPart; n++ {
		d := rowViewOf(v.Hub, states[n])
		if d == nil { // a change message will follow
			continue
		}
		if len(rows) > 0 {
			rows = append(rows, ',')
		}
		rows = d.appendTo(rows)
	}
	v.buffer, rest = rows, states[n:]
	seq := v.at // the first part has the same number as hello
	if number > 0 {
		seq = v.log.last
	}
	head := encode(struct {
		Type string `json:"type"`
		Seq  uint64 `json:"seq"`
		Part int    `json:"part"`
		Last bool   `json:"last"`
	}{"snapshot", seq, number, len(rest) == 0})
	message = append(head[:len(head)-1], `,"rows":[`...)
	return append(append(message, rows...), "]}"...), rest
}

// turn sends up to maxTurn new messages from the log. more is true if there may be more. A viewer that was too slow for the
// log gets a new snapshot.
func (v *viewer) turn(ctx context.Context) (more bool, err error) {
	v.mu.Lock()
	entries, held := v.log.after(v.at, maxTurn)
	v.mu.Unlock()
	if !held {
		return true, v.again(ctx)
	}
	for _, e := range entries {
		v.buffer = e.full(v.buffer[:0])
		if err := v.to.send(ctx, v.buffer); err != nil {
			return false, err
		}
		v.at = e.seq
	}
	if err := v.matches(ctx, entries); err != nil {
		return false, err
	}
	return len(entries) == maxTurn, nil
}

func (v *viewer) again(ctx context.Context) error {
	if err := v.begin(ctx, position{}); err != nil {
		return err
	}
	if v.question == nil {
		return nil
	}
	return v.ask(ctx, v.question)
}

func (v *viewer) ping(ctx context.Context) error {
	if v.isExpired != nil && v.isExpired() { // the viewer reconnects and gets a new Hub
		return errLapsed
	}
	if v.ofPast == nil {
		v.refresh(v.clock())
	}
	v.mu.Lock()
	m := ping{"ping", millis(v.clock()), v.log.last, v.targets.watch().LastEvent}
	v.mu.Unlock()
	if err := v.to.send(ctx, encode(m)); err != nil {
		return err
	}
	return v.tell(ctx)
}

// tell sends the states of clusters and the problems, if they have changed.
func (v *viewer) tell(ctx context.Context) error {
	if err := v.sendClusters(ctx); err != nil {
		return err
	}
	_, err := v.sendProblems(ctx)
	return err
}

// leave sends the remaining messages and bye. It returns errBye unless that fails.
func (v *viewer) leave(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = v.turn(ctx); err != nil {
			return err
		}
	}
	if err := v.to.send(ctx, encode(bye{"bye", v.reason})); err != nil {
		return err
	}
	return errBye
}
