package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/deliver"
	"dwatch/watcher/event"
)

func targetOf(group, resource, namespace string) event.Target {
	r := schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}
	return event.Target{Mapping: event.NewMapping(r, "Kind", true), Namespace: namespace}
}

var (
	pods   = targetOf("", "pods", "a")
	others = targetOf("", "pods", "b")
	webs   = targetOf("apps", "deployments", "a")
	odd    = targetOf("x\"\\\n\xff", "odd", "a")
	same   = targetOf("x\"\\\n\xfe", "odd", "a") // has the same label values as odd
)

// ofType returns events of a target.
func ofType(t event.Target, types ...event.Type) (batch []event.Event) {
	for _, one := range types {
		e := event.Event{Type: one, Target: t, Time: time.Unix(1700000000, 123e6), Err: errors.New("no")}
		if one == event.Heartbeat {
			e.Target = event.Target{}
		}
		batch = append(batch, e)
	}
	return batch
}

// passed is a Sink that records the types of events.
type passed struct{ types []event.Type }

func (p *passed) Deliver(_ context.Context, batch []event.Event) error {
	for _, e := range batch {
		p.types = append(p.types, e.Type)
	}
	return nil
}

// has checks that a text has these lines.
func has(t *testing.T, text []byte, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !slices.Contains(strings.Split(string(text), "\n"), line) {
			t.Errorf("no line %s", line)
		}
	}
}

// scrape returns the metrics as Prometheus gets them.
func scrape(t *testing.T, m *Metrics) []byte {
	t.Helper()
	w := httptest.NewRecorder()
	handler(m).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
	if kind := w.Header().Get("Content-Type"); w.Code != 200 || !strings.HasPrefix(kind, "text/plain; version=0.0.4; charset=utf-8") {
		t.Fatalf("%d, %s: %s", w.Code, kind, w.Body)
	}
	return w.Body.Bytes()
}

// TestText checks the values of the metrics, that each has a help text and a type, and that promlint accepts them.
func TestText(t *testing.T) {
	m := New(Options{Version: "v1.2.3-\"odd\"\\\n\xff"})
	m.Begin([]event.Target{pods, others, webs, odd, same})
	front := m.InputStage(m.OutputStage(&passed{}))
	for _, batch := range [][]event.Event{
		ofType(pods, event.Added, event.Added, event.Synced, event.Modified, event.Disconnected, event.Reconnected),
		ofType(others, event.Synced, event.Disconnected),
		ofType(webs, event.Synced, event.Disconnected, event.Gap, event.Deleted),
		ofType(odd, event.Synced, event.Added, event.Gone),
		ofType(same, event.Synced, event.Added, event.Gone),
	} {
		if err := front.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	m.SetDeliveryStats(func() deliver.Stats {
		return deliver.Stats{Delivered: 5, Failed: 4, Refused: 3, GivenUp: 2, Waiting: 7, Bytes: 700, Oldest: 90 * time.Second, Down: true}
	})
	text := scrape(t, m)
	has(t, text,
		`dwatch_build_info{goversion="`+goVersion(t, text)+`",version="v1.2.3-\"odd\"\\\n`+"\uFFFD"+`"} 1`,
		`dwatch_events_total{resource="pods",type="ADDED"} 2`,
		`dwatch_events_total{resource="pods",type="DELETED"} 0`,
		`dwatch_events_total{resource="deployments.apps",type="DELETED"} 1`,
		`dwatch_events_total{resource="odd.x\"\\\n`+"\uFFFD"+`",type="ADDED"} 2`,
		`dwatch_last_event_timestamp_seconds{resource="pods"} 1.700000000123e+09`,
		`dwatch_disconnects_total{resource="pods"} 2`,
		`dwatch_reconnects_total{resource="pods"} 1`,
		`dwatch_gaps_total{resource="deployments.apps"} 1`,
		`dwatch_gaps_total{resource="pods"} 0`,
		`dwatch_connected{resource="pods"} 0`, // in one namespace of two
		`dwatch_connected{resource="deployments.apps"} 1`,
		`dwatch_delivery_attempts_total{result="failed"} 4`,
		`dwatch_delivery_attempts_total{result="refused"} 3`,
		`dwatch_delivery_delivered_total 5`,
		`dwatch_delivery_given_up_total 2`,
		`dwatch_delivery_waiting_events 7`,
		`dwatch_delivery_oldest_age_seconds 90`,
		`dwatch_delivery_down 1`,
	)
	if bytes.Contains(text, []byte(`dwatch_connected{resource="odd`)) {
		t.Error("dwatch_connected exists for a resource that the server no longer serves")
	}
	for _, name := range []string{
		"go_goroutines", "go_sched_gomaxprocs_threads", "go_memstats_heap_alloc_bytes", "go_memstats_sys_bytes",
		"go_memstats_alloc_bytes_total", "go_gc_cycles_total_gc_cycles_total", "process_start_time_seconds",
		"process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds",
	} {
		if !regexp.MustCompile(`(?m)^` + name + ` [0-9]`).Match(text) {
			if _, err := os.Stat("/proc/self/stat"); err == nil {
				t.Errorf("no %s", name)
			}
		}
	}
	problems, err := promlint.New(bytes.NewReader(text)).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v, %v in\n%s", problems, err, text)
	}
}

