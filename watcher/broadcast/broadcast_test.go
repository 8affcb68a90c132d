package broadcast

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/ledger"
)

func targetOf(resource string) event.Target {
	return event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: resource}, "Kind", true), Namespace: "ns"}
}

var pods, jobs = targetOf("pods"), targetOf("jobs")

func object(t event.Target, kind event.Type, name, version string) event.Event {
	id := &event.Identity{APIVersion: "v1", Kind: "Kind", Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: version}
	return event.Event{Type: kind, Target: t, Object: event.NewObject(id, `{"v":"`+version+`"}`), Initial: kind == event.Added, Time: time.Unix(1, 0)}
}

func statusOf(t event.Target, kind event.Type) event.Event {
	return event.Event{Type: kind, Target: t, Time: time.Unix(2, 0)}
}

// recorder is a Sink that records each event as a line of text.
type recorder struct {
	mu    sync.Mutex
	lines []string
	// onDeliver, if not nil, is called before events are recorded.
	onDeliver func()
}

func (s *recorder) Deliver(_ context.Context, batch []event.Event) error {
	if s.onDeliver != nil {
		s.onDeliver()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range batch {
		line := string(e.Type)
		if e.Target.Mapping != nil {
			line += " " + e.Target.Mapping.Resource.Resource
		}
		if !e.Object.IsZero() {
			line += " " + e.Object.Name + " " + e.Object.ResourceVersion
		}
		if e.Initial {
			line += " initial"
		}
		if e.FinalStateUnknown {
			line += " lost"
		}
		if !e.Old.IsZero() {
			line += " after " + e.Old.Raw()
		}
		if e.Time.IsZero() {
			line += " without time"
		}
		s.lines = append(s.lines, line)
	}
	return nil
}

// take returns the events since the last call.
func (s *recorder) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

// TestSubscribers checks that each Subscriber gets what its own watch would deliver.
func TestSubscribers(t *testing.T) {
	history := func(of event.Target, yield func(event.ReportedObject)) (bool, error) {
		if of.Key() == pods.Key() {
			for name, version := range map[string]string{"same": "1", "changed": "1", "gone": "1"} {
				yield(event.ReportedObject{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: version})
			}
		}
		return true, nil
	}
	var fresh, again, other recorder
	var subscribers []*Subscriber
	for _, of := range []struct {
		to *recorder
		Options
	}{
		{&fresh, Options{Targets: []event.Target{pods}, KeepContent: true}},
		{&again, Options{Targets: []event.Target{pods}, History: history}},
		{&other, Options{AllTargets: true}},
	} {
		b, err := NewSubscriber(of.to, of.Options)
		if err != nil {
			t.Fatal(err)
		}
		subscribers = append(subscribers, b)
	}
	broadcaster := New(subscribers...)
	var running sync.WaitGroup
	for _, b := range subscribers {
		running.Go(func() {
			if err := b.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	lost := object(pods, event.Deleted, "changed", "3")
	lost.Object, lost.FinalStateUnknown = event.NewObject(lost.Object.Identity, ""), true
	for _, batch := range [][]event.Event{
		{object(pods, event.Added, "same", "1"), object(pods, event.Added, "changed", "2"), object(jobs, event.Added, "job", "1")},
		{object(pods, event.Added, "new", "1"), statusOf(pods, event.Synced), {Type: event.Heartbeat, Time: time.Unix(3, 0)}},
		{object(pods, event.Modified, "changed", "3"), lost},
	} {
		broadcaster.Deliver(t.Context(), batch)
	}
	broadcaster.Close()
	running.Wait()
	for _, check := range []struct {
		of   *recorder
		want []string
	}{
		{&fresh, []string{
			"ADDED pods same 1 initial", "ADDED pods changed 2 initial", "ADDED pods new 1 initial", "SYNCED pods", "HEARTBEAT",
			`MODIFIED pods changed 3 after {"v":"2"}`, "DELETED pods changed 3 lost",
		}},
		{&again, []string{
			"MODIFIED pods changed 2", "ADDED pods new 1", "DELETED pods gone 1 lost", "SYNCED pods", "HEARTBEAT",
			"MODIFIED pods changed 3", "DELETED pods changed 3 lost",
		}},
		{&other, []string{
			"ADDED pods same 1 initial", "ADDED pods changed 2 initial", "ADDED jobs job 1 initial", "ADDED pods new 1 initial", "SYNCED pods", "HEARTBEAT",
			"MODIFIED pods changed 3", "DELETED pods changed 3 lost",
		}},
	} {
		if diff := cmp.Diff(check.want, check.of.take()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestBlocked checks that a blocked Subscriber with a full buffer is detached and then gets the
// differences from its own watch, and that the others get all events.
func TestBlocked(t *testing.T) {
	var other, blocked recorder
	inDeliver, back := make(chan struct{}, 1), make(chan struct{})
	detached := 0
	var b *Subscriber
	blocked.onDeliver = func() {
		b.SetBlocked(true)
		select {
		case inDeliver <- struct{}{}:
		default:
		}
		<-back
		b.SetBlocked(false)
	}
	fallback := func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
		if len(targets) != 1 || targets[0].Key() != pods.Key() {
			t.Errorf("the fallback watch has targets %v", targets)
		}
		sync := resumed(t, history, pods, object(pods, event.Added, "a", "1"), object(pods, event.Added, "c", "9"))
		return sink.Deliver(ctx, append(sync, object(pods, event.Modified, "c", "10")))
	}
	b, err := NewSubscriber(&blocked, Options{Targets: []event.Target{pods}, MaxBytes: 1, FallbackWatch: fallback, OnDetached: func() { detached++ }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}, MaxBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := New(b, l)
	var running sync.WaitGroup
	ends := make([]error, 2)
	running.Go(func() { ends[0] = b.Run(t.Context()) })
	running.Go(func() { ends[1] = l.Run(t.Context()) })
	all := []event.Event{
		object(pods, event.Added, "a", "1"), object(pods, event.Added, "b", "1"), statusOf(pods, event.Synced),
		object(pods, event.Added, "c", "2"), object(pods, event.Deleted, "b", "3"),
	}
	broadcaster.Deliver(t.Context(), all[:3])
	<-inDeliver
	for i := 3; i < len(all); i++ {
		broadcaster.Deliver(t.Context(), all[i:i+1])
	}
	close(back)
	broadcaster.Close()
	running.Wait()
	if err := errors.Join(ends...); err != nil || detached != 1 {
		t.Errorf("got error %v, detached %d times", err, detached)
	}
	if got := other.take(); len(got) != len(all) || slices.ContainsFunc(got, func(l string) bool { return l == "GAP pods" }) {
		t.Errorf("the other subscribers got %q", got)
	}
	want := []string{
		"ADDED pods a 1 initial", "ADDED pods b 1 initial", "SYNCED pods",
		"ADDED pods c 9", "DELETED pods b 1 lost", "GAP pods", "MODIFIED pods c 10",
	}
	if diff := cmp.Diff(want, blocked.take()); diff != "" {
		t.Error(diff)
	}
}

// resumed returns the events of the first list of a watch with a history.
func resumed(t *testing.T, history event.HistoryFunc, of event.Target, present ...event.Event) (sync []event.Event) {
	l := ledger.New(of.Mapping.GroupVersionKind, false)
	complete, err := history(of, l.Restore)
	if err != nil {
		t.Error(err)
	}
	l.BeginSync()
	for _, e := range present {
		e.Listed, e.Initial = true, !complete
		sync = l.Observe(sync, e)
	}
	sync = append(l.Sweep(sync), statusOf(of, event.Synced))
	for i := range sync {
		sync[i].Target, sync[i].Time = of, time.Unix(2, 0)
	}
	return sync
}

// TestDetachedTwice checks that Subscribers that are detached get the changes of all objects that
// they know, also of targets that joined after the start, but not of targets that left, and Synced
// for targets that were not synced.
func TestDetachedTwice(t *testing.T) {
	secrets, leases, nodes := targetOf("secrets"), targetOf("leases"), targetOf("nodes")
	var other, blocked recorder
	inDeliver, back := make(chan struct{}), make(chan struct{})
	var b *Subscriber
	n := 0
	blocked.onDeliver = func() {
		if n++; n == 2 {
			b.SetBlocked(true)
			close(inDeliver)
			<-back
			b.SetBlocked(false)
		}
	}
	var watched []string
	fallback := func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
		for _, of := range targets {
			watched = append(watched, of.Mapping.Resource.Resource)
			present := []event.Event{object(of, event.Added, "new", "7")}
			if of.Key() == nodes.Key() {
				present = nil
			}
			if err := sink.Deliver(ctx, resumed(t, history, of, present...)); err != nil {
				return err
			}
		}
		return nil
	}
	b, err := NewSubscriber(&blocked, Options{Targets: []event.Target{pods, jobs, nodes}, AllTargets: true, MaxBytes: 1, FallbackWatch: fallback})
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewSubscriber(&other, Options{AllTargets: true})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := New(b, l)
	var running sync.WaitGroup
	for _, b := range []*Subscriber{b, l} {
		running.Go(func() {
			if err := b.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	deliver := func(batch ...event.Event) { broadcaster.Deliver(t.Context(), batch) }
	deliver(
		object(pods, event.Added, "a", "1"), statusOf(pods, event.Synced), object(jobs, event.Added, "j", "1"),
		statusOf(secrets, event.Joined), object(secrets, event.Modified, "s", "2"), statusOf(secrets, event.Synced),
		statusOf(leases, event.Joined), statusOf(leases, event.Left), statusOf(nodes, event.Synced), statusOf(nodes, event.Gone),
	)
	deliver(object(pods, event.Added, "b", "3"))
	<-inDeliver
	deliver(object(secrets, event.Deleted, "s", "4"))
	deliver(object(pods, event.Deleted, "a", "5"))
	close(back)
	broadcaster.Close()
	running.Wait()
	want := []string{
		"ADDED pods a 1 initial", "SYNCED pods", "ADDED jobs j 1 initial",
		"JOINED secrets", "ADDED secrets s 2", "SYNCED secrets", "JOINED leases", "LEFT leases", "SYNCED nodes", "GONE nodes",
		"ADDED pods b 3",
		"ADDED jobs new 7 initial", "DELETED jobs j 1 lost", "GAP jobs", "SYNCED jobs",
		"ADDED pods new 7", "DELETED pods a 1 lost", "DELETED pods b 3 lost", "GAP pods",
		"ADDED secrets new 7", "DELETED secrets s 2 lost", "GAP secrets",
	}
	if diff := cmp.Diff(want, blocked.take()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"jobs", "pods", "secrets"}, watched); diff != "" {
		t.Errorf("targets of the fallback watch: %s", diff)
	}
}

// TestLastIsNotDetached checks that the only Subscriber is not detached, because it holds back no
// other.
func TestLastIsNotDetached(t *testing.T) {
	var only recorder
	back := make(chan struct{})
	var b *Subscriber
	only.onDeliver = func() {
		b.SetBlocked(true)
		<-back
		b.SetBlocked(false)
	}
	b, err := NewSubscriber(&only, Options{AllTargets: true, MaxBytes: 1, OnDetached: func() { t.Error("the Subscriber was detached") }})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := New(b)
	done := make(chan error)
	go func() { done <- b.Run(t.Context()) }()
	broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Added, "a", "1")})
	given := make(chan struct{})
	go func() {
		broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Added, "b", "1")})
		close(given)
	}()
	close(back)
	<-given
	broadcaster.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := only.take(); len(got) != 2 {
		t.Errorf("the Subscriber got %q", got)
	}
}

// server is a server with its objects and all their changes.
type server struct {
	mu    sync.Mutex
	log   []event.Event // resourceVersions are positions in it, from 1
	state map[string]event.Event
}

// change makes n changes to objects, which are created and deleted.
func (w *server) change(n int, chance *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		name := string(rune('a' + chance.IntN(8)))
		kind := event.Modified
		switch _, there := w.state[name]; {
		case !there:
			kind = event.Added
		case chance.IntN(3) == 0:
			kind = event.Deleted
		}
		e := object(pods, kind, name, strconv.Itoa(len(w.log)+1))
		e.Initial = false
		w.log = append(w.log, e)
		if w.state[name] = e; kind == event.Deleted {
			delete(w.state, name)
		}
	}
}

// since returns the changes after a position in the log.
func (w *server) since(at int) []event.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log[at:])
}

