package watcher

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

const (
	// fat is the content size of the objects in this file. A few of them fill the budget.
	fat = 200 << 10
	// fits is the number of such events that fit into the budget.
	fits = source.BudgetBytes / (fat + source.EventOverhead)
	// outside is the number of additional events that may have been read: one waits for the budget,
	// client-go holds one, and the sink holds one.
	outside = 3
)

// createFat creates an object with content of size fat.
func (r *sandbox) createFat(name string) {
	r.t.Helper()
	cm := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"data": map[string]any{"fat": strings.Repeat("x", fat), "n": "0"},
	}}
	cm.SetName(name)
	if _, err := r.configMaps().Create(r.t.Context(), cm, metav1.CreateOptions{}); err != nil {
		r.t.Error(err)
	}
}

// seen is an event without content, as a sink with little memory retains it.
type seen struct {
	kind    event.Type
	object  string // namespace and name
	uid     types.UID
	version string
	n       int64
}

// staller is a sink that blocks at an event until awake is closed.
type staller struct {
	t       *testing.T
	at      func(event.Event) bool
	err     error // returned by emit when awake is closed
	stalled chan struct{}
	awake   chan struct{}
	stall   sync.Once
	cancel  context.CancelFunc
	running sync.WaitGroup
	ended   error // result of Run, set when running is done

	mu       sync.Mutex
	reported []seen
	changed  sync.Cond
}

func stallAt(t *testing.T, options Options, at func(event.Event) bool) *staller {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &staller{t: t, at: at, cancel: cancel, stalled: make(chan struct{}), awake: make(chan struct{})}
	s.changed.L = &s.mu
	w := newWatcher(t, options)
	s.running.Go(func() { s.ended = w.Run(ctx, each(s.emit)) })
	t.Cleanup(cancel)
	return s
}

func (s *staller) emit(e event.Event) (err error) {
	if s.at(e) {
		s.stall.Do(func() {
			close(s.stalled)
			<-s.awake
			err = s.err
		})
	}
	line := seen{kind: e.Type}
	if !e.Type.IsStatus() {
		line = seen{e.Type, e.Object.Namespace + "/" + e.Object.Name, e.Object.UID, e.Object.ResourceVersion, gjson.Get(e.Object.Raw(), "data.n").Int()}
	}
	s.mu.Lock()
	s.reported = append(s.reported, line)
	s.changed.Broadcast()
	s.mu.Unlock()
	return err
}

// await returns when an event of this kind has been delivered for an object with data.n = n.
func (s *staller) await(kind event.Type, object string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for from := 0; ; s.changed.Wait() {
		for ; from < len(s.reported); from++ {
			if e := s.reported[from]; e.kind == kind && e.object == object && e.n == n {
				return
			}
		}
	}
}

// stop ends the run and checks that it has no goroutines left.
func (s *staller) stop() {
	s.t.Helper()
	s.cancel()
	s.end()
}

func (s *staller) end() {
	s.t.Helper()
	s.running.Wait()
	if !errors.Is(s.ended, s.err) {
		s.t.Errorf("Run returned %v, want %v", s.ended, s.err)
	}
	// Goroutines that have signaled their end may need a moment to exit.
	checkLeaks(s.t)
}

// check reports events that are duplicates or out of order.
func (s *staller) check() {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[string]seen{}
	for _, e := range s.reported {
		if e.kind.IsStatus() {
			continue
		}
		before, known := last[e.object]
		switch {
		case e.kind == event.Added && known && before.kind != event.Deleted,
			e.kind != event.Added && (!known || before.kind == event.Deleted || before.uid != e.uid),
			e.kind == event.Modified && e.n <= before.n:
			s.t.Errorf("%+v after %+v", e, before)
		}
		last[e.object] = e
	}
}

