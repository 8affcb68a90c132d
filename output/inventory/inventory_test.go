package inventory

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/expression"
)

var (
	pods    = target("", "pods", "Pod")
	secrets = target("", "secrets", "Secret")
	start   = time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
)

func target(group, resource, kind string) event.Target {
	return event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, kind, true)}
}

// object returns an object. rest is the JSON that follows the name and UID in its metadata, up to the end.
func object(kind, name, uid, version, rest string) event.Object {
	id := &event.Identity{APIVersion: "v1", Kind: kind, Namespace: "shop", Name: name, UID: types.UID(uid), ResourceVersion: version}
	return event.NewObject(id, fmt.Sprintf(`{"apiVersion":"v1","kind":%q,"metadata":{"name":%q,"namespace":"shop","uid":%q,"resourceVersion":%q,"creationTimestamp":"2026-01-31T08:55:00Z"%s}`,
		kind, name, uid, version, rest))
}

func pod(name, uid, version, phase string) event.Object {
	return object("Pod", name, uid, version, `,"labels":{"app":"`+name+`"}},"status":{"phase":"`+phase+`"}`)
}

// of returns an event of a pod some seconds after the start.
func of(t event.Type, o event.Object, second int) event.Event {
	return event.Event{Type: t, Target: pods, Object: o, Time: start.Add(time.Duration(second) * time.Second)}
}

// seen is an inventory together with all changes that its view function received.
type seen struct {
	*Inventory
	t       testing.TB
	changes []Change
}

func newSeen(t testing.TB, o Options) *seen {
	s := &seen{t: t}
	s.Inventory = New(o, func(changes []Change) { s.changes = append(s.changes, changes...) })
	return s
}

// deliver delivers events and returns the resulting changes.
func (s *seen) deliver(events ...event.Event) []Change {
	s.t.Helper()
	s.changes = nil
	if err := s.Deliver(s.t.Context(), events); err != nil {
		s.t.Fatal(err)
	}
	return s.changes
}

