package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// gated is a transport that passes on a message when the test calls next.
type gated struct {
	messages chan message
}

func (g *gated) send(ctx context.Context, text []byte) error {
	var m message
	if err := json.Unmarshal(text, &m); err != nil {
		return err
	}
	if m["type"] == "problems" { // problems may be sent at any time
		return nil
	}
	select {
	case g.messages <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next returns the next message, except pings.
func (g *gated) next(t *testing.T) message {
	t.Helper()
	for {
		select {
		case m := <-g.messages:
			if m["type"] != "ping" {
				return m
			}
		case <-time.After(deadline):
			t.Fatal("nothing comes")
		}
	}
}

// viewed returns a viewer of a hub, whose view ends with the test.
func viewed(t *testing.T, h *Hub, from position) (*gated, chan *question) {
	t.Helper()
	g, questions := &gated{make(chan message)}, make(chan *question)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.view(ctx, g, from, questions) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	return g, questions
}

// churned changes a pod repeatedly, and returns its last state.
func churned(t testing.TB, h *Hub, o event.Object, times int) event.Object {
	t.Helper()
	for i := range times {
		version := fmt.Sprint(o.ResourceVersion, i)
		if len(version) > 20 {
			version = fmt.Sprint(i)
		}
		now := pod(o.Name, string(o.UID), version, []string{"Pending", "Running"}[i%2]+strings.Repeat("x", i%7))
		deliver(t, h, modified(pods, o, now, i))
		o = now
	}
	return o
}

// TestNumbers tests that the messages after the snapshot have sequence numbers without gaps.
func TestNumbers(t *testing.T) {
	t.Parallel()
	h := newHub()
	o := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, o, 0))
	g, _ := viewed(t, h, position{})
	hello := g.next(t)
	if hello["type"] != "hello" || hello["resumed"] != false || hello.text("stream") != h.stream {
		t.Fatalf("%v", hello)
	}
	o = churned(t, h, o, 5) // while the snapshot is being sent
	snapshot := g.next(t)
	if snapshot["type"] != "snapshot" || snapshot["last"] != true || snapshot.number("seq") != hello.number("seq") {
		t.Fatalf("%v", snapshot)
	}
	churned(t, h, o, 5)
	for i := range uint64(10) {
		if m := g.next(t); m["type"] != "change" || m.number("seq") != hello.number("seq")+1+i {
			t.Fatalf("message %d: %v", i, m)
		}
	}
}

// TestResume tests that a viewer that reconnects gets the missed messages, or all rows if these were dropped or never
// sent.
func TestResume(t *testing.T) {
	t.Parallel()
	h := newHub()
	o := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, o, 0))
	last := h.log.last
	churned(t, h, o, 3)
	g, _ := viewed(t, h, position{stream: h.stream, seq: last})
	if m := g.next(t); m["resumed"] != true {
		t.Fatalf("%v", m)
	}
	for i := range uint64(3) {
		if m := g.next(t); m["type"] != "change" || m.number("seq") != last+1+i {
			t.Fatalf("%v", m)
		}
	}
	for _, from := range []position{{stream: "another", seq: last}, {stream: h.stream, seq: h.log.last + 1}, {}} {
		g, _ := viewed(t, h, from)
		if m := g.next(t); m["resumed"] != false {
			t.Errorf("%+v: %v", from, m)
		}
		if m := g.next(t); m["type"] != "snapshot" {
			t.Errorf("%+v: %v", from, m)
		}
	}
}