func goVersion(t *testing.T, text []byte) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^go_info\{version="(go[^"]+)"\} 1$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("no go_info in\n%s", text)
	}
	return string(found[1])
}

// TestScrapes checks concurrent scrapes during events: counters never decrease, and a scrape that panics returns an error and
// does not affect later ones.
func TestScrapes(t *testing.T) {
	m := New(Options{})
	m.Begin([]event.Target{pods})
	front := m.InputStage(&passed{})
	m.SetDeliveryStats(func() deliver.Stats { return deliver.Stats{} })
	served := handler(m)
	get := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		served.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil))
		return w
	}
	count := regexp.MustCompile(`(?m)^dwatch_events_total\{resource="pods",type="ADDED"\} ([0-9]+)$`)
	const batches = 500
	var all sync.WaitGroup
	all.Go(func() {
		for i := range batches {
			front.Deliver(t.Context(), ofType(pods, event.Added, event.Disconnected, event.Synced))
			m.Begin([]event.Target{targetOf("", fmt.Sprint("more", i), "")})
		}
	})
	for range 2 {
		all.Go(func() {
			for last := -1; last < batches; {
				found := count.FindSubmatch(get().Body.Bytes())
				if found == nil {
					t.Error("no count")
					return
				}
				now, _ := strconv.Atoi(string(found[1]))
				if now < last {
					t.Errorf("the counter is %d after %d", now, last)
				}
				last = now
			}
		})
	}
	all.Wait()

	m.SetDeliveryStats(func() deliver.Stats { panic("no numbers") })
	if w := get(); w.Code != 500 || !strings.Contains(w.Body.String(), "no numbers") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	m.SetDeliveryStats(func() deliver.Stats { return deliver.Stats{} })
	if w := get(); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestHeartbeats checks that InputStage removes only heartbeats, and only those that the user did not ask for.
func TestHeartbeats(t *testing.T) {
	batch := ofType(pods, event.Heartbeat, event.Added, event.Heartbeat, event.Synced, event.Heartbeat)
	next := &passed{}
	front := New(Options{}).InputStage(next)
	for _, batch := range [][]event.Event{batch, batch[:1], batch[1:2], batch[:2]} {
		if err := front.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	if want := []event.Type{event.Added, event.Synced, event.Added, event.Added}; !slices.Equal(next.types, want) {
		t.Errorf("%q, want %q", next.types, want)
	}
	next = &passed{}
	if err := New(Options{Heartbeat: time.Second}).InputStage(next).Deliver(t.Context(), batch); err != nil || len(next.types) != len(batch) {
		t.Errorf("%q, %v", next.types, err)
	}
	var none *Metrics
	if none.InputStage(next) != event.Sink(next) || none.OutputStage(next) != event.Sink(next) || none.HeartbeatInterval() != 0 {
		t.Error("nil Metrics add a stage or want heartbeats")
	}
}

// TestHealthy checks that a run is unhealthy if the loop or a stage hangs, but healthy while stdout is blocked or the queue is
// full.
func TestHealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Options{})
		full := false
		healthy := func(when string, want bool) {
			t.Helper()
			if err := m.CheckHealthy(); (err == nil) != want {
				t.Errorf("%s: %v", when, err)
			}
		}
		time.Sleep(time.Hour)
		healthy("before it begins", true)
		m.Begin([]event.Target{pods})
		release := make(chan struct{})
		blocked := event.SinkFunc(func(context.Context, []event.Event) error { <-release; return nil })
		deliver1 := func(s event.Sink) { // the caller waits with release
			go s.Deliver(t.Context(), ofType(pods, event.Added))
			synctest.Wait()
		}
		time.Sleep(stuck)
		healthy("just begun", true)
		for range 100 {
			time.Sleep(DefaultHeartbeat)
			m.InputStage(&passed{}).Deliver(t.Context(), ofType(pods, event.Heartbeat))
		}
		healthy("with heartbeats", true)
		time.Sleep(stuck + time.Second)
		healthy("without", false)

		deliver1(m.InputStage(blocked))
		time.Sleep(stuck + time.Second)
		healthy("a stage hangs", false)
		release <- struct{}{}
		synctest.Wait()
		healthy("the stage continues", true)

		deliver1(m.InputStage(m.OutputStage(blocked)))
		time.Sleep(time.Hour)
		healthy("stdout is blocked", true)
		m.SetDeliveryStats(func() deliver.Stats { return deliver.Stats{Full: full} })
		healthy("the queue hangs", false)
		full = true
		healthy("the queue is full", true)
		full = false
		release <- struct{}{}
		synctest.Wait()
		healthy("there is room again", true)
		time.Sleep(time.Hour)
		healthy("the loop hangs", false)
		m.SetStopping()
		healthy("at the end", true)
	})
}