// list returns the initial events of a watch and their position in the log.
func (w *server) list() (all []event.Event, at int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.state {
		e.Type, e.Listed, e.Initial = event.Added, true, true
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b event.Event) int { return strings.Compare(a.Object.Name, b.Object.Name) })
	synced := statusOf(pods, event.Synced)
	synced.ResourceVersion = strconv.Itoa(len(w.log))
	return append(all, synced), len(w.log)
}

// TestAddAndRemove checks that Subscribers that are added and removed during changes get the
// existing objects and then all changes in order and once, and that the others are not affected.
func TestAddAndRemove(t *testing.T) {
	for seed := range uint64(40) {
		addAndRemove(t, rand.New(rand.NewPCG(seed, 7)))
	}
}

func addAndRemove(t *testing.T, chance *rand.Rand) {
	w := server{state: map[string]event.Event{}}
	var permanent recorder
	stay, err := NewSubscriber(&permanent, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := New(stay)
	var running, feeding sync.WaitGroup
	run := func(b *Subscriber) (ended chan struct{}) {
		ended = make(chan struct{})
		running.Go(func() {
			defer close(ended)
			if err := b.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
		return ended
	}
	run(stay)
	stop := make(chan struct{})
	var fed atomic.Int64 // number of changes that all current subscribers have received
	feeding.Go(func() {  // the shared watch, with a random delay
		for at, last := 0, false; !last; {
			select {
			case <-stop:
				last = true
			default:
			}
			batch := w.since(at)
			at += len(batch)
			if len(batch) > 0 {
				broadcaster.Deliver(t.Context(), batch)
				fed.Store(int64(at))
			}
			runtime.Gosched()
		}
	})
	type temporary struct {
		recorder
		began      int
		fed        int  // its number of events when it was removed
		last       *int // the position in the log at that time; nil if it was not removed
		subscriber *Subscriber
		ended      chan struct{}
	}
	var added []*temporary
	for i := range 6 {
		w.change(20, chance)
		g := &temporary{}
		rest := chance.IntN(30)
		first := func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
			if _, err := history(targets[0], nil); err != nil {
				return err
			}
			var listed []event.Event
			listed, g.began = w.list()
			if err := sink.Deliver(ctx, listed); err != nil {
				return err
			}
			more := w.since(g.began)
			return sink.Deliver(ctx, more[:min(rest, len(more))])
		}
		if g.subscriber, err = NewSubscriber(g, Options{Targets: []event.Target{pods}, MaxBytes: 1 << 40}); err != nil {
			t.Fatal(err)
		}
		broadcaster.Add(g.subscriber, first)
		g.ended = run(g.subscriber)
		added = append(added, g)
		w.change(20, chance)
		if i%2 == 1 {
			gone := added[chance.IntN(len(added))]
			has := int(fed.Load())
			broadcaster.Remove(gone.subscriber)
			<-gone.ended
			if gone.last == nil {
				gone.fed, gone.last = has, new(len(w.since(0)))
			}
		}
	}
	close(stop)
	feeding.Wait()
	broadcaster.Close()
	running.Wait()
	log := w.since(0)
	if diff := cmp.Diff(linesOf(log), permanent.take()); diff != "" {
		t.Fatalf("the permanent subscriber: %s", diff)
	}
	for i, g := range added {
		got := g.take()
		synced := slices.Index(got, "SYNCED pods")
		if synced < 0 {
			t.Fatalf("subscriber %d is not synced: %q", i, got)
		}
		want := append([]string{}, linesOf(log[g.began:])...)
		if g.last != nil { // it got its whole buffer, and maybe changes until its end
			delivered := len(got[synced+1:])
			want = want[:min(max(delivered, g.fed-g.began), *g.last-g.began)]
		}
		if diff := cmp.Diff(want, got[synced+1:]); diff != "" {
			t.Fatalf("subscriber %d, from position %d: %s", i, g.began, diff)
		}
	}
}

// linesOf formats events as recorder does.
func linesOf(events []event.Event) []string {
	var all recorder
	_ = all.Deliver(context.Background(), events)
	return all.take()
}

// TestReplace checks that a Subscriber that replaces another one gets the changes since that one's
// last event, and nothing twice, also if it is added during changes.
func TestReplace(t *testing.T) {
	var before, after, other recorder
	old, err := NewSubscriber(&before, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	permanent, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := New(old, permanent)
	var running sync.WaitGroup
	ended := make(chan error, 1)
	go func() { ended <- old.Run(t.Context()) }()
	running.Go(func() { _ = permanent.Run(t.Context()) })
	broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Added, "same", "1"), object(pods, event.Added, "goes", "2"), statusOf(pods, event.Synced)})
	broadcaster.Remove(old)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Deleted, "goes", "3")})
	next, err := NewSubscriber(&after, Options{Targets: []event.Target{pods}, History: old.History})
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan struct{})
	broadcaster.Add(next, func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
		if complete, err := history(targets[0], nil); complete || err != nil {
			t.Error(complete, err)
		}
		synced := statusOf(pods, event.Synced)
		synced.ResourceVersion = "4"
		listed := []event.Event{object(pods, event.Added, "same", "1"), object(pods, event.Added, "new", "4"), synced}
		err := sink.Deliver(ctx, append(listed, event.Event{Type: event.Heartbeat, Time: time.Unix(3, 0)}))
		<-began
		return err
	})
	running.Go(func() { _ = next.Run(t.Context()) })
	broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Added, "new", "4"), {Type: event.Heartbeat, Time: time.Unix(3, 0)}, object(pods, event.Modified, "same", "5")})
	close(began)
	broadcaster.Close()
	running.Wait()
	want := []string{"ADDED pods new 4", "DELETED pods goes 2 lost", "SYNCED pods", "HEARTBEAT", "HEARTBEAT", "MODIFIED pods same 5"}
	if diff := cmp.Diff(want, after.take()); diff != "" {
		t.Error(diff)
	}
	if got := other.take(); len(got) != 7 {
		t.Errorf("the permanent subscriber got %q", got)
	}
}

