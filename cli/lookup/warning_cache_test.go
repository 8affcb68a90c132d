package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"dwatch/cli/cluster"
	"dwatch/mapper"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// warner is a WarningCache with a fake server that lists Warnings.
type warner struct {
	*WarningCache
	mu       sync.Mutex
	all      []string
	isDenied bool
	atOnce   int      // maximum number of Events per page, regardless of the limit in the request; 0 means the limit
	fails    int      // number of the page that fails, starting at 1; 0 means none
	requests []string // the queries
}

func newWarner(t *testing.T, all ...string) *warner {
	t.Helper()
	s := &warner{all: all}
	server := httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(server.Close)
	there := &cluster.Cluster{Config: &rest.Config{Host: server.URL, QPS: -1}, HTTP: server.Client()}
	d, err := there.NewDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	client, err := New(there, mapper.New(d))
	if err != nil {
		t.Fatal(err)
	}
	s.WarningCache = NewWarningCache(func(string) *Client { return client }, nil)
	return s
}

func (s *warner) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	s.requests = append(s.requests, strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/")+" "+query.Get("fieldSelector")+" "+query.Get("limit")+" "+query.Get("continue"))
	if s.isDenied {
		refuse(w, http.StatusForbidden, "Forbidden")
		return
	}
	from, _ := strconv.Atoi(query.Get("continue"))
	limit, _ := strconv.Atoi(query.Get("limit"))
	if limit = cmp.Or(s.atOnce, limit); s.fails > 0 && from == (s.fails-1)*limit {
		refuse(w, http.StatusGone, "Expired")
		return
	}
	to, next := min(from+limit, len(s.all)), ""
	if to < len(s.all) {
		next = fmt.Sprint(to)
	}
	fmt.Fprintf(w, `{"apiVersion":"v1","kind":"EventList","metadata":{"resourceVersion":"1","continue":%q},"items":[%s]}`, next, strings.Join(s.all[from:to], ","))
}

