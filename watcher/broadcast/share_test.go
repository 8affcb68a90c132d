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

func markOf(t event.Target, kind event.Type) event.Event {
	return event.Event{Type: kind, Target: t, Time: time.Unix(2, 0)}
}

// taken is what a Sink got, in words.
type taken struct {
	mu    sync.Mutex
	lines []string
	// hold, if not nil, is called before anything is taken.
	hold func()
}

func (s *taken) Deliver(_ context.Context, batch []event.Event) error {
	if s.hold != nil {
		s.hold()
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
			line += " at no time"
		}
		s.lines = append(s.lines, line)
	}
	return nil
}

// all returns what was taken since.
func (s *taken) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.lines
	s.lines = nil
	return lines
}

// TestBranches: each gets what a watch of its own would have given it.
func TestBranches(t *testing.T) {
	past := func(of event.Target, take func(event.ReportedObject)) (bool, error) {
		if of.Key() == pods.Key() {
			for name, version := range map[string]string{"same": "1", "changed": "1", "gone": "1"} {
				take(event.ReportedObject{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: version})
			}
		}
		return true, nil
	}
	var fresh, again, other taken
	var branches []*Subscriber
	for _, of := range []struct {
		to *taken
		Options
	}{
		{&fresh, Options{Targets: []event.Target{pods}, KeepContent: true}},
		{&again, Options{Targets: []event.Target{pods}, History: past}},
		{&other, Options{AllTargets: true}},
	} {
		b, err := NewSubscriber(of.to, of.Options)
		if err != nil {
			t.Fatal(err)
		}
		branches = append(branches, b)
	}
	fan := New(branches...)
	var running sync.WaitGroup
	for _, b := range branches {
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
		{object(pods, event.Added, "new", "1"), markOf(pods, event.Synced), {Type: event.Heartbeat, Time: time.Unix(3, 0)}},
		{object(pods, event.Modified, "changed", "3"), lost},
	} {
		fan.Deliver(t.Context(), batch)
	}
	fan.Close()
	running.Wait()
	for _, check := range []struct {
		of   *taken
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
		if diff := cmp.Diff(check.want, check.of.all()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestHeld: who waits for somebody else is let go when too much waits, goes on alone, and is told of what is
// different by then; the others get all of it.
func TestHeld(t *testing.T) {
	var live, dead taken
	held, back := make(chan struct{}, 1), make(chan struct{})
	dropped := 0
	var b *Subscriber
	dead.hold = func() {
		b.SetBlocked(true)
		select {
		case held <- struct{}{}:
		default:
		}
		<-back
		b.SetBlocked(false)
	}
	alone := func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
		if len(targets) != 1 || targets[0].Key() != pods.Key() {
			t.Errorf("it watches %v alone", targets)
		}
		sync := goesOn(t, past, pods, object(pods, event.Added, "a", "1"), object(pods, event.Added, "c", "9"))
		return sink.Deliver(ctx, append(sync, object(pods, event.Modified, "c", "10")))
	}
	b, err := NewSubscriber(&dead, Options{Targets: []event.Target{pods}, MaxBytes: 1, FallbackWatch: alone, OnDetached: func() { dropped++ }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewSubscriber(&live, Options{Targets: []event.Target{pods}, MaxBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(b, l)
	var running sync.WaitGroup
	ends := make([]error, 2)
	running.Go(func() { ends[0] = b.Run(t.Context()) })
	running.Go(func() { ends[1] = l.Run(t.Context()) })
	all := []event.Event{
		object(pods, event.Added, "a", "1"), object(pods, event.Added, "b", "1"), markOf(pods, event.Synced),
		object(pods, event.Added, "c", "2"), object(pods, event.Deleted, "b", "3"),
	}
	fan.Deliver(t.Context(), all[:3])
	<-held
	for i := 3; i < len(all); i++ {
		fan.Deliver(t.Context(), all[i:i+1])
	}
	close(back)
	fan.Close()
	running.Wait()
	if err := errors.Join(ends...); err != nil || dropped != 1 {
		t.Errorf("%v, dropped %d times", err, dropped)
	}
	if got := live.all(); len(got) != len(all) || slices.ContainsFunc(got, func(l string) bool { return l == "GAP pods" }) {
		t.Errorf("the others got %q", got)
	}
	want := []string{
		"ADDED pods a 1 initial", "ADDED pods b 1 initial", "SYNCED pods",
		"ADDED pods c 9", "DELETED pods b 1 lost", "GAP pods", "MODIFIED pods c 10",
	}
	if diff := cmp.Diff(want, dead.all()); diff != "" {
		t.Error(diff)
	}
}

// goesOn is the first sync of a watch with a past.
func goesOn(t *testing.T, past event.HistoryFunc, of event.Target, present ...event.Event) (sync []event.Event) {
	l := ledger.New(of.Mapping.GroupVersionKind, false)
	complete, err := past(of, l.Restore)
	if err != nil {
		t.Error(err)
	}
	l.BeginSync()
	for _, e := range present {
		e.Listed, e.Initial = true, !complete
		sync = l.Observe(sync, e)
	}
	sync = append(l.Sweep(sync), markOf(of, event.Synced))
	for i := range sync {
		sync[i].Target, sync[i].Time = of, time.Unix(2, 0)
	}
	return sync
}

// TestDroppedOften: who is dropped is told what became of all that it was told of, also of targets that joined
// after the start, and none of those that left; and what was not synced before is.
func TestDroppedOften(t *testing.T) {
	secrets, leases, nodes := targetOf("secrets"), targetOf("leases"), targetOf("nodes")
	var live, dead taken
	told, back := make(chan struct{}), make(chan struct{})
	var b *Subscriber
	n := 0
	dead.hold = func() {
		if n++; n == 2 {
			b.SetBlocked(true)
			close(told)
			<-back
			b.SetBlocked(false)
		}
	}
	var watched []string
	alone := func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
		for _, of := range targets {
			watched = append(watched, of.Mapping.Resource.Resource)
			present := []event.Event{object(of, event.Added, "new", "7")}
			if of.Key() == nodes.Key() {
				present = nil
			}
			if err := sink.Deliver(ctx, goesOn(t, past, of, present...)); err != nil {
				return err
			}
		}
		return nil
	}
	b, err := NewSubscriber(&dead, Options{Targets: []event.Target{pods, jobs, nodes}, AllTargets: true, MaxBytes: 1, FallbackWatch: alone})
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewSubscriber(&live, Options{AllTargets: true})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(b, l)
	var running sync.WaitGroup
	for _, b := range []*Subscriber{b, l} {
		running.Go(func() {
			if err := b.Run(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	deliver := func(batch ...event.Event) { fan.Deliver(t.Context(), batch) }
	deliver(
		object(pods, event.Added, "a", "1"), markOf(pods, event.Synced), object(jobs, event.Added, "j", "1"),
		markOf(secrets, event.Joined), object(secrets, event.Modified, "s", "2"), markOf(secrets, event.Synced),
		markOf(leases, event.Joined), markOf(leases, event.Left), markOf(nodes, event.Synced), markOf(nodes, event.Gone),
	)
	deliver(object(pods, event.Added, "b", "3"))
	<-told
	deliver(object(secrets, event.Deleted, "s", "4"))
	deliver(object(pods, event.Deleted, "a", "5"))
	close(back)
	fan.Close()
	running.Wait()
	want := []string{
		"ADDED pods a 1 initial", "SYNCED pods", "ADDED jobs j 1 initial",
		"JOINED secrets", "ADDED secrets s 2", "SYNCED secrets", "JOINED leases", "LEFT leases", "SYNCED nodes", "GONE nodes",
		"ADDED pods b 3",
		"ADDED jobs new 7 initial", "DELETED jobs j 1 lost", "GAP jobs", "SYNCED jobs",
		"ADDED pods new 7", "DELETED pods a 1 lost", "DELETED pods b 3 lost", "GAP pods",
		"ADDED secrets new 7", "DELETED secrets s 2 lost", "GAP secrets",
	}
	if diff := cmp.Diff(want, dead.all()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"jobs", "pods", "secrets"}, watched); diff != "" {
		t.Errorf("watched alone: %s", diff)
	}
}

// TestLastIsNotDropped: there is nobody whom it would hold up.
func TestLastIsNotDropped(t *testing.T) {
	var only taken
	back := make(chan struct{})
	var b *Subscriber
	only.hold = func() {
		b.SetBlocked(true)
		<-back
		b.SetBlocked(false)
	}
	b, err := NewSubscriber(&only, Options{AllTargets: true, MaxBytes: 1, OnDetached: func() { t.Error("it is dropped") }})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(b)
	done := make(chan error)
	go func() { done <- b.Run(t.Context()) }()
	fan.Deliver(t.Context(), []event.Event{object(pods, event.Added, "a", "1")})
	given := make(chan struct{})
	go func() {
		fan.Deliver(t.Context(), []event.Event{object(pods, event.Added, "b", "1")})
		close(given)
	}()
	close(back)
	<-given
	fan.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := only.all(); len(got) != 2 {
		t.Errorf("it got %q", got)
	}
}

// world is what a server has, and all that happened there.
type world struct {
	mu    sync.Mutex
	log   []event.Event // the resourceVersion is the place in it, from 1 on
	state map[string]event.Event
}

// happens has n things happen to some objects, which come and go.
func (w *world) happens(n int, chance *rand.Rand) {
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

// since returns what happened after a place in the log.
func (w *world) since(at int) []event.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.log[at:])
}

// list is what a watch begins with, and where it does.
func (w *world) list() (all []event.Event, at int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.state {
		e.Type, e.Listed, e.Initial = event.Added, true, true
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b event.Event) int { return strings.Compare(a.Object.Name, b.Object.Name) })
	synced := markOf(pods, event.Synced)
	synced.ResourceVersion = strconv.Itoa(len(w.log))
	return append(all, synced), len(w.log)
}

// TestComeAndGo: Branches come and go while things happen. Each is told what exists, and then all that happens, in order, once;
// who stays does not notice.
func TestComeAndGo(t *testing.T) {
	for seed := range uint64(40) {
		comeAndGo(t, rand.New(rand.NewPCG(seed, 7)))
	}
}

func comeAndGo(t *testing.T, chance *rand.Rand) {
	w := world{state: map[string]event.Event{}}
	var stays taken
	stay, err := NewSubscriber(&stays, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(stay)
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
	var fed atomic.Int64 // how much of what happened each has that is there
	feeding.Go(func() {  // the watch that they share, late by as much as it likes
		for at, last := 0, false; !last; {
			select {
			case <-stop:
				last = true
			default:
			}
			batch := w.since(at)
			at += len(batch)
			if len(batch) > 0 {
				fan.Deliver(t.Context(), batch)
				fed.Store(int64(at))
			}
			runtime.Gosched()
		}
	})
	type guest struct {
		taken
		began  int
		fed    int  // what it had when it went
		last   *int // what had happened by then; nil: it stayed
		branch *Subscriber
		ended  chan struct{}
	}
	var guests []*guest
	for i := range 6 {
		w.happens(20, chance)
		g := &guest{}
		rest := chance.IntN(30)
		first := func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
			if _, err := past(targets[0], nil); err != nil {
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
		if g.branch, err = NewSubscriber(g, Options{Targets: []event.Target{pods}, MaxBytes: 1 << 40}); err != nil {
			t.Fatal(err)
		}
		fan.Add(g.branch, first)
		g.ended = run(g.branch)
		guests = append(guests, g)
		w.happens(20, chance)
		if i%2 == 1 {
			gone := guests[chance.IntN(len(guests))]
			has := int(fed.Load())
			fan.Remove(gone.branch)
			<-gone.ended
			if gone.last == nil {
				gone.fed, gone.last = has, new(len(w.since(0)))
			}
		}
	}
	close(stop)
	feeding.Wait()
	fan.Close()
	running.Wait()
	log := w.since(0)
	if diff := cmp.Diff(linesOf(log), stays.all()); diff != "" {
		t.Fatalf("who stays: %s", diff)
	}
	for i, g := range guests {
		got := g.all()
		synced := slices.Index(got, "SYNCED pods")
		if synced < 0 {
			t.Fatalf("guest %d: it is not synced: %q", i, got)
		}
		want := append([]string{}, linesOf(log[g.began:])...)
		if g.last != nil { // it was told all that waited, and may have been told what came until it had gone
			told := len(got[synced+1:])
			want = want[:min(max(told, g.fed-g.began), *g.last-g.began)]
		}
		if diff := cmp.Diff(want, got[synced+1:]); diff != "" {
			t.Fatalf("guest %d, from %d on: %s", i, g.began, diff)
		}
	}
}

// linesOf are events as taken has them.
func linesOf(events []event.Event) []string {
	var all taken
	_ = all.Deliver(context.Background(), events)
	return all.all()
}

// TestGoesOnFrom: who takes the place of a Branch is told what became of what that was told, and nothing twice; also if it comes
// while things happen.
func TestGoesOnFrom(t *testing.T) {
	var before, after, other taken
	old, err := NewSubscriber(&before, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	stays, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(old, stays)
	var running sync.WaitGroup
	ended := make(chan error, 1)
	go func() { ended <- old.Run(t.Context()) }()
	running.Go(func() { _ = stays.Run(t.Context()) })
	fan.Deliver(t.Context(), []event.Event{object(pods, event.Added, "same", "1"), object(pods, event.Added, "goes", "2"), markOf(pods, event.Synced)})
	fan.Remove(old)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	fan.Deliver(t.Context(), []event.Event{object(pods, event.Deleted, "goes", "3")})
	next, err := NewSubscriber(&after, Options{Targets: []event.Target{pods}, History: old.History})
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan struct{})
	fan.Add(next, func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
		if complete, err := past(targets[0], nil); complete || err != nil {
			t.Error(complete, err)
		}
		synced := markOf(pods, event.Synced)
		synced.ResourceVersion = "4"
		listed := []event.Event{object(pods, event.Added, "same", "1"), object(pods, event.Added, "new", "4"), synced}
		err := sink.Deliver(ctx, append(listed, event.Event{Type: event.Heartbeat, Time: time.Unix(3, 0)}))
		<-began
		return err
	})
	running.Go(func() { _ = next.Run(t.Context()) })
	fan.Deliver(t.Context(), []event.Event{object(pods, event.Added, "new", "4"), {Type: event.Heartbeat, Time: time.Unix(3, 0)}, object(pods, event.Modified, "same", "5")})
	close(began)
	fan.Close()
	running.Wait()
	want := []string{"ADDED pods new 4", "DELETED pods goes 2 lost", "SYNCED pods", "HEARTBEAT", "HEARTBEAT", "MODIFIED pods same 5"}
	if diff := cmp.Diff(want, after.all()); diff != "" {
		t.Error(diff)
	}
	if got := other.all(); len(got) != 7 {
		t.Errorf("who stays got %q", got)
	}
}

// TestAddedLate: who is told what was before while too much happens is let go, and goes on alone; the others do not wait.
func TestAddedLate(t *testing.T) {
	var live, late taken
	stays, err := NewSubscriber(&live, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	dropped, back := 0, make(chan struct{})
	b, err := NewSubscriber(&late, Options{
		Targets: []event.Target{pods}, MaxBytes: 1, OnDetached: func() { dropped++ },
		FallbackWatch: func(ctx context.Context, sink event.Sink, _ []event.Target, past event.HistoryFunc) error {
			return sink.Deliver(ctx, goesOn(t, past, pods, object(pods, event.Added, "a", "9")))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(stays)
	var running sync.WaitGroup
	running.Go(func() { _ = stays.Run(t.Context()) })
	fan.Add(b, func(ctx context.Context, sink event.Sink, _ []event.Target, _ event.HistoryFunc) error {
		<-back
		return sink.Deliver(ctx, []event.Event{object(pods, event.Added, "a", "1"), markOf(pods, event.Synced)})
	})
	running.Go(func() { _ = b.Run(t.Context()) })
	for i := range 3 {
		fan.Deliver(t.Context(), []event.Event{object(pods, event.Modified, "a", strconv.Itoa(7+i))})
	}
	close(back)
	fan.Close()
	running.Wait()
	if got := live.all(); len(got) != 3 || dropped != 1 {
		t.Errorf("dropped %d times, and who stays got %q", dropped, got)
	}
	if diff := cmp.Diff([]string{"ADDED pods a 1 initial", "SYNCED pods", "MODIFIED pods a 9", "GAP pods"}, late.all()); diff != "" {
		t.Error(diff)
	}
}

// TestAddedBesideHeld: who was alone, and waits for somebody else, is let go when another one comes, which gets all that happens.
func TestAddedBesideHeld(t *testing.T) {
	var dead, live taken
	held, back := make(chan struct{}, 1), make(chan struct{})
	var old *Subscriber
	dead.hold = func() {
		old.SetBlocked(true)
		select {
		case held <- struct{}{}:
		default:
		}
		<-back
		old.SetBlocked(false)
	}
	dropped := make(chan struct{})
	old, err := NewSubscriber(&dead, Options{
		Targets: []event.Target{pods}, MaxBytes: 1, OnDetached: func() { close(dropped) },
		FallbackWatch: func(ctx context.Context, sink event.Sink, _ []event.Target, past event.HistoryFunc) error {
			return sink.Deliver(ctx, goesOn(t, past, pods, object(pods, event.Added, "a", "9")))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	next, err := NewSubscriber(&live, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(old)
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
		fan.Deliver(t.Context(), []event.Event{object(pods, event.Added, "a", "1"), markOf(pods, event.Synced)})
		for i := 2; i <= 4; i++ {
			fan.Deliver(t.Context(), []event.Event{object(pods, event.Modified, "a", strconv.Itoa(i))})
		}
	})
	<-held
	for isFull := false; !isFull; runtime.Gosched() { // with what comes after what it has
		old.mu.Lock()
		isFull = old.bytes >= old.MaxBytes
		old.mu.Unlock()
	}
	fan.Add(next, func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
		if _, err := past(targets[0], nil); err != nil {
			return err
		}
		synced := markOf(pods, event.Synced)
		synced.ResourceVersion = "2"
		return sink.Deliver(ctx, []event.Event{object(pods, event.Added, "a", "2"), synced})
	})
	run(next)
	<-dropped // though nothing of it was freed
	feeding.Wait()
	close(back)
	fan.Close()
	running.Wait()
	if diff := cmp.Diff([]string{"ADDED pods a 2 initial", "SYNCED pods", "MODIFIED pods a 3", "MODIFIED pods a 4"}, live.all()); diff != "" {
		t.Errorf("who came: %s", diff)
	}
	if diff := cmp.Diff([]string{"ADDED pods a 1 initial", "SYNCED pods", "MODIFIED pods a 9", "GAP pods"}, dead.all()); diff != "" {
		t.Errorf("who was let go: %s", diff)
	}
}

// toldBefore is a past of some pods.
func toldBefore(names ...string) event.HistoryFunc {
	return func(_ event.Target, take func(event.ReportedObject)) (bool, error) {
		for _, name := range names {
			take(event.ReportedObject{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"})
		}
		return true, nil
	}
}

// TestAddedUntold: who has not been told all that exists does not go on with what it shares, which takes that for known: none
// of what is there is told as deleted. It goes on alone.
func TestAddedUntold(t *testing.T) {
	now := []event.Event{object(pods, event.Added, "x", "1"), object(pods, event.Added, "y", "2"), object(pods, event.Added, "z", "9")}
	for name, test := range map[string]struct {
		past  event.HistoryFunc
		first []event.Event // before the refusal
		want  []string
	}{
		"new": {nil, nil, []string{"DENIED pods", "ADDED pods x 1 initial", "ADDED pods y 2 initial", "ADDED pods z 9 initial", "SYNCED pods"}},
		"known": {
			toldBefore("gone", "x", "y"), nil,
			[]string{"DENIED pods", "MODIFIED pods y 2", "ADDED pods z 9", "DELETED pods gone 1 lost", "GAP pods", "SYNCED pods"},
		},
		"half": {
			toldBefore("gone", "x", "y"), []event.Event{object(pods, event.Added, "x", "1"), object(pods, event.Added, "new", "3")},
			[]string{"ADDED pods new 3", "DENIED pods", "MODIFIED pods y 2", "ADDED pods z 9", "DELETED pods gone 1 lost", "DELETED pods new 3 lost", "GAP pods", "SYNCED pods"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got, other taken
			stays, err := NewSubscriber(&other, Options{Targets: []event.Target{pods, jobs}})
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewSubscriber(&got, Options{
				Targets: []event.Target{pods}, History: test.past, OnDetached: func() { t.Error("too much waited") },
				FallbackWatch: func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
					if len(targets) != 1 {
						t.Errorf("it watches %v alone", targets)
					}
					return sink.Deliver(ctx, goesOn(t, past, pods, now...))
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			fan := New(stays)
			back := make(chan struct{})
			fan.Add(b, func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
				if _, err := past(targets[0], nil); err != nil {
					return err
				}
				<-back
				return sink.Deliver(ctx, append(test.first, markOf(pods, event.Denied)))
			})
			var running sync.WaitGroup
			for _, b := range []*Subscriber{stays, b} {
				running.Go(func() {
					if err := b.Run(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			fan.Deliver(t.Context(), []event.Event{markOf(pods, event.Denied), now[2], markOf(pods, event.Gap)})
			close(back)
			fan.Close()
			running.Wait()
			if diff := cmp.Diff(test.want, got.all()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"DENIED pods", "ADDED pods z 9 initial", "GAP pods"}, other.all()); diff != "" {
				t.Errorf("who stays: %s", diff)
			}
		})
	}
}

// TestEndedUntold: who ends before it has been told all that exists is told nothing of what waits: it would take what it has not been
// told of for gone.
func TestEndedUntold(t *testing.T) {
	for _, isRemoved := range []bool{false, true} {
		var got, other taken
		stays, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}})
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewSubscriber(&got, Options{
			Targets: []event.Target{pods}, History: toldBefore("x"),
			FallbackWatch: func(context.Context, event.Sink, []event.Target, event.HistoryFunc) error {
				t.Error("it goes on")
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		fan := New(stays)
		ctx, stop := context.WithCancel(t.Context())
		fan.Add(b, func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
			if _, err := past(targets[0], nil); err != nil {
				return err
			}
			<-ctx.Done()
			return nil
		})
		var running sync.WaitGroup
		for _, b := range []*Subscriber{stays, b} {
			running.Go(func() {
				if err := b.Run(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		fan.Deliver(ctx, []event.Event{object(pods, event.Modified, "w", "9"), markOf(pods, event.Gap)})
		if isRemoved {
			fan.Remove(b)
		}
		stop()
		fan.Close()
		running.Wait()
		if got := got.all(); len(got) > 0 {
			t.Errorf("removed %v: it got %q", isRemoved, got)
		}
		left := 0
		complete, err := b.History(pods, func(r event.ReportedObject) { left++ })
		if left != 1 || !complete || err != nil {
			t.Errorf("removed %v: who takes its place goes on from %d objects, all of them: %v, %v", isRemoved, left, complete, err)
		}
	}
}

// TestRelistedMeanwhile: of a relist of what is shared that is older than what a Branch was told at first it is told the mark, and
// nothing of what happened in between; of one that is newer all.
func TestRelistedMeanwhile(t *testing.T) {
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
			var got, other taken
			stays, err := NewSubscriber(&other, Options{Targets: []event.Target{pods}})
			if err != nil {
				t.Fatal(err)
			}
			b, err := NewSubscriber(&got, Options{Targets: []event.Target{pods}})
			if err != nil {
				t.Fatal(err)
			}
			fan := New(stays)
			back := make(chan struct{})
			fan.Add(b, func(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
				if _, err := past(targets[0], nil); err != nil {
					return err
				}
				<-back
				synced := markOf(pods, event.Synced)
				synced.ResourceVersion = "20"
				return sink.Deliver(ctx, []event.Event{object(pods, event.Added, "g", "11"), object(pods, event.Added, "x", "18"), synced})
			})
			var running sync.WaitGroup
			for _, b := range []*Subscriber{stays, b} {
				running.Go(func() {
					if err := b.Run(t.Context()); err != nil {
						t.Error(err)
					}
				})
			}
			gap := markOf(pods, event.Gap)
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
			fan.Deliver(t.Context(), append([]event.Event{listed, lost, gap}, test.then...))
			close(back)
			fan.Close()
			running.Wait()
			want := append([]string{"ADDED pods g 11 initial", "ADDED pods x 18 initial", "SYNCED pods"}, test.want...)
			if diff := cmp.Diff(want, got.all()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestRemoved: who is removed delivers what waits, and nothing that comes after that.
func TestRemoved(t *testing.T) {
	var got taken
	held, back := make(chan struct{}, 1), make(chan struct{})
	got.hold = func() {
		select {
		case held <- struct{}{}:
		default:
		}
		<-back
	}
	b, err := NewSubscriber(&got, Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(b)
	ended := make(chan error)
	go func() { ended <- b.Run(t.Context()) }()
	fan.Deliver(t.Context(), []event.Event{object(pods, event.Added, "a", "1")})
	<-held
	fan.Deliver(t.Context(), []event.Event{object(pods, event.Added, "b", "2")})
	fan.Deliver(t.Context(), []event.Event{markOf(pods, event.Synced)})
	fan.Remove(b)
	fan.Deliver(t.Context(), []event.Event{object(pods, event.Added, "late", "3")})
	close(back)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"ADDED pods a 1 initial", "ADDED pods b 2 initial", "SYNCED pods"}, got.all()); diff != "" {
		t.Error(diff)
	}
}

// TestOneCopy: what one Branch leaves out of a batch the others have.
func TestOneCopy(t *testing.T) {
	batch := []event.Event{object(pods, event.Modified, "a", "1"), object(jobs, event.Modified, "b", "2"), object(pods, event.Modified, "c", "3")}
	whole := slices.Clone(batch)
	b, err := NewSubscriber(new(taken), Options{Targets: []event.Target{pods}})
	if err != nil {
		t.Fatal(err)
	}
	if own := b.own(batch); len(own) != 2 || own[0].Object.Name != "a" || own[1].Object.Name != "c" {
		t.Errorf("%d are its own", len(own))
	}
	r := reached{pods.Key(): "1"}
	if left := r.missing([][]event.Event{batch}); len(left[0]) != 2 {
		t.Errorf("%d are missing", len(left[0]))
	}
	for i := range batch {
		if batch[i].Object != whole[i].Object {
			t.Errorf("the batch was changed at %d", i)
		}
	}
}