// TestFullWhileJoining checks that a Subscriber whose buffer becomes full during its first watch is
// detached, and that the others do not wait.
func TestFullWhileJoining(t *testing.T) {
	var other, late recorder
	permanent, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	detached, back := 0, make(chan struct{})
	b, err := NewSubscriber(&late, Options{
		Targets: []event.Target{pods}, MaxBytes: 1, OnDetached: func() { detached++ },
		FallbackWatch: func(ctx context.Context, sink event.Sink, _ []event.Target, history event.HistoryFunc) error {
			return sink.Deliver(ctx, resumed(t, history, pods, object(pods, event.Added, "a", "9")))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := New(permanent)
	var running sync.WaitGroup
	running.Go(func() { _ = permanent.Run(t.Context()) })
	broadcaster.Add(b, func(ctx context.Context, sink event.Sink, _ []event.Target, _ event.HistoryFunc) error {
		<-back
		return sink.Deliver(ctx, []event.Event{object(pods, event.Added, "a", "1"), statusOf(pods, event.Synced)})
	})
	running.Go(func() { _ = b.Run(t.Context()) })
	for i := range 3 {
		broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Modified, "a", strconv.Itoa(7+i))})
	}
	close(back)
	broadcaster.Close()
	running.Wait()
	if got := other.take(); len(got) != 3 || detached != 1 {
		t.Errorf("detached %d times, and the permanent subscriber got %q", detached, got)
	}
	if diff := cmp.Diff([]string{"ADDED pods a 1 initial", "SYNCED pods", "MODIFIED pods a 9", "GAP pods"}, late.take()); diff != "" {
		t.Error(diff)
	}
}

