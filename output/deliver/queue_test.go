package deliver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// TestOneFails checks that an object that fails is retried with growing delays, without delaying other objects. Its messages stay in
// order.
func TestOneFails(t *testing.T) {
	answer := func(m *Message, _ int) error {
		if m.Name == "bad" {
			return errNo
		}
		return nil
	}
	inBubble(t, Options{MaxBackoff: 30 * time.Second}, answer, func(t *testing.T, r *running) {
		r.deliver(t, of("bad", 1), of("a", 1), of("bad", 2), of("b", 1), of("a", 2))
		synctest.Wait()
		if got := r.taken(); !slices.Equal(got, []string{"a=1", "b=1", "a=2"}) {
			t.Errorf("at once: accepted %q", got)
		}
		await(10 * time.Minute)
		last, wait := time.Duration(0), firstBackoff
		for i, try := range r.all() {
			if try.name != "bad" {
				continue
			}
			if try.version != "1" {
				t.Errorf("got attempt %v before bad=1 was accepted", try)
			}
			if gap := try.at - last; i > 0 && (gap > wait || gap < wait/2) {
				t.Errorf("got a delay of %v, want at most %v and at least half of that", gap, wait)
			} else if i > 0 {
				wait = min(2*wait, 30*time.Second)
			}
			last = try.at
		}
		r.recovers()
		await(time.Minute)
		if got := r.taken(); !slices.Equal(got[3:], []string{"bad=1", "bad=2"}) {
			t.Errorf("after the recovery: accepted %q, want bad=1 and bad=2 last", got)
		}
	})
}

// TestDown checks that if all messages fail, the Queue sends one message at a time, with growing delays, until one is accepted. Then it
// sends all.
func TestDown(t *testing.T) {
	inBubble(t, Options{Workers: 1}, never, func(t *testing.T, r *running) {
		for i := range 100 {
			r.deliver(t, of(fmt.Sprint("o", i), 1))
		}
		synctest.Wait()
		if n := len(r.all()); n != downAfter {
			t.Errorf("got %d attempts at first, want %d", n, downAfter)
		}
		await(10 * time.Minute)
		tries := r.all()
		if n := len(tries); n < 10 || n > 35 {
			t.Errorf("got %d attempts in 10 minutes, want 10 to 35", n)
		}
		objects := map[string]bool{}
		for _, try := range tries {
			objects[try.name] = true
		}
		if len(objects) != len(tries) {
			t.Errorf("got %d attempts for %d objects, want one for each", len(tries), len(objects))
		}
		r.recovers()
		await(time.Minute)
		if n := len(r.taken()); n != 100 {
			t.Errorf("%d messages were accepted, want 100", n)
		}
		if text, left := r.Summary(); left != 0 || !strings.Contains(text, "100 delivered") || !strings.Contains(text, "0 waiting") {
			t.Errorf("got summary %q, %d undelivered", text, left)
		}
	})
}

// TestDownTogether checks that concurrent failures count as one outage.
func TestDownTogether(t *testing.T) {
	answer := func(*Message, int) error { time.Sleep(time.Second); return errNo } // of the bubble
	inBubble(t, Options{Workers: 20}, answer, func(t *testing.T, r *running) {
		for i := range 20 {
			r.deliver(t, of(fmt.Sprint("o", i), 1))
		}
		await(time.Second + firstBackoff + time.Millisecond)
		if n := len(r.all()); n != 21 {
			t.Errorf("got %d attempts, want 20 and one probe", n)
		}
	})
}

// TestDownAndEmpty checks that if no message is left for a probe, the next new message is the probe.
func TestDownAndEmpty(t *testing.T) {
	answer := func(*Message, int) error { return &DownError{Err: errNo} }
	inBubble(t, Options{GiveUpAfter: time.Minute}, answer, func(t *testing.T, r *running) {
		r.deliver(t, of("a", 1))
		await(time.Hour)
		r.recovers()
		r.deliver(t, of("b", 1), of("c", 1))
		synctest.Wait()
		if got := r.taken(); !slices.Equal(got, []string{"b=1", "c=1"}) {
			t.Errorf("accepted %q, want both messages at once", got)
		}
	})
}

// TestDownAndLate checks that an object whose attempt began before an outage is retried, even if no other message is left for a probe.
func TestDownAndLate(t *testing.T) {
	var late chan struct{}
	answer := func(m *Message, n int) error {
		switch {
		case m.Name == "down":
			return &DownError{Err: errNo}
		case n == 1:
			<-late
			return errNo
		}
		return nil
	}
	inBubble(t, Options{Workers: 2, GiveUpAfter: time.Minute, MaxBackoff: time.Second}, answer, func(t *testing.T, r *running) {
		late = make(chan struct{})
		r.deliver(t, of("late", 1))
		synctest.Wait()
		r.deliver(t, of("down", 1))
		await(59 * time.Second)
		r.deliver(t, of("late", 2))
		await(10 * time.Second) // the message of "down" is given up
		close(late)
		await(time.Minute)
		if got := r.taken(); !slices.Equal(got, []string{"late=2"}) {
			t.Errorf("accepted %q, want late=2", got)
		}
	})
}

