package page

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"dwatch/watcher/event"
)

// reading is a client that reads events.
type reading struct {
	t     *testing.T
	lines *bufio.Scanner
}

func (s *served) subscribed(t *testing.T, query string) *reading {
	t.Helper()
	response, err := http.DefaultTransport.(*http.Transport).Clone().RoundTrip(s.request(t, "GET", "/api/events"+query))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if h := response.Header; response.StatusCode != http.StatusOK || h.Get("Content-Type") != "application/x-ndjson" || h.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%s, %v", response.Status, h)
	}
	return &reading{t, bufio.NewScanner(response.Body)}
}

// next returns the next line in short. "end" is a clean end, and "cut" an unexpected one.
func (r *reading) next() string {
	r.t.Helper()
	if !r.lines.Scan() {
		if r.lines.Err() != nil {
			return "cut"
		}
		return "end"
	}
	var e struct {
		Type    string
		Initial bool
		Object  struct {
			Metadata struct{ Name, ResourceVersion string }
			Data     map[string]string
		}
	}
	if err := json.Unmarshal(r.lines.Bytes(), &e); err != nil {
		r.t.Fatalf("%v: %s", err, r.lines.Text())
	}
	text := e.Type + " " + e.Object.Metadata.Name + e.Object.Metadata.ResourceVersion
	if e.Initial {
		text += " initial"
	}
	return strings.TrimSpace(text)
}

// expect reads lines.
func (r *reading) expect(want ...string) {
	r.t.Helper()
	for _, line := range want {
		if got := r.next(); got != line {
			r.t.Fatalf("%q instead of %q", got, line)
		}
	}
}

// TestEvents tests that programs get event lines for the selected existing objects, and for each selected change.
func TestEvents(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	a, b := pod("a", "u1", "1", "Running"), pod("b", "u2", "2", "Pending")
	deliver(t, h, added(pods, a, 0), added(pods, b, 0), added(secrets, object("Secret", "s", "u3", "3", `},"data":{"password":"`+password+`"}`), 0))
	initial := map[string]string{"a": "ADDED a1 initial", "b": "ADDED b2 initial", "s": "ADDED s3 initial"}
	all := s.subscribed(t, "")
	all.expect(initial["a"], initial["b"], initial["s"])
	if strings.Contains(all.lines.Text(), password[:12]) {
		t.Errorf("a Secret is seen: %s", all.lines.Text())
	}
	one := s.subscribed(t, "?resource=pods&labelSelector=app%3Db")
	one.expect(initial["b"])
	where := s.subscribed(t, "?where=object.status.phase=='Pending'&marks=true")
	where.expect(initial["b"])
	deletions := s.subscribed(t, "?watch-only=true&types=deleted")
	deliver(t, h,
		modified(pods, a, pod("a", "u1", "4", "Pending"), 1), modified(pods, b, pod("b", "u2", "5", "Pending"), 1),
		event.Event{Type: event.Synced, Target: pods, Time: at(2)}, deleted(pods, pod("a", "u1", "6", "Failed"), 3))
	all.expect("MODIFIED a4", "MODIFIED b5", "DELETED a6")
	one.expect("MODIFIED b5")
	where.expect("MODIFIED a4", "MODIFIED b5", "SYNCED")
	deletions.expect("DELETED a6")
	later := s.subscribed(t, "?resource=pods&marks=true")
	later.expect("ADDED b5 initial", "SYNCED")
	h.Close("the run has ended")
	for _, r := range []*reading{all, one, where, deletions, later} {
		r.expect("end")
	}
}

// TestEventsOfManyObjects tests that the initial objects of a client do not count as events that it was too slow for.
func TestEventsOfManyObjects(t *testing.T) {
	t.Parallel()
	h := newHub()
	for n := range maxQueue {
		deliver(t, h, added(pods, pod(fmt.Sprint("p", n), fmt.Sprint("u", n), "1", "Running"), 0))
	}
	s := h.subscribe(selection{labels: labels.Everything()})
	o := churned(t, h, pod("p0", "u0", "1", "Running"), 1)
	if events, _, lost := h.queued(s); len(events) != maxQueue+1 || lost {
		t.Errorf("%d events, lost: %v", len(events), lost)
	}
	churned(t, h, o, maxQueue+1)
	if _, _, lost := h.queued(s); !lost {
		t.Error("a client that reads nothing keeps its queue")
	}
}

// TestEventsBehind tests that a client that does not read takes no more memory than its queue, delays no other client,
// and is informed about lost events.
func TestEventsBehind(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := h.subscribe(selection{labels: labels.Everything()})
	o := churned(t, h, pod("a", "u1", "1", "Running"), maxQueue)
	if events, _, lost := h.queued(s); len(events) != maxQueue || lost {
		t.Errorf("%d events, lost: %v", len(events), lost)
	}
	churned(t, h, o, maxQueue+1)
	if events, _, lost := h.queued(s); len(events) != 0 || !lost || len(h.subscribers) > 0 {
		t.Errorf("%d events, lost: %v", len(events), lost)
	}
	page := serve(t, h)
	r := page.subscribed(t, "")
	r.next()
	h.mu.Lock()
	for s := range h.subscribers {
		s.queue = make([]event.Event, maxQueue)
	}
	h.mu.Unlock()
	deliver(t, h, event.Event{Type: event.Synced, Target: pods, Time: at(2)})
	if got := r.next(); got != "cut" {
		t.Errorf("it is %s", got)
	}
}

// TestEventsOnce tests that a program gets each change once, whenever it connects.
func TestEventsOnce(t *testing.T) {
	t.Parallel()
	h := newHub()
	s := serve(t, h)
	o := pod("a", "u1", "0", "Running")
	deliver(t, h, added(pods, o, 0))
	const last = 300
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 1; i <= last; i++ {
			now := pod("a", "u1", fmt.Sprint(i), []string{"Pending", "Running"}[i%2])
			if err := h.Deliver(t.Context(), []event.Event{modified(pods, o, now, i)}); err != nil {
				t.Error(err)
			}
			o = now
		}
	}()
	for range 10 {
		r := s.subscribed(t, "")
		version := -1
		for version < last {
			now := 0
			if _, err := fmt.Sscanf(strings.TrimSuffix(r.next(), " initial"), map[bool]string{true: "ADDED", false: "MODIFIED"}[version < 0]+" a%d", &now); err != nil {
				t.Fatal(err)
			}
			if version >= 0 && now != version+1 {
				t.Fatalf("%d after %d", now, version)
			}
			version = now
		}
	}
	<-done
}