// TestAddedToBlocked checks that a single blocked Subscriber is detached when another one is added,
// which gets all events.
func TestAddedToBlocked(t *testing.T) {
	var blocked, other recorder
	inDeliver, back := make(chan struct{}, 1), make(chan struct{})
	var old *Subscriber
	blocked.onDeliver = func() {
		old.SetBlocked(true)
		select {
		case inDeliver <- struct{}{}:
		default:
		}
		<-back
		old.SetBlocked(false)
	}
	detached := make(chan struct{})
	old, err := NewSubscriber(&blocked, Options{
		Targets: []event.Target{pods}, MaxBytes: 1, OnDetached: func() { close(detached) },
		FallbackWatch: func(ctx context.Context, sink event.Sink, _ []event.Target, history event.HistoryFunc) error {
			return sink.Deliver(ctx, resumed(t, history, pods, object(pods, event.Added, "a", "9")))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	next, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := New(old)
	var running, feeding sync.WaitGroup
	run := func(b *Subscriber) {
		running.Go(func() {
			if err := b.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	run(old)
	feeding.Go(func() {
		broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Added, "a", "1"), statusOf(pods, event.Synced)})
		for i := 2; i <= 4; i++ {
			broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Modified, "a", strconv.Itoa(i))})
		}
	})
	<-inDeliver
	for isFull := false; !isFull; runtime.Gosched() { // with batches after the one that it is delivering
		old.buffer.mu.Lock()
		isFull = old.buffer.bytes >= old.MaxBytes
		old.buffer.mu.Unlock()
	}
	broadcaster.Add(next, func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
		if _, err := history(targets[0], nil); err != nil {
			return err
		}
		synced := statusOf(pods, event.Synced)
		synced.ResourceVersion = "2"
		return sink.Deliver(ctx, []event.Event{object(pods, event.Added, "a", "2"), synced})
	})
	run(next)
	<-detached // although its buffer has no space
	feeding.Wait()
	close(back)
	broadcaster.Close()
	running.Wait()
	if diff := cmp.Diff([]string{"ADDED pods a 2 initial", "SYNCED pods", "MODIFIED pods a 3", "MODIFIED pods a 4"}, other.take()); diff != "" {
		t.Errorf("the added subscriber: %s", diff)
	}
	if diff := cmp.Diff([]string{"ADDED pods a 1 initial", "SYNCED pods", "MODIFIED pods a 9", "GAP pods"}, blocked.take()); diff != "" {
		t.Errorf("the detached subscriber: %s", diff)
	}
}