// TestBehind tests that a viewer that does not read delays no others, and gets a new snapshot when the messages that it
// needs were dropped.
func TestBehind(t *testing.T) {
	t.Parallel()
	h := newHub()
	h.log.max = 100 << 10
	o := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, o, 0))
	slow, _ := viewed(t, h, position{})
	slow.next(t) // hello
	slow.next(t) // its rows
	first := h.log.last
	o = churned(t, h, o, 1000)
	if h.log.bytes > h.log.max {
		t.Errorf("the log has %d bytes of messages", h.log.bytes)
	}
	if _, held := h.log.after(first, 1); held {
		t.Fatal("the log has dropped nothing")
	}
	last := h.log.last + 1
	churned(t, h, o, 1)
	rows := 0
	for seen := first; seen < last || rows == 0; {
		switch m := slow.next(t); m["type"] {
		case "hello": // sent when the viewer was found to be behind, which may have been before the last change
			if seen = m.number("seq"); m["resumed"] != false {
				t.Errorf("%v", m)
			}
		case "snapshot":
			if rows++; !strings.Contains(m.text("rows"), "seq:") {
				t.Errorf("%v", m)
			}
		default:
			if seen++; m.number("seq") != seen || rows == 0 && seen > first+maxTurn {
				t.Fatalf("%v after %d", m, seen-1)
			}
		}
	}
	if rows == 0 {
		t.Error("the viewer did not get a new snapshot")
	}
}

// TestParts tests that many rows are sent in parts, each row once and in order, with deleted objects last.
func TestParts(t *testing.T) {
	t.Parallel()
	h := newHub()
	const n = 2*maxRows + 10
	for i := range n {
		deliver(t, h, added(pods, pod(fmt.Sprintf("p%04d", n-i), fmt.Sprint("u", i), fmt.Sprint(i+1), "Running"), i))
	}
	deliver(t, h, deleted(pods, pod("p0005", fmt.Sprint("u", n-5), "9999", "Running"), n))
	g, _ := viewed(t, h, position{})
	g.next(t)
	var names []string
	for part := 0; ; part++ {
		m := g.next(t)
		rows := m["rows"].([]any)
		if len(rows) > maxRows || m.number("part") != uint64(part) {
			t.Fatalf("part %v has %d rows", m["part"], len(rows))
		}
		for _, r := range rows {
			names = append(names, r.(map[string]any)["name"].(string))
		}
		if m["last"] == true {
			break
		}
	}
	if len(names) != n || names[0] != "p0001" || names[4] != "p0006" || names[n-1] != "p0005" {
		t.Errorf("%d rows: %v ... %v", len(names), names[:6], names[len(names)-2:])
	}
}

// TestWhere tests the answer to an expression, and its changes.
func TestWhere(t *testing.T) {
	t.Parallel()
	h := newHub()
	a, b := pod("a", "u1", "1", "Running"), pod("b", "u2", "2", "Pending")
	deliver(t, h, added(pods, a, 0), added(pods, b, 0))
	g, questions := viewed(t, h, position{})
	g.next(t)
	g.next(t)
	ask := func(text string, want string) {
		t.Helper()
		questions <- &question{id: 7, text: text}
		m := g.next(t)
		if got := fmt.Sprintf("%v %v %v %v %v", m["type"], m["id"], m["keys"], m["last"], m["error"]); got != want {
			t.Fatalf("%s: %s instead of %s", text, got, want)
		}
	}
	ask("object.status.phase == 'Pending'", "where 7 [pods/u2] true <nil>")
	running := pod("b", "u2", "3", "Running")
	deliver(t, h, modified(pods, b, running, 1), modified(pods, a, pod("a", "u1", "4", "Pending"), 1))
	// The viewer may look after the first change, or after both.
	matched := map[string]string{}
	for changes := 0; changes < 2 || len(matched) < 2; {
		switch m := g.next(t); m["type"] {
		case "change":
			changes++
		case "matches":
			for _, way := range []string{"in", "out"} {
				keys, _ := m[way].([]any)
				for _, key := range keys {
					matched[fmt.Sprint(key)] = way
				}
			}
			if m.number("id") != 7 {
				t.Fatalf("%v", m)
			}
		default:
			t.Fatalf("%v", m)
		}
	}
	if matched["pods/u1"] != "in" || matched["pods/u2"] != "out" {
		t.Fatalf("%v", matched)
	}
	ask("", "where 7 [] true <nil>")
	deliver(t, h, modified(pods, running, b, 2))
	if m := g.next(t); m["type"] != "change" {
		t.Fatalf("%v", m)
	}
	for text, says := range map[string]string{
		"object.":                             "Syntax",
		"old.spec == object.spec":             "old and changes are not available",
		"changed('spec')":                     "old and changes are not available",
		strings.Repeat("x", maxExpression+1):  "longer than",
		"1 + 1":                               "",
		strings.Repeat("(", 500) + "true":     "",
		"object.metadata.name.matches('(a+')": "",
	} {
		questions <- &question{id: 8, text: text}
		if m := g.next(t); m["type"] != "where" || m["error"] == nil && says != "" {
			t.Errorf("%.40s: %v", text, m)
		}
	}
}