// measure returns the bytes of the heap that are in use.
func measure() int64 {
	least := int64(math.MaxInt64)
	for range 5 { // goroutines that still read make garbage
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC() // frees what finalizers and pools have released
		runtime.ReadMemStats(&stats)
		least = min(least, int64(stats.HeapAlloc))
	}
	return least
}

// stalledCost returns the memory that a stalled sink may cost: the budget, and what each stream has
// received, decodes, or waits with.
func stalledCost(streams int64) int64 {
	return source.BudgetBytes + streams*(4<<20+(outside+2)*fat) + 4<<20
}

// TestStall checks that a stalled sink applies backpressure to the server, and that it later
// receives all last states and deletions in order.
func TestStall(t *testing.T) {
	for _, test := range []struct {
		name    string
		targets int
		keep    bool
	}{{"plain", 1, false}, {"content kept", 1, true}, {"several targets", 3, false}} {
		t.Run(test.name, func(t *testing.T) { testStall(t, test.targets, test.keep) })
	}
}

func testStall(t *testing.T, targets int, keep bool) {
	f, config := newFaults(t, cluster)
	sandboxes := make([]*sandbox, targets)
	options := Options{Config: config, KeepContent: keep}
	for i := range sandboxes {
		sandboxes[i] = newSandbox(t, cluster)
		options.Targets = append(options.Targets, sandboxes[i].target())
	}
	synced := 0
	s := stallAt(t, options, func(e event.Event) bool {
		if e.Type == event.Synced {
			synced++
		}
		return synced == targets
	})
	<-s.stalled
	idle, before := measure(), f.read()
	const updates = 2 * fits
	writeFat(sandboxes, updates)
	f.awaitLines(before + fits)
	cost, read := measure()-idle, f.read()-before
	t.Logf("%d events written, %d read, %.1f MiB in use", updates, read, float64(cost)/(1<<20))
	if limit := fits + outside*targets; read > limit {
		t.Errorf("%d events were read, want at most %d", read, limit)
	}
	bound := stalledCost(int64(targets))
	if keep {
		bound += 8 * fat // retained content
	}
	if cost > bound {
		t.Errorf("%d bytes are in use, want at most %d", cost, bound)
	}
	close(s.awake)
	for _, r := range sandboxes {
		s.awaitFinal(r.namespace, updates/targets)
	}
	s.stop()
	s.check()
}

// writeFat changes objects in all sandboxes, with about n writes in total.
func writeFat(sandboxes []*sandbox, n int) {
	var writing sync.WaitGroup
	for _, r := range sandboxes {
		writing.Go(func() { r.writeFat(n / len(sandboxes)) })
	}
	writing.Wait()
}

// writeFat causes about n events: an object that changes all the time, one that is deleted, and one
// that is deleted and created again.
func (r *sandbox) writeFat(n int) {
	for _, name := range []string{"changing", "deleted", "recreated"} {
		r.createFat(name)
	}
	for i := 1; i <= n; i++ {
		r.update("changing", i)
	}
	r.delete("deleted")
	r.update("recreated", 1)
	r.delete("recreated")
	r.createFat("recreated")
	r.update("recreated", 7)
}

// awaitFinal returns when the last state of each object of writeFat was delivered.
func (s *staller) awaitFinal(namespace string, n int) {
	s.await(event.Modified, namespace+"/changing", int64(n))
	s.await(event.Deleted, namespace+"/deleted", 0)
	s.awaitLast(namespace+"/recreated", 7)
}

// awaitLast returns when state n of an object was delivered, with any event type.
func (s *staller) awaitLast(object string, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for from := 0; ; s.changed.Wait() {
		for ; from < len(s.reported); from++ {
			if e := s.reported[from]; e.object == object && e.n == n {
				return
			}
		}
	}
}

// read returns the number of lines that were read from watches.
func (f *faults) read() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines
}

// TestStallInSync checks a sink that stalls at the first initial object while objects change.
func TestStallInSync(t *testing.T) {
	t.Run("plain", func(t *testing.T) { testStallInSync(t, false) })
	t.Run("content kept", func(t *testing.T) { testStallInSync(t, true) })
}