// reportedPods is a history with some pods.
func reportedPods(names ...string) event.HistoryFunc {
	return func(_ event.Target, take func(event.ReportedObject)) (bool, error) {
		for _, name := range names {
			take(event.ReportedObject{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"})
		}
		return true, nil
	}
}

// TestIncompleteFirstWatch checks that a Subscriber whose first watch ends before it has reported
// all objects is detached and reports no object as deleted, because the shared watch assumes that
// they have been reported.
func TestIncompleteFirstWatch(t *testing.T) {
	now := []event.Event{object(pods, event.Added, "x", "1"), object(pods, event.Added, "y", "2"), object(pods, event.Added, "z", "9")}
	for name, test := range map[string]struct {
		history event.HistoryFunc
		first   []event.Event // events before the refusal
		want    []string
	}{
		"new": {nil, nil, []string{"DENIED pods", "ADDED pods x 1 initial", "ADDED pods y 2 initial", "ADDED pods z 9 initial", "SYNCED pods"}},
		"known": {
			reportedPods("gone", "x", "y"), nil,
			[]string{"DENIED pods", "MODIFIED pods y 2", "ADDED pods z 9", "DELETED pods gone 1 lost", "GAP pods", "SYNCED pods"},
		},
		"half": {
			reportedPods("gone", "x", "y"), []event.Event{object(pods, event.Added, "x", "1"), object(pods, event.Added, "new", "3")},
			[]string{"ADDED pods new 3", "DENIED pods", "MODIFIED pods y 2", "ADDED pods z 9", "DELETED pods gone 1 lost", "DELETED pods new 3 lost", "GAP pods", "SYNCED pods"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got, other recorder
			permanent, err := NewSubscriber(&other, Options{Targets: []event.Target{pods, jobs}})
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewSubscriber(&got, Options{
				Targets: []event.Target{pods}, History: test.history, OnDetached: func() { t.Error("OnDetached was called") },
				FallbackWatch: func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
					if len(targets) != 1 {
						t.Errorf("the fallback watch has targets %v", targets)
					}
					return sink.Deliver(ctx, resumed(t, history, pods, now...))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			broadcaster := New(permanent)
			back := make(chan struct{})
			broadcaster.Add(b, func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
				if _, err := history(targets[0], nil); err != nil {
					return err
				}
				<-back
				return sink.Deliver(ctx, append(test.first, statusOf(pods, event.Denied)))
			})
			var running sync.WaitGroup
			for _, b := range []*Subscriber{permanent, b} {
				running.Go(func() {
					if err := b.Run(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			broadcaster.Deliver(t.Context(), []event.Event{statusOf(pods, event.Denied), now[2], statusOf(pods, event.Gap)})
			close(back)
			broadcaster.Close()
			running.Wait()
			if diff := cmp.Diff(test.want, got.take()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"DENIED pods", "ADDED pods z 9 initial", "GAP pods"}, other.take()); diff != "" {
				t.Errorf("the permanent subscriber: %s", diff)
			}
		})
	}
}

// TestEndDuringFirstWatch checks that a Subscriber that ends before its first watch is complete
// discards its buffer. Otherwise, it would report unknown objects as deleted.
func TestEndDuringFirstWatch(t *testing.T) {
	for _, isRemoved := range []bool{false, true} {
		var got, other recorder
		permanent, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewSubscriber(&got, Options{
			Targets: []event.Target{pods}, History: reportedPods("x"),
			FallbackWatch: func(context.Context, event.Sink, []event.Target, event.HistoryFunc) error {
				t.Error("the fallback watch was started")
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		broadcaster := New(permanent)
		ctx, stop := context.WithCancel(t.Context())
		broadcaster.Add(b, func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
			if _, err := history(targets[0], nil); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		})
		var running sync.WaitGroup
		for _, b := range []*Subscriber{permanent, b} {
			running.Go(func() {
				if err := b.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		broadcaster.Deliver(ctx, []event.Event{object(pods, event.Modified, "w", "9"), statusOf(pods, event.Gap)})
		if isRemoved {
			broadcaster.Remove(b)
		}
		stop()
		broadcaster.Close()
		running.Wait()
		if got := got.take(); len(got) > 0 {
			t.Errorf("removed %v: the Subscriber got %q", isRemoved, got)
		}
		left := 0
		complete, err := b.History(pods, func(r event.ReportedObject) { left++ })
		if left != 1 || !complete || err != nil {
			t.Errorf("removed %v: the history has %d objects, complete %v, error %v", isRemoved, left, complete, err)
		}
	}
}

// TestRelistWhileJoining checks that a relist of the shared watch that is older than the first
// watch only delivers its status event, and that a newer one delivers all events.
func TestRelistWhileJoining(t *testing.T) {
	for name, test := range map[string]struct {
		at   string // the relist
		then []event.Event
		want []string
	}{
		"older": {
			"12", []event.Event{object(pods, event.Added, "h", "14"), object(pods, event.Deleted, "h", "15"), object(pods, event.Modified, "x", "18"), object(pods, event.Deleted, "g", "21")},
			[]string{"GAP pods", "DELETED pods g 21"},
		},
		"newer": {"22", []event.Event{object(pods, event.Modified, "x", "23")}, []string{"MODIFIED pods x 21", "DELETED pods g 11 lost", "GAP pods", "MODIFIED pods x 23"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got, other recorder
			permanent, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}})
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewSubscriber(&got, Options{Targets: []event.Target{pods}})
			if err != nil {
				t.Fatal(err)
			}
			broadcaster := New(permanent)
			back := make(chan struct{})
			broadcaster.Add(b, func(ctx context.Context, sink event.Sink, targets []event.Target, history event.HistoryFunc) error {
				if _, err := history(targets[0], nil); err != nil {
					return err
				}
				<-back
				synced := statusOf(pods, event.Synced)
				synced.ResourceVersion = "20"
				return sink.Deliver(ctx, []event.Event{object(pods, event.Added, "g", "11"), object(pods, event.Added, "x", "18"), synced})
			})
			var running sync.WaitGroup
			for _, b := range []*Subscriber{permanent, b} {
				running.Go(func() {
					if err := b.Run(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			gap := statusOf(pods, event.Gap)
			gap.ResourceVersion = test.at
			listed := object(pods, event.Modified, "x", "10")
			lost := object(pods, event.Deleted, "old", "2")
			lost.FinalStateUnknown, lost.Listed = true, true
			if test.at == "22" {
				listed = object(pods, event.Modified, "x", "21")
				lost = object(pods, event.Deleted, "g", "11")
				lost.Object, lost.FinalStateUnknown, lost.Listed = event.NewObject(lost.Object.Identity, ""), true, true
			}
			listed.Listed = true
			broadcaster.Deliver(t.Context(), append([]event.Event{listed, lost, gap}, test.then...))
			close(back)
			broadcaster.Close()
			running.Wait()
			want := append([]string{"ADDED pods g 11 initial", "ADDED pods x 18 initial", "SYNCED pods"}, test.want...)
			if diff := cmp.Diff(want, got.take()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRemoved checks that a removed Subscriber delivers its buffer and nothing after it.
func TestRemoved(t *testing.T) {
	var got recorder
	inDeliver, back := make(chan struct{}, 1), make(chan struct{})
	got.onDeliver = func() {
		select {
		case inDeliver <- struct{}{}:
		default:
		}
		<-back
	}
	b, err := NewSubscriber(&got, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	broadcaster := New(b)
	ended := make(chan error)
	go func() { ended <- b.Run(t.Context()) }()
	broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Added, "a", "1")})
	<-inDeliver
	broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Added, "b", "2")})
	broadcaster.Deliver(t.Context(), []event.Event{statusOf(pods, event.Synced)})
	broadcaster.Remove(b)
	broadcaster.Deliver(t.Context(), []event.Event{object(pods, event.Added, "late", "3")})
	close(back)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"ADDED pods a 1 initial", "ADDED pods b 2 initial", "SYNCED pods"}, got.take()); diff != "" {
		t.Error(diff)
	}
}

// TestOneCopy checks that a Subscriber that ignores events does not change the batch of the others.
func TestOneCopy(t *testing.T) {
	batch := []event.Event{object(pods, event.Modified, "a", "1"), object(jobs, event.Modified, "b", "2"), object(pods, event.Modified, "c", "3")}
	whole := slices.Clone(batch)
	b, err := NewSubscriber(new(recorder), Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	if own := b.own(batch); len(own) != 2 || own[0].Object.Name != "a" || own[1].Object.Name != "c" {
		t.Errorf("own returned %d events", len(own))
	}
	r := reached{pods.Key(): "1"}
	if left := r.missing([][]event.Event{batch}); len(left[0]) != 2 {
		t.Errorf("missing returned %d events", len(left[0]))
	}
	for i := range batch {
		if batch[i].Object != whole[i].Object {
			t.Errorf("event %d of the batch was changed", i)
		}
	}
}