// existing returns the names and versions of the existing objects.
func (s *seen) existing() string {
	s.t.Helper()
	all, err := s.ListAt(Now, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, state := range all {
		names = append(names, state.Object.Name+state.Object.ResourceVersion)
	}
	return strings.Join(names, " ")
}

// history returns the event types and versions of an object's states.
func (s *seen) history(id string) string {
	h, held := s.History(id)
	if !held {
		return "not held"
	}
	var all []string
	for n, state := range h.States {
		if n == 1 && h.Evicted > 0 {
			all = append(all, fmt.Sprint("...", h.Evicted))
		}
		all = append(all, string(state.Type)[:1]+state.Object.ResourceVersion)
	}
	return strings.Join(all, " ")
}

// TestLifecycle creates, modifies and deletes an object, and creates another one with the same name.
func TestLifecycle(t *testing.T) {
	s := newSeen(t, Options{})
	initial := of(event.Added, pod("a", "u1", "1", "Pending"), 0)
	initial.Initial = true
	c := s.deliver(initial)[0]
	if o := c.State.Entry; c.Before != nil || o.ID != "pods/u1" || !o.Initial || !o.FirstSeen.Equal(start) || c.State.Status != "InProgress" {
		t.Errorf("first state: %+v of %+v", c.State, o)
	}
	changes := s.deliver(of(event.Modified, pod("a", "u1", "2", "Running"), 1), of(event.Added, pod("b", "u2", "3", "Running"), 2))
	if changes[0].Before != c.State || changes[0].State.Entry != c.State.Entry || changes[1].Before != nil {
		t.Errorf("%+v", changes)
	}
	if got := s.existing(); got != "a2 b3" {
		t.Error(got)
	}
	s.deliver(of(event.Deleted, pod("a", "u1", "4", "Running"), 3))
	if got := s.existing() + ", " + s.history("pods/u1"); got != "b3, A1 M2 D4" {
		t.Error(got)
	}
	c = s.deliver(of(event.Added, pod("a", "u9", "5", "Running"), 5))[0]
	if !c.State.Entry.PredecessorDeleted.Equal(start.Add(3*time.Second)) || c.Before != nil {
		t.Errorf("object with the same name: %+v", c)
	}
	if got := s.history("pods/u1") + ", " + s.history("pods/u9"); got != "A1 M2 D4, A5" {
		t.Error(got)
	}
	ended := s.ListDeleted()
	if len(ended) != 1 || ended[0].Entry.ID != "pods/u1" {
		t.Errorf("%v", ended)
	}
	s.Forget(ended[0].Entry)
	s.Forget(c.State.Entry) // no effect: the object exists
	if got := s.existing() + ", " + s.history("pods/u1"); got != "a5 b3, not held" || len(s.ListDeleted()) > 0 {
		t.Error(got)
	}
	if changes := s.deliver(event.Event{Type: event.Synced, Target: pods}); len(changes) != 1 || changes[0].State != nil {
		t.Errorf("status event: got %+v", changes)
	}
}

// TestModifiedFirst checks events of objects without an ADDED event, as after a restart from a state file.
func TestModifiedFirst(t *testing.T) {
	s := newSeen(t, Options{Compare: &change.Options{}})
	c := s.deliver(of(event.Modified, pod("a", "u1", "2", "Running"), 1), of(event.Deleted, pod("b", "u2", "3", "Running"), 1))
	if c[0].Before != nil || c[0].Diff != nil || c[1].Before != nil {
		t.Errorf("%+v", c)
	}
	if got := s.existing() + ", " + s.history("pods/u2"); got != "a2, D3" {
		t.Error(got)
	}
}

// TestFinalStateUnknown checks that a deletion with an unknown final state keeps the last known content.
func TestFinalStateUnknown(t *testing.T) {
	s := newSeen(t, Options{})
	before := pod("a", "u1", "1", "Running")
	row := before.WithRow(`{"columnDefinitions":[{"name":"Phase","type":"string"}],"cells":["Running"]}`)
	end := of(event.Deleted, event.NewObject(before.Identity, ""), 9)
	end.FinalStateUnknown = true
	last := s.deliver(of(event.Added, row, 0), end)[1].State
	if last.Object.Raw() != before.Raw() || last.Status != "InProgress" || fmt.Sprint(last.Cells()) != "[Running]" {
		t.Errorf("%+v: %s", last, last.Object.Raw())
	}
}

// TestUndecodable checks that the message of an object that cannot be decoded is bounded.
func TestUndecodable(t *testing.T) {
	s := newSeen(t, Options{})
	state := s.deliver(of(event.Added, object("Pod", "a", "u1", "1", `},"n":1e999,"text":"`+strings.Repeat("x", 1<<20)+`"}`), 0))[0].State
	if state.Status != "Unknown" || state.Message == "" || len(state.Message) > 2*maxCell {
		t.Errorf("%s: %d bytes", state.Status, len(state.Message))
	}
}

// TestReappeared checks that an object that reappears after its deletion is listed once.
func TestReappeared(t *testing.T) {
	s := newSeen(t, Options{MaxDeleted: 10})
	o := pod("a", "u1", "1", "Running")
	s.deliver(of(event.Added, o, 0), of(event.Deleted, o, 1), of(event.Added, o, 2))
	if got := s.existing() + ", " + s.history("pods/u1"); got != "a1, A1" || len(s.ListDeleted()) > 0 {
		t.Error(got)
	}
}

// TestLateDeletion checks that a deletion that arrives after another object took the name does not remove that object.
// This can happen if two targets include both.
func TestLateDeletion(t *testing.T) {
	s := newSeen(t, Options{MaxDeleted: 10})
	before, now := pod("a", "u1", "1", "Running"), pod("a", "u2", "2", "Running")
	s.deliver(of(event.Added, before, 0), of(event.Deleted, before, 1), of(event.Added, now, 1), of(event.Deleted, before, 2))
	c := s.deliver(of(event.Modified, pod("a", "u2", "3", "Failed"), 3))[0]
	if got := s.existing() + ", " + s.history("pods/u2"); got != "a3, A2 M3" || c.Before == nil {
		t.Error(got)
	}
}

// TestWhere checks that objects that do not match Options.Where are removed.
func TestWhere(t *testing.T) {
	s := newSeen(t, Options{Where: func(e *event.Event) bool { return strings.Contains(e.Object.Raw(), "Running") }})
	s.deliver(of(event.Added, pod("a", "u1", "1", "Running"), 0), of(event.Added, pod("b", "u2", "2", "Pending"), 0))
	if got := s.existing(); got != "a1" {
		t.Error(got)
	}
	c := s.deliver(of(event.Modified, pod("a", "u1", "3", "Pending"), 1))[0]
	if c.State != nil || c.Before == nil || s.existing() != "" || s.history("pods/u1") != "not held" {
		t.Errorf("%+v, %s", c, s.existing())
	}
}

// TestNoise checks that a state that differs only in noise replaces its predecessor, and that the next difference is
// computed from it.
func TestNoise(t *testing.T) {
	s := newSeen(t, Options{Compare: &change.Options{Noise: change.DefaultNoise()}})
	c := s.deliver(
		of(event.Added, pod("a", "u1", "1", "Pending"), 0), of(event.Modified, pod("a", "u1", "2", "Running"), 1),
		of(event.Modified, pod("a", "u1", "3", "Running"), 2), of(event.Modified, pod("a", "u1", "4", "Failed"), 3))
	if got := s.history("pods/u1"); got != "A1 M3 M4" {
		t.Error(got)
	}
	for n, want := range []int{1, 0, 1} {
		if diff := c[n+1].Diff; diff == nil || len(diff.Changes) != want {
			t.Errorf("change %d: %+v", n+1, diff)
		}
	}
	h, _ := s.History("pods/u1")
	if at := h.States[1].Time; !at.Equal(start.Add(time.Second)) {
		t.Errorf("got the change at %v, want one second after the start", at)
	}
	if diff := DiffStates(h.States[0], h.States[1], change.Options{Noise: change.DefaultNoise()}); len(diff.Changes) != 1 || diff.Changes[0].Path.String() != "status.phase" {
		t.Errorf("%+v", diff)
	}
}

// TestHistory checks that the first and the latest of many states are retained.
func TestHistory(t *testing.T) {
	s := newSeen(t, Options{})
	for n := range 3*maxStates + 1 {
		s.deliver(of(event.Modified, pod("a", "u1", fmt.Sprint(n), "Running"), n))
	}
	h, _ := s.History("pods/u1")
	if len(h.States) != maxStates || h.Evicted != 2*maxStates+1 || h.States[0].Object.ResourceVersion != "0" || h.States[1].Object.ResourceVersion != fmt.Sprint(2*maxStates+2) {
		t.Errorf("got %d states, %d evicted, then version %s", len(h.States), h.Evicted, h.States[1].Object.ResourceVersion)
	}
	s.deliver(of(event.Deleted, pod("a", "u1", "999", "Running"), 0))
	s.Forget(h.Entry)
	if s.archive.bytes != 0 {
		t.Errorf("%d bytes are counted without a state", s.archive.bytes)
	}
}

// TestBudget checks that the oldest historical states of all objects are evicted first and released, and that first and
// current states stay.
func TestBudget(t *testing.T) {
	s := newSeen(t, Options{})
	s.archive.limit = 20_000
	for n := range 3000 {
		for _, name := range []string{"a", "b"} {
			s.deliver(of(event.Modified, pod(name, name, fmt.Sprint(n), "Running"), n))
		}
		if n == 100 {
			s.deliver(of(event.Modified, pod("quiet", "q", "1", "Running"), n), of(event.Modified, pod("quiet", "q", "2", "Running"), n), of(event.Modified, pod("quiet", "q", "3", "Running"), n))
		}
	}
	held := 0
	for _, id := range []string{"a", "b", "q"} {
		h, _ := s.History("pods/" + id)
		for _, state := range h.States[1 : len(h.States)-1] {
			held += state.Size()
		}
	}
	if held != s.archive.bytes || held > s.archive.limit || held < s.archive.limit/2 {
		t.Errorf("%d bytes are retained, %d counted", held, s.archive.bytes)
	}
	if got := s.history("pods/q"); got != "M1 ...1 M3" {
		t.Error(got)
	}
	if n := s.archive.queue.Len(); n > 5000 {
		t.Errorf("%d states are queued", n)
	}
}

// TestMaxDeleted checks that the last deleted objects are retained.
func TestMaxDeleted(t *testing.T) {
	s := newSeen(t, Options{MaxDeleted: 5})
	for n := range 20 {
		o := pod(fmt.Sprint("p", n), fmt.Sprint("u", n), "1", "Running")
		s.deliver(of(event.Added, o, n), of(event.Deleted, o, n))
	}
	if ended := s.ListDeleted(); len(ended) != 5 || len(s.byID) != 5 || len(s.byName) != 5 || ended[0].Entry.Name != "p15" {
		t.Errorf("got %d deleted objects, %d objects, %d names, want 5 each", len(ended), len(s.byID), len(s.byName))
	}
}

// TestListAtWithoutFullHistory checks that queries for other times than Now return an error.
func TestListAtWithoutFullHistory(t *testing.T) {
	s := newSeen(t, Options{})
	if _, err := s.ListAt(start, nil); !errors.Is(err, ErrNotRetained) {
		t.Errorf("%v", err)
	}
}

// TestMasked checks that masked values cannot be read in any way, while their changes are reported.
func TestMasked(t *testing.T) {
	masks := &change.Masks{Secrets: true, Key: []byte("k")}
	s := newSeen(t, Options{Masks: masks, Compare: &change.Options{Masks: masks}, OmitManagedFields: true})
	secret := func(version, value string) event.Event {
		e := of(event.Modified, object("Secret", "s", "u", version, `,"managedFields":[{"manager":"m"}]},"data":{"password":"`+value+`"}`), 0)
		e.Target = secrets
		return e
	}
	c := s.deliver(secret("1", "aHVudGVyMg=="), secret("2", "aHVudGVyMw=="))
	if diff := c[1].Diff; len(diff.Changes) != 2 || !diff.Changes[0].Masked {
		t.Errorf("%+v", diff)
	}
	all, _ := s.ListAt(Now, nil)
	for _, text := range []string{all[0].Object.Raw(), fmt.Sprintf("%+v", *c[1].Diff)} {
		if strings.Contains(text, "aHVudGVy") || strings.Contains(text, "managedFields") {
			t.Error(text)
		}
	}
	for text, want := range map[string]bool{"object.data.password == 'aHVudGVyMw=='": false, "object.kind == 'Secret'": true} {
		x, err := expression.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if holds, err := x.MatchesObject("", all[0].Object, time.Now()); holds != want || err != nil {
			t.Errorf("%s: got %v, %v, want %v", text, holds, err, want)
		}
	}
}

// TestConcurrentReads reads while events are delivered.
func TestConcurrentReads(t *testing.T) {
	s := newSeen(t, Options{MaxDeleted: 3, Compare: &change.Options{}})
	s.archive.limit = 5000
	x, err := expression.Compile("object.status.phase == 'Running'")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				all, err := s.ListAt(Now, nil)
				if err != nil {
					t.Error(err)
				}
				for _, state := range append(all, s.ListDeleted()...) {
					if _, err := x.MatchesObject("", state.Object, time.Now()); err != nil {
						t.Error(err)
					}
					h, _ := s.History(state.Entry.ID)
					for n := 1; n < len(h.States); n++ {
						DiffStates(h.States[n-1], h.States[n], change.Options{})
					}
				}
			}
		})
	}
	for n := range 300 {
		o := pod(fmt.Sprint("p", n%5), fmt.Sprint("u", n%5), fmt.Sprint(n), []string{"Running", "Failed"}[n%2])
		s.deliver(of([]event.Type{event.Added, event.Modified, event.Modified, event.Deleted}[n/5%4], o, n))
	}
	close(done)
	readers.Wait()
}

// TestPodMessage checks that the message of a Pod includes its memory limit or its probe, although most of the spec is
// not decoded.
func TestPodMessage(t *testing.T) {
	for want, container := range map[string]string{
		"Failed: OOMKilled (exit 137, 4 restarts), limit 64Mi": `{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}`,
		"InProgress: its readiness probe does not succeed":     `{"name":"web","ready":false,"started":true,"state":{"running":{}}}`,
	} {
		s := newSeen(t, Options{})
		o := testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u1","resourceVersion":"1","creationTimestamp":"2026-01-31T09:00:00Z"},
			"spec":{"containers":[{"name":"web","readinessProbe":{"httpGet":{"port":80}},"resources":{"limits":{"memory":"64Mi"}}}]},
			"status":{"phase":"Running","containerStatuses":[`+container+`]}}`)
		c := s.deliver(of(event.Added, o, 0))[0]
		if got := c.State.Status.String() + ": " + c.State.Message; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