// TestPoison checks that objects that always fail, which look like an outage, do not block new objects: these are tried first.
func TestPoison(t *testing.T) {
	answer := func(m *Message, _ int) error {
		if strings.HasPrefix(m.Name, "bad") {
			return errNo
		}
		return nil
	}
	inBubble(t, Options{}, answer, func(t *testing.T, r *running) {
		for i := range 20 {
			r.deliver(t, of(fmt.Sprint("bad", i), 1))
		}
		await(time.Hour)
		r.deliver(t, of("good", 1))
		await(2*time.Minute + time.Second)
		// The first probe may also be an earlier object that has not failed yet.
		if got := r.taken(); !slices.Equal(got, []string{"good=1"}) {
			t.Errorf("accepted %q, want only the new object", got)
		}
	})
}

// TestRetryAfter checks that the Queue makes no attempts during DownError.RetryAfter.
func TestRetryAfter(t *testing.T) {
	answer := func(_ *Message, n int) error {
		if n == 1 {
			return &DownError{Err: errNo, RetryAfter: 5 * time.Minute}
		}
		return nil
	}
	inBubble(t, Options{}, answer, func(t *testing.T, r *running) {
		r.deliver(t, of("a", 1), of("b", 1), of("c", 1))
		await(5*time.Minute - time.Second)
		if n := len(r.all()); n != 1 {
			t.Errorf("got %d attempts during RetryAfter, want 1", n)
		}
		await(2 * time.Second)
		if n := len(r.taken()); n != 3 {
			t.Errorf("%d messages were accepted after RetryAfter, want 3", n)
		}
	})
}

// TestWorkers checks the number of objects that are served concurrently, with one message per object.
func TestWorkers(t *testing.T) {
	held := make(chan struct{})
	answer := func(*Message, int) error { <-held; return nil }
	inBubble(t, Options{Workers: 3}, answer, func(t *testing.T, r *running) {
		held = make(chan struct{}) // of the bubble
		r.deliver(t, of("a", 1), of("a", 2), of("b", 1), of("c", 1), of("d", 1))
		synctest.Wait()
		if n := len(r.all()); n != 3 {
			t.Errorf("got %d concurrent attempts, want 3", n)
		}
		close(held)
		synctest.Wait()
		if n := len(r.taken()); n != 5 {
			t.Errorf("%d messages were accepted, want 5", n)
		}
	})
}

// TestRate checks the number of attempts per second.
func TestRate(t *testing.T) {
	inBubble(t, Options{Rate: 2, Workers: 4}, always, func(t *testing.T, r *running) {
		for i := range 9 {
			r.deliver(t, of(fmt.Sprint("o", i), 1))
		}
		await(2 * time.Second)
		if n := len(r.all()); n != 5 {
			t.Errorf("got %d attempts in two seconds, want 5", n)
		}
	})
}

// TestFull checks that Deliver blocks while there is no room. When its context is done, it no longer blocks, and its events are still
// accepted.
func TestFull(t *testing.T) {
	free := make(chan struct{})
	answer := func(*Message, int) error { <-free; return nil }
	inBubble(t, Options{MaxBytes: 2 * (overhead + 3)}, answer, func(t *testing.T, r *running) {
		free = make(chan struct{})
		r.deliver(t, of("a", 1), of("b", 1))
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan error, 1)
		go func() { returned <- r.Deliver(ctx, []event.Event{of("c", 1)}) }()
		synctest.Wait()
		select {
		case <-returned:
			t.Error("Deliver did not block while there was no room")
		default:
		}
		if s := r.Status(); !strings.Contains(s, "outbox full: reading is paused") {
			t.Errorf("got status %q", s)
		}
		free <- struct{}{}
		synctest.Wait()
		if err := <-returned; err != nil {
			t.Error(err)
		}

		go func() { returned <- r.Deliver(ctx, []event.Event{of("d", 1), of("e", 1)}) }()
		synctest.Wait()
		cancel()
		if err := <-returned; err != nil {
			t.Error(err)
		}
		close(free)
		synctest.Wait()
		if got := r.taken(); len(got) != 5 {
			t.Errorf("accepted %q, want 5 messages", got)
		}
		if s := r.Status(); strings.Contains(s, "outbox full") {
			t.Errorf("got status %q after there was room", s)
		}
		r.deliver(t, event.Event{Type: event.Synced}, of(strings.Repeat("x", 99), 1)) // a status event, and an event that exceeds the room
		big := of("big", 1)
		big.Object = event.NewObject(big.Object.Identity, strings.Repeat("x", 1<<20))
		r.deliver(t, big, of("f", 1))
		synctest.Wait()
		if got := r.taken(); len(got) != 8 {
			t.Errorf("accepted %q, want 8 messages", got)
		}
	})
}

