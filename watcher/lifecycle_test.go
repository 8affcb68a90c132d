package watcher

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

// TestRenewal: a watch is renewed again and again, and nobody notices.
func TestRenewal(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{MinWatchTimeout: time.Second}})
	w.await("SYNCED", 1)
	want := []string{"ADDED initial a=0", "SYNCED"}
	for n := 1; n < 5; n++ {
		f.awaitWatches(n)
		r.update("a", n)
		want = append(want, fmt.Sprintf("MODIFIED a=%d", n))
		w.await(want[len(want)-1], 1)
	}
	w.stop()
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestHalfOpen: a connection that died without a sign is found out, and what happened
// meanwhile is reported. What is known of the objects is of when something was last heard.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{MinWatchTimeout: time.Second}})
	w.await("SYNCED", 1)
	f.awaitWatches(2) // the server was asked to end this one in time
	f.mute()
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	w.await("RECONNECTED", 1)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "DISCONNECTED", "RECONNECTED", "MODIFIED a=1"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
	for _, e := range w.events {
		if e.Type != event.Disconnected {
			continue
		}
		if !errors.Is(e.Err, source.ErrStalled) {
			t.Errorf("disconnected by %v", e.Err)
		}
		if silent := e.Time.Sub(e.Heard); silent < time.Second/2 || silent > time.Minute {
			t.Errorf("something was heard %s before the loss was noticed", silent)
		}
	}
}

// TestNoAnswerToWatch: the request for a watch is taken, and nothing comes.
func TestNoAnswerToWatch(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{RequestTimeout: time.Second}})
	w.await("SYNCED", 1)
	f.set(func(req *http.Request) *http.Response {
		<-req.Context().Done()
		return respond(http.StatusGatewayTimeout, internal)
	})
	f.cut()
	f.awaitRequests(3)
	f.set(nil)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	w.stop()
	if !slices.ContainsFunc(w.events, func(e event.Event) bool { return e.Type == event.Disconnected }) {
		t.Error("the loss was not reported")
	}
}

// TestDeniedWhileWatching: a right is taken away while the watch is open, which
// the server lets go on. It is reported when the watch is renewed, and when it is
// given back.
func TestDeniedWhileWatching(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{MinWatchTimeout: time.Second}})
	w.await("SYNCED", 1)
	f.set(func(*http.Request) *http.Response { return respond(http.StatusForbidden, forbidden) })
	w.await("DENIED", 1)
	r.update("a", 1)
	f.set(nil)
	w.await("MODIFIED a=1", 1)
	w.await("RECONNECTED", 1)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "DENIED", "RECONNECTED", "MODIFIED a=1"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestPatience: an outage is met with few requests, however long it lasts, and
// an end in the middle of it comes at once.
func TestPatience(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	before := f.count()
	began := time.Now()
	var times []time.Duration
	f.set(func(*http.Request) *http.Response {
		times = append(times, time.Since(began))
		return respond(http.StatusServiceUnavailable, internal)
	})
	f.cut()
	f.awaitRequests(before + 5)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	// Half a second at first, and each wait longer than the one before, but for
	// what jitter takes.
	for i := 1; i < len(times); i++ {
		least := 400 * time.Millisecond << (i - 1)
		if waited := times[i] - times[i-1]; waited < least {
			t.Errorf("request %d came after %v, at least %v were due (%v)", i, waited, least, times)
		}
	}
	if got := strings.Join(w.lines(), " "); got != "SYNCED DISCONNECTED" {
		t.Error(got)
	}
}

// TestUnasked: what is not asked for any more leaves, and the rest goes on; what else the server has is not looked for.
func TestUnasked(t *testing.T) {
	t.Parallel()
	r := newRoom(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	other := event.Target{Mapping: secrets, Namespace: r.namespace}
	drop := make(chan struct{}, 1)
	w := watchWith(t, Options{
		Config: config, Targets: []event.Target{r.target(), other},
		RequestsChanged: drop, IsRequested: func(k event.Key) bool { return k == r.target().Key() },
	})
	w.await("SYNCED", 2)
	drop <- struct{}{}
	w.await("LEFT", 1)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened != 2 {
		t.Errorf("%d watches were opened", f.opened)
	}
}