func testStallInSync(t *testing.T, keep bool) {
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	const objects = fits + 8
	for i := range objects {
		r.createFat(fmt.Sprintf("fat-%02d", i))
	}
	idle := measure()
	s := stallAt(t, Options{Config: config, Targets: []event.Target{r.target()}, KeepContent: keep}, func(event.Event) bool { return true })
	<-s.stalled
	f.awaitLines(fits)
	cost, read := measure()-idle, f.read()
	t.Logf("%d of %d objects read, %.1f MiB in use", read, objects, float64(cost)/(1<<20))
	if limit := fits + outside; read > limit {
		t.Errorf("%d objects were read, want at most %d", read, limit)
	}
	if bound := stalledCost(1); cost > bound {
		t.Errorf("%d bytes are in use, want at most %d", cost, bound)
	}
	first, last := "fat-00", fmt.Sprintf("fat-%02d", objects-1)
	for _, name := range []string{first, last} {
		r.update(name, 1)
		r.update(name, 2)
	}
	r.delete("fat-01")
	r.delete(fmt.Sprintf("fat-%02d", objects-2))
	close(s.awake)
	for _, name := range []string{first, last} {
		s.awaitLast(r.namespace+"/"+name, 2)
	}
	s.await(event.Deleted, r.namespace+"/fat-01", 0)
	s.await(event.Deleted, r.namespace+fmt.Sprintf("/fat-%02d", objects-2), 0)
	s.stop()
	s.check()
	if added, deleted := s.count(event.Added), s.count(event.Deleted); added != objects || deleted != 2 {
		t.Errorf("%d objects were added and %d deleted, want %d and 2", added, deleted, objects)
	}
}

func (s *staller) count(kind event.Type) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.reported {
		if e.kind == kind {
			n++
		}
	}
	return n
}

// TestStallEnds checks that Run returns after the sink does if the context ends or the sink returns
// an error while the sink stalls and the budget is full. If the context ended, Run first delivers
// the events that passed the budget.
func TestStallEnds(t *testing.T) {
	for _, inSync := range []bool{false, true} {
		for _, err := range []error{nil, errors.New("broken pipe")} {
			t.Run(fmt.Sprintf("in sync %t, %v", inSync, err), func(t *testing.T) { testStallEnds(t, inSync, err) })
		}
	}
}

func testStallEnds(t *testing.T, inSync bool, err error) {
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	const objects = fits + 5
	write := func() {
		for i := range objects {
			r.createFat(fmt.Sprintf("fat-%02d", i))
		}
	}
	if inSync {
		write()
	}
	s := stallAt(t, Options{Config: config, Targets: []event.Target{r.target()}, KeepContent: inSync}, func(e event.Event) bool {
		return inSync || e.Type == event.Synced
	})
	<-s.stalled
	if !inSync {
		write()
	}
	f.awaitLines(fits + 1)
	s.err = err
	if err == nil {
		s.cancel()
	}
	close(s.awake)
	s.end()
	s.check()
	n := s.count(event.Added)
	if err != nil && n > 1 || err == nil && n < fits-1 {
		t.Errorf("%d events were delivered, %d had passed the budget", n, fits)
	}
}

// TestEndAfterGap checks that the end of a run does not wait for an object that was deleted in a
// gap.
func TestEndAfterGap(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	r.create("a")
	w.await("ADDED a=0", 1)
	back := make(chan struct{})
	var once sync.Once
	f.set(func(req *http.Request) (response *http.Response) {
		if req.URL.Query().Get("sendInitialEvents") == "" {
			<-back
			once.Do(func() { response = respond(http.StatusGone, expired) })
		}
		return response
	})
	f.cut()
	r.delete("a")
	close(back)
	w.await("DELETED unknown a", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}
