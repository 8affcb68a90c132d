package broadcast

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
	for i := range batch {
		if batch[i].Object != whole[i].Object {
			t.Errorf("event %d of the batch was changed", i)
		}
	}
}