// TestFinish checks that Drain retries waiting messages at once, and that Run then returns when no message waits.
func TestFinish(t *testing.T) {
	for _, objects := range []int{0, 1, 2, 20} {
		inBubble(t, Options{Workers: 2}, never, func(t *testing.T, r *running) {
			for i := range objects {
				r.deliver(t, of(fmt.Sprint("o", i), 1))
			}
			await(10 * time.Minute)
			before := time.Now()
			r.recovers()
			r.Drain()
			synctest.Wait()
			if got := len(r.taken()); got != objects || !time.Now().Equal(before) {
				t.Errorf("%d of %d messages were accepted at once", got, objects)
			}
			if _, open := r.schedule.work.Get(); !open {
				t.Errorf("with %d objects, Run does not return", objects)
			}
		})
	}
}

// TestUndelivered checks that messages that still wait when Run is cancelled are counted.
func TestUndelivered(t *testing.T) {
	inBubble(t, Options{}, never, func(t *testing.T, r *running) {
		r.deliver(t, of("a", 1), of("a", 2), of("b", 1))
		synctest.Wait()
		r.Drain()
		await(10 * time.Second)
		r.stop()
		text, left := r.Summary()
		if left != 3 || !strings.HasSuffix(text, " 0 given up, 3 waiting; the last failure: no") {
			t.Errorf("got summary %q, %d undelivered, want 3", text, left)
		}
	})
}

// TestStatusLines checks the status lines after changes and once a minute.
func TestStatusLines(t *testing.T) {
	answer := func(*Message, int) error { return errors.New("broken\x1b[2J") }
	inBubble(t, Options{MaxBackoff: time.Second}, answer, func(t *testing.T, r *running) {
		r.deliver(t, of("one", 1))
		await(10 * time.Second)
		for i := range 4 {
			r.deliver(t, of(fmt.Sprint("o", i), 1))
		}
		await(3*time.Minute + 20*time.Second)
		r.recovers()
		await(5 * time.Minute)
		want := []string{
			`delivering to fake: cm/one: broken\u001b[2J, 1 waiting, oldest 0 s, next try in 1 s`,
			`delivering to fake: broken\u001b[2J, 5 waiting, oldest 10 s, next try in 1 s`,
			`delivering to fake: broken\u001b[2J, 5 waiting, oldest 60 s, next try in 1 s`,
			`delivering to fake: broken\u001b[2J, 5 waiting, oldest 2 min, next try in 1 s`,
			`delivering to fake: broken\u001b[2J, 5 waiting, oldest 3 min, next try in 1 s`,
			`delivering to fake: works again, nothing waits`,
		}
		if diff := cmp.Diff(list(want), list(r.lines())); diff != "" {
			t.Error(diff)
		}
	})
}

// TestID checks that an event always has the same ID, and that different events have different IDs.
func TestID(t *testing.T) {
	var ids []string
	answer := func(m *Message, n int) error {
		ids = append(ids, m.ID)
		if n == 1 {
			return errNo
		}
		return nil
	}
	inBubble(t, Options{}, answer, func(t *testing.T, r *running) {
		nameless := of("b", 7)
		id := *nameless.Object.Identity
		id.UID = ""
		nameless.Object = event.NewObject(&id, "{}")
		r.deliver(t, of("a", 7))
		await(time.Minute)
		r.deliver(t, nameless)
		synctest.Wait()
		want := []string{"uid-a/7/MODIFIED", "uid-a/7/MODIFIED", "configmaps/default/b/7/MODIFIED"}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Error(diff)
		}
	})
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 400 * time.Millisecond: "0 s", 16 * time.Second: "16 s", 119 * time.Second: "119 s",
		3*time.Minute + 59*time.Second: "3 min", 119 * time.Minute: "119 min", 50 * time.Hour: "50 h",
	} {
		if got := span(d); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

// TestBackoffIsKept checks that a new event of a failing object does not shorten its backoff.
func TestBackoffIsKept(t *testing.T) {
	inBubble(t, Options{}, never, func(t *testing.T, r *running) {
		for i := range 600 {
			r.deliver(t, of("bad", i))
			await(time.Second)
		}
		if n := len(r.all()); n > 25 {
			t.Errorf("got %d attempts in 10 minutes, want at most 25", n)
		}
	})
}

// TestStats checks the counters of Stats.
func TestStats(t *testing.T) {
	answer := func(m *Message, n int) error {
		switch {
		case m.Name == "refused":
			return &RefusedError{Err: errNo}
		case m.Name == "late":
			return errNo
		}
		return nil
	}
	inBubble(t, Options{GiveUpAfter: time.Hour}, answer, func(t *testing.T, r *running) {
		if s := r.Stats(); s != (Stats{}) {
			t.Errorf("at the start: got %+v, want zero", s)
		}
		r.deliver(t, of("taken", 1), of("refused", 1), of("late", 1), of("late", 2))
		await(10 * time.Second)
		s := r.Stats()
		if s.Delivered != 1 || s.Refused != 1 || s.Failed < 3 || s.GivenUp != 1 || s.Waiting != 2 || s.Bytes < 2 || s.Oldest != 10*time.Second || !s.Reached || s.Down || s.Full {
			t.Errorf("while messages wait: got %+v", s)
		}
		await(time.Hour)
		if s := r.Stats(); s.Waiting != 0 || s.GivenUp != 3 || s.Oldest != 0 || s.Bytes != 0 {
			t.Errorf("after the messages were given up: got %+v", s)
		}
	})
}