// TestReady checks that a run is ready when each resource has synced or is denied, and the receiver was reached.
func TestReady(t *testing.T) {
	m := New(Options{})
	var stats deliver.Stats
	front := m.InputStage(&passed{})
	ready := func(want string) {
		t.Helper()
		got := "<nil>"
		if err := m.CheckReady(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	happens := func(of event.Target, types ...event.Type) {
		t.Helper()
		if err := front.Deliver(t.Context(), ofType(of, types...)); err != nil {
			t.Fatal(err)
		}
	}
	ready("connecting")
	m.Begin([]event.Target{pods, others, webs})
	ready("not synced: deployments.apps, pods")
	happens(pods, event.Added, event.Synced)
	happens(webs, event.Denied)
	ready("not synced: pods")
	happens(others, event.Disconnected)
	ready("not synced: pods")
	happens(others, event.Synced)
	ready("<nil>")
	m.SetDeliveryStats(func() deliver.Stats { return stats })
	ready("<nil>")
	stats.Waiting = 1
	ready("the receiver has not been reached yet")
	stats.Reached = true
	ready("<nil>")
	happens(pods, event.Disconnected)
	ready("<nil>") // lost connections do not make a run unready
	happens(odd, event.Arrived)
	ready("not synced: odd." + odd.Resource().Group)
	happens(odd, event.Gone)
	ready("<nil>")
	m.SetStopping()
	ready("stopping")
}

// TestServer checks paths, methods, timeouts and Close.
func TestServer(t *testing.T) {
	m := New(Options{})
	s, err := Listen("127.0.0.1:0", m)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	base := strings.TrimSuffix(s.URL(), "/metrics")
	for _, one := range []struct {
		method, path string
		code         int
		body         string
	}{
		{"GET", "/metrics", 200, "# HELP dwatch_build_info "},
		{"HEAD", "/metrics", 200, ""},
		{"GET", "/healthz", 200, "ok\n"},
		{"HEAD", "/healthz", 200, ""},
		{"GET", "/readyz", 503, "connecting\n"},
		{"POST", "/metrics", 405, "Method Not Allowed"},
		{"DELETE", "/healthz", 405, "Method Not Allowed"},
		{"GET", "/", 404, "404"},
		{"GET", "/metrics/x", 404, "404"},
		{"GET", "/debug/pprof/", 404, "404"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), one.method, base+one.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != one.code || !strings.HasPrefix(string(body), one.body) || one.method == "HEAD" && len(body) > 0 || err != nil {
			t.Errorf("%s %s: %s, %.60q, %v", one.method, one.path, response.Status, body, err)
		}
	}
	if h := s.server; h.ReadHeaderTimeout == 0 || h.ReadTimeout == 0 || h.WriteTimeout == 0 || h.IdleTimeout == 0 {
		t.Errorf("a client can hold a connection for ever: %+v", h)
	}
	if _, err := Listen(s.listener.Addr().String(), m); err == nil || err.Error() != "bind: address already in use" {
		t.Error(err)
	}
	s.Close()
	if c, err := net.Dial("tcp", s.listener.Addr().String()); err == nil {
		c.Close()
		t.Error("the server still listens after Close")
	}
	(*Server)(nil).Close()
}
