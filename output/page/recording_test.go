package page

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestHistoryHubs tests that each past time is read once. A time after the end stands for the end and is read again
// each time, as the recording may grow.
func TestHistoryHubs(t *testing.T) {
	t.Parallel()
	ctx, begin := t.Context(), time.UnixMilli(1_000_000)
	end, read, broken := begin.Add(time.Minute), 0, error(nil)
	h := newHistoryHubs(New(Options{Recording: &Recording{Replay: func(_ context.Context, _ time.Time, _ event.Sink) (Coverage, error) {
		read++
		return Coverage{From: begin, To: end}, broken
	}}}))
	at := func(when time.Time) (shown time.Time) {
		t.Helper()
		hub, leave, err := h.of(ctx, ctx, when)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		return hub.clock()
	}
	for range 2 {
		if got := at(begin.Add(time.Second)); !got.Equal(begin.Add(time.Second)) || read != 1 {
			t.Fatalf("at %v, read %d times", got, read)
		}
	}
	if got := at(begin.Add(-time.Hour)); !got.Equal(begin) {
		t.Errorf("before the beginning, %v is shown", got)
	}
	if got := at(end.Add(time.Hour)); !got.Equal(end) {
		t.Errorf("after the end %v is shown", got)
	}
	end = end.Add(time.Minute)
	if got := at(begin.Add(time.Hour)); !got.Equal(end) {
		t.Errorf("the end is %v, but %v is shown", end, got)
	}
	for n := range 2 * maxTimes {
		at(begin.Add(time.Duration(n) * time.Second))
	}
	if len(h.held) != maxTimes {
		t.Errorf("%d times are retained", len(h.held))
	}
	broken, read = errors.New("it has gone"), 0
	for range 2 { // the second query gets the same error without a read
		if _, _, err := h.of(ctx, ctx, begin.Add(time.Millisecond)); !errors.Is(err, broken) || read != 1 {
			t.Errorf("%v, read %d times", err, read)
		}
	}
	broken = nil
	h.held[len(h.held)-1].ended = time.Now().Add(-2 * keepFailed)
	at(begin.Add(time.Millisecond))
	h.reading.Wait()
}

// TestHistoryHubsReading tests that the number of concurrent reads is limited, and that a read is cancelled when nobody
// waits for it.
func TestHistoryHubsReading(t *testing.T) {
	t.Parallel()
	began := make(chan time.Time, 100)
	h := newHistoryHubs(New(Options{Recording: &Recording{Replay: func(ctx context.Context, at time.Time, _ event.Sink) (Coverage, error) {
		began <- at
		<-ctx.Done()
		return Coverage{}, ctx.Err()
	}}}))
	var all []*historyHub
	for n := range maxShown {
		one, err := h.begin(t.Context(), time.UnixMilli(int64(n)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if _, err := h.begin(t.Context(), time.UnixMilli(maxShown)); !errors.Is(err, errShown) {
		t.Error(err)
	}
	if why := whyNotShown(errShown); strings.Contains(why, "can't be read") || !strings.HasPrefix(why, "Too many times") {
		t.Error(why)
	}
	if why := whyNotShown(io.EOF); why != "The recording can't be read: EOF" {
		t.Error(why)
	}
	for range maxReading {
		<-began
	}
	if len(h.turns) != maxReading || len(began) > 0 {
		t.Errorf("%d are read, and %d more", len(h.turns), len(began))
	}
	again, _ := h.begin(t.Context(), all[0].at)
	h.leave(all[0])
	if len(h.held) != maxShown || again != all[0] {
		t.Error("a Hub with a waiting user was dropped")
	}
	for _, one := range all {
		h.leave(one)
	}
	h.reading.Wait()
	if len(h.held) > 0 {
		t.Errorf("%d are held", len(h.held))
	}
}

// TestHistoryHubsClose tests that viewers of all times, and those that wait for one, get bye.
func TestHistoryHubsClose(t *testing.T) {
	t.Parallel()
	waits, began := time.UnixMilli(1), make(chan bool, 1)
	h := newHistoryHubs(New(Options{Recording: &Recording{Replay: func(ctx context.Context, at time.Time, _ event.Sink) (Coverage, error) {
		if at.Equal(waits) {
			began <- true
			<-ctx.Done()
		}
		return Coverage{From: at, To: at}, nil
	}}}))
	var looked []*Hub
	for n := range 2 * maxTimes {
		hub, _, err := h.of(t.Context(), t.Context(), time.UnixMilli(int64(n+2)))
		if err != nil {
			t.Fatal(err)
		}
		looked = append(looked, hub)
	}
	one, err := h.begin(t.Context(), waits)
	if err != nil {
		t.Fatal(err)
	}
	<-began
	h.close("enough")
	if <-one.done; !errors.Is(one.err, errBye) {
		t.Error(one.err)
	}
	for _, hub := range looked {
		if !hub.isClosed() {
			t.Error("one that is looked at is not closed")
		}
	}
	if _, err := h.begin(t.Context(), waits); !errors.Is(err, errBye) {
		t.Error(err)
	}
}

// TestHistoryHubsMost tests that the number of Hubs of a live history depends on the number of objects, also before the
// first Hub is filled.
func TestHistoryHubsMost(t *testing.T) {
	t.Parallel()
	h := newCourse(t)
	s := serve(t, h.Hub)
	if most := s.hubs.mostLocked(); most != maxShown {
		t.Errorf("of nothing %d times are held", most)
	}
	var all []event.Event
	for n := range maxCopied / 2 {
		all = append(all, added(pods, pod(fmt.Sprint("pod", n), fmt.Sprint("u", n), "1", "Pending"), 0))
	}
	h.tell(all...)
	for n := range 3 {
		_, err := s.hubs.begin(t.Context(), h.at(n+1))
		if (n == 2) != errors.Is(err, errShown) {
			t.Errorf("of time %d: %v", n, err)
		}
	}
	// API requests wait for other API requests.
	for range maxSearches {
		release, err := s.hubs.ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.hubs.ask(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestHistoryHubsRoom tests that the number of times of a live history depends on the number of objects, and that
// requests wait for room.
func TestHistoryHubsRoom(t *testing.T) {
	t.Parallel()
	h := newHistoryHubs(newCourse(t).Hub)
	h.copies = func() int { return maxCopied }
	at := time.Now().Add(-time.Minute)
	var leave []func()
	for n := range 2 {
		_, done, err := h.of(t.Context(), t.Context(), at.Add(time.Duration(n)*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, done)
	}
	if _, err := h.begin(t.Context(), at.Add(time.Hour)); !errors.Is(err, errShown) {
		t.Error(err)
	}
	came := make(chan error)
	go func() {
		_, done, err := h.of(t.Context(), t.Context(), at.Add(-time.Second))
		if err == nil {
			done()
		}
		came <- err
	}()
	leave[0]()
	if err := <-came; err != nil {
		t.Error(err)
	}
	h.mu.Lock()
	h.awaiting = maxAwaiting
	h.mu.Unlock()
	_, done, err := h.of(t.Context(), t.Context(), at.Add(2*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.of(t.Context(), t.Context(), at.Add(3*time.Second)); !errors.Is(err, errShown) {
		t.Errorf("too many wait for room: %v", err)
	}
	done()
	if leave[1](); len(h.held) > 0 {
		t.Errorf("%d are held", len(h.held))
	}
}

// begin calls beginLocked.
func (h *historyHubs) begin(ctx context.Context, at time.Time) (*historyHub, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.beginLocked(ctx, at)
}
