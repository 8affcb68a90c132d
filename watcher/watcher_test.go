package watcher

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/testdata/testenv"

	"dwatch/watcher/event"
	"dwatch/watcher/source"
)

func TestRun(t *testing.T) {
	r := newSandbox(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	r.create("b")
	r.update("a", 1)
	r.delete("a")
	r.create("a")
	w.await("ADDED a=0", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	want := []string{"ADDED initial a=0", "SYNCED", "ADDED b=0", "MODIFIED a=1", "DELETED a=1", "ADDED a=0"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
	checkLeaks(t)
}

// checkLeaks fails if goroutines remain. A goroutine that has signaled its end may need a moment to
// exit.
func checkLeaks(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for leaks() != "" {
		if time.Now().After(deadline) {
			t.Fatalf("still running:\n%s", leaks())
		}
		runtime.Gosched()
	}
}

// startedHere matches the stack of a goroutine that this package started, whatever the module path
// is.
var startedHere = regexp.MustCompile(`created by \S*dwatch/watcher\.`)

// leaks returns the stacks of goroutines that this package or client-go's caches started.
func leaks() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var found []string
	for stack := range strings.SplitSeq(string(stacks), "\n\n") {
		if startedHere.MatchString(stack) && !strings.Contains(stack, "watchWith") ||
			strings.Contains(stack, "created by k8s.io/client-go/tools/cache") {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

// TestWithoutWatchList checks a server that does not stream initial events.
func TestWithoutWatchList(t *testing.T) {
	t.Parallel()
	old, err := testenv.StartCluster("--apiserver-arg", "feature-gates=WatchList=false")
	if err != nil {
		t.Fatal(err)
	}
	defer old.Stop()
	r := newSandbox(t, old)
	for i := range 1200 { // more than one page
		r.create(fmt.Sprintf("cm-%04d", i))
	}
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	r.update("cm-0007", 1)
	w.await("MODIFIED cm-0007=1", 1)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	lines := w.lines()
	if want := 1202; len(lines) != want || lines[1200] != "SYNCED" {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	if !slices.IsSorted(lines[:1200]) {
		t.Error("the initial objects are not in the server's order")
	}
}

// TestOrder checks that the states of each object arrive in order and exactly once while many
// writers change objects.
func TestOrder(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	const writers, updates = 8, 50
	var writing sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			name := fmt.Sprintf("cm-%d", i)
			r.create(name)
			for n := 1; n <= updates; n++ {
				r.update(name, n)
			}
			r.delete(name)
		})
	}
	writing.Wait()
	for i := range writers {
		w.await(fmt.Sprintf("DELETED cm-%d=%d", i, updates), 1)
	}
	w.stop()
	for i := range writers {
		name := fmt.Sprintf("cm-%d=", i)
		want := []string{"ADDED " + name + "0"}
		for n := 1; n <= updates; n++ {
			want = append(want, fmt.Sprintf("MODIFIED %s%d", name, n))
		}
		want = append(want, fmt.Sprintf("DELETED %s%d", name, updates))
		got := slices.DeleteFunc(w.lines(), func(l string) bool { return !strings.Contains(l, name) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestCut checks that a watch resumes where its connection broke: it lists, misses and repeats
// nothing.
func TestCut(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	r.create("a")
	const rounds = 5
	want := []string{"ADDED a=0"}
	for n := 1; n <= rounds; n++ {
		f.cut()
		r.update("a", n)
		line := fmt.Sprintf("MODIFIED a=%d", n)
		w.await(line, 1)
		want = append(want, line)
	}
	w.stop()
	got := slices.DeleteFunc(w.lines(), func(l string) bool { return !strings.Contains(l, " ") })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, query := range f.requests[1:] {
		if strings.Contains(query, "sendInitialEvents") || !strings.Contains(query, "watch=true") {
			t.Errorf("relisted: %s", query)
		}
	}
}

// TestExpired checks that the last state and the deletion of each object are reported once if the
// server does not know the resourceVersion where the watch broke.
func TestExpired(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { testExpired(t, false) })
	t.Run("content kept", func(t *testing.T) { testExpired(t, true) })
}

func testExpired(t *testing.T, keep bool) {
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	for _, name := range []string{"changed", "deleted", "kept", "recreated"} {
		r.create(name)
	}
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, KeepContent: keep})
	w.await("SYNCED", 1)
	before := len(w.lines())

	proceed := make(chan struct{})
	var once sync.Once
	f.set(func(req *http.Request) *http.Response {
		if req.URL.Query().Get("sendInitialEvents") != "" {
			return nil
		}
		<-proceed
		var response *http.Response
		once.Do(func() { response = respond(http.StatusGone, expired) })
		return response
	})
	f.cut()
	r.update("changed", 1)
	r.update("changed", 2)
	r.delete("deleted")
	r.delete("recreated")
	r.create("recreated")
	r.update("recreated", 7)
	r.create("new")
	close(proceed)
	w.await("GAP", 1)
	w.await("ADDED recreated=7", 1)
	w.await("ADDED new=0", 1)
	w.await("MODIFIED changed=2", 1)
	last := ""
	if keep {
		last = "=0" // the last retained state
	}
	w.await("DELETED unknown deleted"+last, 1)
	r.update("kept", 1)
	w.await("MODIFIED kept=1", 1)
	w.stop()
	got := slices.DeleteFunc(w.lines()[before:], func(l string) bool { return !strings.Contains(l, " ") })
	slices.Sort(got)
	want := []string{
		"ADDED new=0", "ADDED recreated=7", "DELETED unknown deleted" + last, "DELETED unknown recreated" + last,
		"MODIFIED changed=2", "MODIFIED kept=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOld checks that a Modified event has the previous state if content is retained.
func TestOld(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	r.create("a")
	w := watchWith(t, Options{Config: r.config, Targets: []event.Target{r.target()}, KeepContent: true})
	w.await("SYNCED", 1)
	r.update("a", 1)
	r.update("a", 2)
	w.await("MODIFIED a=2", 1)
	w.stop()
	var got []string
	for _, e := range w.events {
		if e.Type == event.Modified {
			got = append(got, linesOf([]event.Event{{Type: event.Modified, Object: e.Old}})...)
		}
	}
	if diff := cmp.Diff([]string{"MODIFIED a=0", "MODIFIED a=1"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestCutInSync checks that a break before the end of the initial events causes no duplicates, and
// that an object that was deleted in between is reported as deleted.
func TestCutInSync(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("kept")
	r.create("vanishing")
	var once sync.Once
	f.set(func(req *http.Request) *http.Response {
		var response *http.Response
		once.Do(func() {
			vanishing, err := r.configMaps().Get(req.Context(), "vanishing", metav1.GetOptions{})
			if err != nil {
				t.Error(err)
				return
			}
			raw, _ := vanishing.MarshalJSON()
			response = respond(http.StatusOK, `{"type":"ADDED","object":`+strings.TrimSpace(string(raw))+"}\n")
			r.delete("vanishing")
		})
		return response
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	w.stop()
	want := []string{"ADDED initial vanishing=0", "DISCONNECTED", "ADDED initial kept=0", "DELETED unknown vanishing", "SYNCED"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestDrain checks that events received before the context ends are delivered, however slow the
// sink is.
func TestDrain(t *testing.T) {
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	ctx, cancel := context.WithCancel(context.Background())
	synced := make(chan struct{})
	var names []string
	done := make(chan error, 1)
	watcher := newWatcher(t, Options{Config: config, Targets: []event.Target{r.target()}})
	go func() {
		done <- watcher.Run(ctx, each(func(e event.Event) error {
			if e.Type == event.Synced {
				close(synced)
				<-ctx.Done() // stalls
			} else if !e.Type.IsStatus() {
				names = append(names, e.Object.Name)
			}
			return nil
		}))
	}()
	<-synced
	const n = 100
	for i := range n { // one at a time: a line is read after the preceding one was decoded
		f.mu.Lock()
		before := f.lines
		f.mu.Unlock()
		r.create(fmt.Sprintf("cm-%04d", i))
		f.awaitLines(before + 1)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	// The last line may have been read but not decoded, and the one before it decoded but not
	// passed on.
	if len(names) < n-2 {
		t.Errorf("%d of %d objects were delivered", len(names), n)
	}
	if !slices.IsSorted(names) {
		t.Error("the objects are out of order")
	}
}

// TestSinkError checks that nothing more is delivered after the sink has returned an error.
func TestSinkError(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	for i := range 10 {
		r.create(fmt.Sprintf("cm-%d", i))
	}
	full := errors.New("disk full")
	calls := 0
	err := newWatcher(t, Options{Config: r.config, Targets: []event.Target{r.target()}}).Run(t.Context(), each(func(event.Event) error {
		calls++
		if calls == 3 {
			return full
		}
		return nil
	}))
	if !errors.Is(err, full) || calls != 3 {
		t.Errorf("%d calls and error %v, want 3 calls and %v", calls, err, full)
	}
}

// TestBatch checks that a single event is delivered immediately as its own batch, and that events
// that arrive while the sink is busy form the next batch.
func TestBatch(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	batches, ready := make(chan []string), make(chan struct{})
	sink := event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		select {
		case batches <- linesOf(batch):
			<-ready
		case <-ctx.Done():
		}
		return nil
	})
	watcher := newWatcher(t, Options{Config: config, Targets: []event.Target{r.target()}})
	done := make(chan error, 1)
	go func() { done <- watcher.Run(ctx, sink) }()
	expect := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, <-batches); diff != "" {
			t.Error(diff)
		}
	}
	expect("SYNCED")
	ready <- struct{}{}
	r.create("a")
	expect("ADDED a=0")
	before := f.read()
	const n = 10
	for i := range n {
		r.update("a", i+1)
	}
	r.create("b")
	f.awaitLines(before + n + 1)
	ready <- struct{}{}
	// The last line may have been read but not decoded.
	if batch := <-batches; len(batch) < n-1 {
		t.Errorf("%d events were waiting, but the batch is %q", n+1, batch)
	}
	close(ready)
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// resolverFunc adapts a function to a Resolver.
type resolverFunc func() (event.Resolution, error)

func (f resolverFunc) Resolve(context.Context) (event.Resolution, error) { return f() }

// TestGone checks that all objects are reported as deleted if the server no longer serves the
// resource, and that the watch continues when it does again.
func TestGone(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	back := make(chan struct{})
	resolver := resolverFunc(func() (event.Resolution, error) {
		select {
		case <-back:
			return event.Resolution{Targets: []event.Target{r.target()}}, nil
		default:
			return event.Resolution{}, nil
		}
	})
	w := watchWith(t, Options{Config: config, Resolver: resolver, Targets: []event.Target{r.target()}})
	w.await("SYNCED", 1)
	f.set(func(*http.Request) *http.Response { return respond(http.StatusNotFound, notFound) })
	f.cut()
	w.await("GONE", 1)
	f.set(nil)
	close(back)
	w.await("SYNCED", 2)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	w.stop()
	want := []string{"ADDED initial a=0", "SYNCED", "DELETED unknown a", "GONE", "ARRIVED", "ADDED a=0", "SYNCED", "MODIFIED a=1"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

// TestSilentSync checks that objects are listed if the server accepts a request for initial events
// and never ends them.
func TestSilentSync(t *testing.T) {
	t.Parallel()
	r := newSandbox(t, cluster)
	f, config := newFaults(t, cluster)
	r.create("a")
	silent, hangUp := io.Pipe()
	defer hangUp.Close()
	f.set(func(req *http.Request) *http.Response {
		if req.URL.Query().Get("sendInitialEvents") == "" {
			return nil
		}
		response := respond(http.StatusOK, "")
		response.Body = silent
		return response
	})
	w := watchWith(t, Options{Config: config, Targets: []event.Target{r.target()}, Request: source.Request{SyncSilenceTimeout: 50 * time.Millisecond}})
	w.await("SYNCED", 1)
	r.update("a", 1)
	w.await("MODIFIED a=1", 1)
	w.stop()
	want := []string{"DISCONNECTED", "ADDED initial a=0", "SYNCED", "MODIFIED a=1"}
	if diff := cmp.Diff(want, w.lines()); diff != "" {
		t.Error(diff)
	}
}

func TestList(t *testing.T) {
	r := newSandbox(t, cluster)
	for _, name := range []string{"b", "c", "a"} {
		r.create(name)
	}
	label := []byte(`{"metadata":{"labels":{"x":"y"}}}`)
	if _, err := r.configMaps().Patch(t.Context(), "c", types.MergePatchType, label, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	named := func(name string) event.Target {
		return event.Target{Mapping: configMaps, Namespace: r.namespace, Name: name}
	}
	for want, options := range map[string]Options{
		"a b c":           {Targets: []event.Target{r.target()}},
		"c":               {Targets: []event.Target{r.target()}, Request: source.Request{LabelSelector: "x=y"}},
		"b":               {Targets: []event.Target{r.target()}, Request: source.Request{FieldSelector: "metadata.name=b"}},
		"c a":             {Targets: []event.Target{named("c"), named("a")}},
		"x: 2 not found.": {Targets: []event.Target{named("x"), named("a"), named("y")}},
	} {
		options.Config = r.config
		options.KeepContent = true
		objects, err := newWatcher(t, options).List(t.Context())
		var names []string
		for _, o := range objects {
			names = append(names, o.Name)
		}
		got := strings.Join(names, " ")
		if err != nil {
			got = fmt.Sprintf("x: %d not found.", strings.Count(err.Error(), "not found"))
		}
		if got != want {
			t.Errorf("%q, want %q (%v)", got, want, err)
		}
	}
	checkLeaks(t)
}
