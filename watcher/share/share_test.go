package share

import (
	"context"
	"errors"
	"slices"
	"sync"
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
	past := func(of event.Target, take func(event.Reported)) (bool, error) {
		if of.Key() == pods.Key() {
			for name, version := range map[string]string{"same": "1", "changed": "1", "gone": "1"} {
				take(event.Reported{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), ResourceVersion: version})
			}
		}
		return true, nil
	}
	var fresh, again, other taken
	var branches []*Branch
	for _, of := range []struct {
		to *taken
		Options
	}{
		{&fresh, Options{Targets: []event.Target{pods}, Keep: true}},
		{&again, Options{Targets: []event.Target{pods}, Past: past}},
		{&other, Options{All: true}},
	} {
		b, err := NewBranch(of.to, of.Options)
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
	var b *Branch
	dead.hold = func() {
		b.Held(true)
		select {
		case held <- struct{}{}:
		default:
		}
		<-back
		b.Held(false)
	}
	alone := func(ctx context.Context, sink event.Sink, targets []event.Target, past event.Past) error {
		if len(targets) != 1 || targets[0].Key() != pods.Key() {
			t.Errorf("it watches %v alone", targets)
		}
		sync := goesOn(t, past, pods, object(pods, event.Added, "a", "1"), object(pods, event.Added, "c", "9"))
		return sink.Deliver(ctx, append(sync, object(pods, event.Modified, "c", "10")))
	}
	b, err := NewBranch(&dead, Options{Targets: []event.Target{pods}, Room: 1, Alone: alone, Dropped: func() { dropped++ }})
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewBranch(&live, Options{Targets: []event.Target{pods}, Room: 1})
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
func goesOn(t *testing.T, past event.Past, of event.Target, present ...event.Event) (sync []event.Event) {
	l := ledger.New(of.Mapping.GroupVersionKind, false)
	complete, err := past(of, l.Restore)
	if err != nil {
		t.Error(err)
	}
	l.Begin()
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
	var b *Branch
	n := 0
	dead.hold = func() {
		if n++; n == 2 {
			b.Held(true)
			close(told)
			<-back
			b.Held(false)
		}
	}
	var watched []string
	alone := func(ctx context.Context, sink event.Sink, targets []event.Target, past event.Past) error {
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
	b, err := NewBranch(&dead, Options{Targets: []event.Target{pods, jobs, nodes}, All: true, Room: 1, Alone: alone})
	if err != nil {
		t.Fatal(err)
	}
	l, err := NewBranch(&live, Options{All: true})
	if err != nil {
		t.Fatal(err)
	}
	fan := New(b, l)
	var running sync.WaitGroup
	for _, b := range []*Branch{b, l} {
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
	var b *Branch
	only.hold = func() {
		b.Held(true)
		<-back
		b.Held(false)
	}
	b, err := NewBranch(&only, Options{All: true, Room: 1, Dropped: func() { t.Error("it is dropped") }})
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
