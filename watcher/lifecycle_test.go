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

// TestRenewal checks that renewals of a watch are not visible.
func TestRenewal(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
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

// TestHalfOpen checks that a silently dead connection is detected, that changes in between are
// reported, and that Heard is when the server was last heard from.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{MinWatchTimeout: time.Second}})
	w.await("SYNCED", 1)
	f.awaitWatches(2) // this watch has a timeout that the server should have honored
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
			t.Errorf("Disconnected with %v, want ErrStalled", e.Err)
		}
		if silent := e.Time.Sub(e.Heard); silent < time.Second/2 || silent > time.Minute {
			t.Errorf("Heard is %s before the loss was noticed, want between 0.5 s and 1 min", silent)
		}
	}
}

// TestNoAnswerToWatch checks a server that accepts watch requests and does not answer.
func TestNoAnswerToWatch(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
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

// TestDeniedWhileWatching checks that a permission that is revoked during a watch, which the server
// does not end, is reported when the watch is renewed, and again when it is granted.
func TestDeniedWhileWatching(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
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

// TestBackoff checks that an outage causes few requests, and that a run can end during an outage.
func TestBackoff(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
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
	// The first wait is about half a second, and each wait is longer than the one before, except
	// for jitter.
	for i := 1; i < len(times); i++ {
		least := 400 * time.Millisecond << (i - 1)
		if waited := times[i] - times[i-1]; waited < least {
			t.Errorf("request %d came after %v, want at least %v (%v)", i, waited, least, times)
		}
	}
	if got := strings.Join(w.lines(), " "); got != "SYNCED DISCONNECTED" {
		t.Error(got)
	}
}

// TestUnrequested checks that a target leaves when it is no longer requested, that others continue,
// and that the run does not start to follow the server.
func TestUnrequested(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	other := event.Target{Mapping: secrets, Namespace: r.namespace}
	changed := make(chan struct{}, 1)
	w := watchWith(t, Options{
		Config: config, Targets: []event.Target{r.target(), other},
		RequestsChanged: changed, IsRequested: func(k event.Key) bool { return k == r.target().Key() },
	})
	w.await("SYNCED", 2)
	changed <- struct{}{}
	w.await("LEFT", 1)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.opened != 2 {
		t.Errorf("%d watches were opened, want 2", f.opened)
	}
}