// TestManyQuestions tests that searches take turns, and that one that waits too long fails.
func TestManyQuestions(t *testing.T) {
	t.Parallel()
	h := newHub()
	var releases []func()
	for range maxSearches {
		release, err := h.search(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		releases = append(releases, release)
	}
	if _, err := h.search(t.Context()); err == nil || !strings.Contains(err.Error(), "try again") {
		t.Errorf("one too many: %v", err)
	}
	releases[0]()
	if _, err := h.search(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestBye tests that viewers get the remaining messages at the end, and then the reason.
func TestBye(t *testing.T) {
	t.Parallel()
	h := newHub()
	g := &gated{make(chan message)}
	ended := make(chan error, 1)
	go func() { ended <- h.view(t.Context(), g, position{}, nil) }()
	g.next(t)
	g.next(t)
	deliver(t, h, added(pods, pod("a", "u1", "1", "Running"), 0))
	h.Close("the run has ended")
	h.Close("twice")
	if m := g.next(t); m["type"] != "change" {
		t.Errorf("%v", m)
	}
	if m := g.next(t); m["type"] != "bye" || m["reason"] != "the run has ended" {
		t.Errorf("%v", m)
	}
	if err := <-ended; !errors.Is(err, errBye) {
		t.Error(err)
	}
}

// TestViewersAtOnce tests that viewers come and go while events are delivered.
func TestViewersAtOnce(t *testing.T) {
	t.Parallel()
	h := newHub()
	deliver(t, h, added(pods, pod("a", "u1", "1", "Running"), 0))
	var all sync.WaitGroup
	for range 20 {
		g, _ := viewed(t, h, position{})
		all.Go(func() {
			seen := uint64(0)
			for seen < 200 {
				m := g.next(t)
				if m["type"] == "hello" {
					seen = m.number("seq")
				}
				if m["type"] == "change" {
					if seen++; m.number("seq") != seen {
						t.Errorf("%v after %d", m["seq"], seen-1)
						return
					}
				}
			}
		})
	}
	churned(t, h, pod("a", "u1", "1", "Running"), 250)
	all.Wait()
}

// TestMatchesTakeTurns tests that the number of viewers that evaluate an expression at the same time is limited, so that
// the stream gets its share of the CPU, and that waiting viewers stay connected.
func TestMatchesTakeTurns(t *testing.T) {
	t.Parallel()
	h := newHub()
	a := pod("a", "u1", "1", "Running")
	deliver(t, h, added(pods, a, 0))
	g, questions := viewed(t, h, position{})
	g.next(t)
	g.next(t)
	questions <- &question{id: 1, text: "object.status.phase == 'Pending'"}
	g.next(t)
	for range cap(h.matchers) {
		h.matchers <- struct{}{}
	}
	deliver(t, h, modified(pods, a, pod("a", "u1", "2", "Pending"), 1))
	if m := g.next(t); m["type"] != "change" {
		t.Fatalf("%v", m)
	}
	if m := <-g.messages; m["type"] != "ping" {
		t.Fatalf("while it waits: %v", m)
	}
	<-h.matchers
	if m := g.next(t); m["type"] != "matches" {
		t.Fatalf("%v", m)
	}
	if n := len(h.matchers); n != cap(h.matchers)-1 {
		t.Errorf("%d are still at work", n)
	}
}