// next makes the next waiting request and returns its queries, or nothing if none is waiting.
func (s *warner) next(ctx context.Context) []string {
	select {
	case at := <-s.waiting:
		s.update(ctx, at)
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

// passes simulates that time passes.
func (s *warner) passes(d time.Duration) {
	of := s.get(clusterNamespace{"", "shop"})
	of.dueAt = of.dueAt.Add(-d)
}

func warning(pod, uid, message string, at time.Time) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":%[1]q,"namespace":"shop"},"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"shop","name":%[1]q,"uid":%[2]q},`+
		`"type":"Warning","reason":"FailedMount","message":%[3]q,"lastTimestamp":%[4]q}`, pod, uid, message, at.Format(time.RFC3339))
}

func podNamed(name, uid string) owner.Ref {
	return owner.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Namespace: "shop", Name: name, UID: types.UID(uid)}
}

var nine = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)

// TestWarned checks that the newest Warning is available after its namespace was listed, which is repeated after the pause.
func TestWarned(t *testing.T) {
	s := newWarner(t, warning("a", "a", "no room", nine), warning("a", "a", "no disk", nine.Add(time.Minute)), warning("a", "a1", "of another", nine.Add(time.Hour)))
	if why, _ := s.Newest("", podNamed("a", "a")); why != "" || !s.HasPending() {
		t.Errorf("before the first list: got %q, HasPending %t", why, s.HasPending())
	}
	if requests, want := fmt.Sprint(s.next(t.Context())), "[shop/events type=Warning 500 ]"; requests != want || s.HasPending() {
		t.Errorf("got requests %s, want %s; HasPending is %t", requests, want, s.HasPending())
	}
	if why, last := s.Newest("", podNamed("a", "a")); why != "FailedMount: no disk" || !last.Equal(nine.Add(time.Minute)) {
		t.Errorf("got %q at %s, want the newest Warning", why, last)
	}
	if why, _ := s.Newest("", podNamed("b", "b")); why != "" {
		t.Errorf("got %q for an object without Warnings", why)
	}
	for n, want := range []int{0, 1} { // before and after the pause
		if s.Newest("", podNamed("a", "a")); len(s.next(t.Context())) != want {
			t.Errorf("step %d: the number of requests is not %d", n, want)
		}
		s.passes(maxPause)
	}
}

// TestWarnedDenied checks the long pause after a denial.
func TestWarnedDenied(t *testing.T) {
	s := newWarner(t, warning("a", "a", "no room", nine))
	s.isDenied = true
	s.Newest("", podNamed("a", "a"))
	if requests := s.next(t.Context()); len(requests) != 1 || s.HasPending() {
		t.Fatalf("got requests %q, want 1; HasPending is %t", requests, s.HasPending())
	}
	s.passes(deniedPause - time.Minute)
	s.Newest("", podNamed("a", "a"))
	if requests := s.next(t.Context()); len(requests) != 0 {
		t.Errorf("got requests %q during the pause, want none", requests)
	}
	s.isDenied = false
	s.passes(time.Minute)
	s.Newest("", podNamed("a", "a"))
	s.next(t.Context())
	if why, _ := s.Newest("", podNamed("a", "a")); why != "FailedMount: no room" {
		t.Errorf("got %q after the permission was granted", why)
	}
}

// TestWarnedParts checks that the newest of many Warnings is found on any page, up to the maximum number of pages or the first
// error.
func TestWarnedParts(t *testing.T) {
	for parts, want := range map[int]struct {
		why      string
		requests int
		fails    int
	}{
		1: {"FailedMount: newest", 1, 0}, 2: {"FailedMount: newest", 2, 0}, maxEventPages: {"FailedMount: newest", maxEventPages, 0},
		maxEventPages + 1: {"FailedMount: old 0", maxEventPages, 0}, maxEventPages + 2: {"FailedMount: old 0", 2, 2},
	} {
		s := newWarner(t)
		s.atOnce, s.fails = 3, want.fails
		for n := range 3*parts - 1 {
			s.all = append(s.all, warning("a", "a", fmt.Sprint("old ", n), nine.Add(-time.Duration(n)*time.Second)))
		}
		s.all = append(s.all, warning("a", "a", "newest", nine.Add(time.Second)))
		s.Newest("", podNamed("a", "a"))
		if requests := s.next(t.Context()); len(requests) != want.requests {
			t.Errorf("%d pages: got requests %q, want %d", parts, requests, want.requests)
		}
		if why, _ := s.Newest("", podNamed("a", "a")); why != want.why {
			t.Errorf("%d pages: got %q, want %q", parts, why, want.why)
		}
	}
}

// TestWarnedPause checks that the pause grows while Warnings do not change, and is reset when they change unless they are many.
func TestWarnedPause(t *testing.T) {
	many := func(n int, text string) *warnings {
		all := make([]kubeevent.Event, n)
		for k := range all {
			all[k] = kubeevent.Event{InvolvedObject: podNamed(fmt.Sprint(k), ""), Reason: "X", Message: text}
		}
		return warningsIn(all)
	}
	failed, denied := errors.New("no answer"), apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil)
	var of warnings
	for n, step := range []struct {
		found *warnings
		err   error
		want  time.Duration
	}{
		{many(3, "a"), nil, minPause}, {many(3, "a"), nil, 2 * minPause}, {many(3, "a"), nil, 4 * minPause}, {many(3, "b"), nil, minPause},
		{many(0, ""), failed, 2 * minPause}, {many(3, "b"), nil, 4 * minPause}, {many(0, ""), denied, deniedPause}, {many(3, "b"), nil, maxPause},
		{many(eventsPage, "c"), nil, minPause}, {many(eventsPage+1, "d"), nil, 2 * minPause}, {many(eventsPage+1, "e"), nil, 4 * minPause},
	} {
		if of.record(step.found, step.err); of.pause != step.want {
			t.Errorf("step %d: got a pause of %s, want %s", n, of.pause, step.want)
		}
	}
}
