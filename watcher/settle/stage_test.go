package settle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// began is the time at which the tests begin.
var began = time.Unix(1_700_000_000, 0)

// bench is a Stage with a clock and a record of its output.
type bench struct {
	t     *testing.T
	stage *Stage
	now   time.Time
	last  map[string]event.Object // last state of each object, by resource and UID
	got   []event.Event           // events that the stage delivered
}

func newBench(t *testing.T, o Options) *bench {
	b := &bench{t: t, now: began, last: map[string]event.Object{}}
	o.Compare.Noise = change.DefaultNoise()
	b.stage = New(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		b.got = append(b.got, batch...)
		return nil
	}), o)
	return b
}

// object describes an object.
type object struct {
	resource, name string
	uid            string // if empty, name
	owner          string // UID of the owner
	status, spec   string // members, as JSON
}

var kinds = map[string]struct{ apiVersion, kind string }{
	"deployments": {"apps/v1", "Deployment"}, "replicasets": {"apps/v1", "ReplicaSet"}, "pods": {"v1", "Pod"}, "configmaps": {"v1", "ConfigMap"},
	"settings": {"x.io/v1", "ConfigMap"}, // serves the same objects
}

func (b *bench) event(kind event.Type, o object) event.Event {
	k := kinds[o.resource]
	version := fmt.Sprint(b.now.Sub(began) / time.Second)
	owners := ""
	if o.owner != "" {
		owners = fmt.Sprintf(`"ownerReferences":[{"apiVersion":"apps/v1","kind":"X","name":"x","uid":%q,"controller":true}],`, o.owner)
	}
	uid := o.uid
	if uid == "" {
		uid = o.name
	}
	content := fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"generation":1,"name":%q,%s"uid":%q,"resourceVersion":%q,"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{%s},"status":{%s}}`,
		k.apiVersion, k.kind, o.name, owners, uid, version, o.spec, o.status)
	gv, _ := schema.ParseGroupVersion(k.apiVersion)
	e := event.Event{
		Type: kind, Time: b.now, Target: event.Target{Mapping: event.NewMapping(gv.WithResource(o.resource), k.kind, true)},
		Object: event.NewObject(&event.Identity{APIVersion: k.apiVersion, Kind: k.kind, Name: o.name, UID: types.UID(uid), ResourceVersion: version}, content),
	}
	if kind == event.Modified {
		e.Old = b.last[o.resource+"/"+uid]
	}
	b.last[o.resource+"/"+uid] = e.Object
	return e
}

func (b *bench) deliver(kind event.Type, o object) {
	b.t.Helper()
	if err := b.stage.Deliver(b.t.Context(), []event.Event{b.event(kind, o)}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) initial(o object) {
	e := b.event(event.Added, o)
	e.Initial = true
	if err := b.stage.Deliver(b.t.Context(), []event.Event{e}); err != nil {
		b.t.Fatal(err)
	}
	b.got = nil
}

// pass advances the time by seconds, with a heartbeat for each.
func (b *bench) pass(seconds int) {
	for range seconds {
		b.now = b.now.Add(time.Second)
		if err := b.stage.Deliver(b.t.Context(), []event.Event{{Type: event.Heartbeat, Time: b.now}}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// describe describes the events that were released since the last call.
func (b *bench) describe() string {
	var all []string
	for _, e := range b.got {
		if e.Type.IsStatus() {
			all = append(all, string(e.Type))
			continue
		}
		text := fmt.Sprintf("%s %s", e.Type, e.Object.Name)
		switch s := e.Settled; {
		case s == nil:
			text += " unbuffered"
		case s.IsFirst(&e):
			g := s.Group
			text += fmt.Sprintf(" ×%d (%d changes of %d in %s, %s%s)", s.Changes, g.Changes, len(g.Events), g.Until.Sub(g.Since), g.Status, reasonSuffix(g.FlushReason))
			for _, u := range g.Unhealthy {
				text += " " + u.Name + ":" + u.Message
			}
		default:
			text += fmt.Sprintf(" ×%d", s.Changes)
			if s.ShortLived {
				text += " short-lived"
			}
		}
		all = append(all, text)
	}
	b.got = nil
	return strings.Join(all, "; ")
}

func reasonSuffix(r event.FlushReason) string {
	if r == "" {
		return ""
	}
	return ", " + string(r)
}

func (b *bench) want(want string) {
	b.t.Helper()
	if got := b.describe(); got != want {
		b.t.Errorf("at %s: %s\nwant %s", b.now.Sub(began), got, want)
	}
}

// thirty returns options with a quiet period of 30 seconds.
func thirty() Options { return Options{QuietPeriod: 30 * time.Second, MaxWait: 10 * time.Minute} }

// TestMerge checks that changes within the quiet period become one event from the first state to the last.
func TestMerge(t *testing.T) {
	b := newBench(t, thirty())
	cm := func(n int) object { return object{resource: "configmaps", name: "a", spec: fmt.Sprintf(`"n":%d`, n)} }
	b.initial(cm(0))
	for n := range 3 {
		b.pass(10)
		b.deliver(event.Modified, cm(n+1))
	}
	b.pass(29)
	b.want("")
	if text := b.stage.Status(); text != "3 changes of 1 object wait for quiet" {
		t.Error(text)
	}
	b.pass(1)
	got := slices.Clone(b.got)
	b.want("MODIFIED a ×3 (3 changes of 1 in 20s, Current)")
	if len(got) == 1 && (!strings.Contains(got[0].Old.Raw(), `"n":0`) || !strings.Contains(got[0].Object.Raw(), `"n":3`)) {
		t.Errorf("got an event from %s to %s", got[0].Old.Raw(), got[0].Object.Raw())
	}
	if text := b.stage.Status(); text != "" || b.stage.buffer.bytes != 0 || len(b.stage.buffer.byObject)+len(b.stage.buffer.byName) > 0 {
		t.Errorf("buffer is not empty: status %q, %d bytes, %v", text, b.stage.buffer.bytes, b.stage.buffer.byObject)
	}
}

const (
	pending = `"phase":"Pending"`
	running = `"phase":"Running","conditions":[{"type":"Ready","status":"True"}]`
	rolling = `"observedGeneration":0,"replicas":1,"updatedReplicas":0`
	done    = `"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"},{"type":"Available","status":"True"}]`
	made    = `"observedGeneration":1,"replicas":1,"fullyLabeledReplicas":1,"readyReplicas":1,"availableReplicas":1`
	pulling = `"phase":"Pending","containerStatuses":[{"name":"c","state":{"waiting":{"reason":"ImagePullBackOff","message":"no such image"}}}]`
)

func deploy(n int, status string) object {
	return object{resource: "deployments", name: "web", status: status, spec: fmt.Sprintf(`"replicas":1,"n":%d`, n)}
}

// TestGroup checks that owned objects are released with their root, in whatever order their events arrive, and not while
// the group is in progress.
func TestGroup(t *testing.T) {
	b := newBench(t, thirty())
	b.initial(deploy(1, done))
	b.deliver(event.Added, object{resource: "pods", name: "p2", owner: "new", status: pending}) // before its owner
	b.deliver(event.Modified, deploy(2, rolling))
	b.deliver(event.Added, object{resource: "replicasets", name: "new", owner: "web", status: made})
	b.deliver(event.Added, object{resource: "pods", name: "p3", owner: "new", status: pending})
	b.deliver(event.Deleted, object{resource: "pods", name: "p3", owner: "new", status: pending})
	b.pass(60) // pulling a large image
	b.want("")
	b.deliver(event.Modified, object{resource: "pods", name: "p2", owner: "new", status: running})
	b.deliver(event.Modified, deploy(2, done))
	b.pass(30)
	b.want("MODIFIED web ×2 (7 changes of 4 in 1m0s, Current); ADDED p2 ×2; ADDED new ×1; DELETED p3 ×2 short-lived")
}

// TestInProgressWithReason checks that an object in progress that reports a reason does not delay its group.
func TestInProgressWithReason(t *testing.T) {
	b := newBench(t, thirty())
	b.initial(deploy(1, done))
	b.deliver(event.Modified, deploy(2, rolling))
	b.deliver(event.Added, object{resource: "replicasets", name: "new", owner: "web", status: made})
	b.deliver(event.Added, object{resource: "pods", name: "p2", owner: "new", status: pulling})
	b.pass(30)
	b.want("MODIFIED web ×1 (3 changes of 3 in 0s, InProgress) p2:ImagePullBackOff : no such image; ADDED new ×1; ADDED p2 ×1")
}

// TestMaxWait checks that a group that never becomes quiet is released after MaxWait.
func TestMaxWait(t *testing.T) {
	b := newBench(t, Options{QuietPeriod: 30 * time.Second, MaxWait: time.Minute})
	for n := range 13 {
		b.deliver(event.Modified, object{resource: "configmaps", name: "a", spec: fmt.Sprintf(`"n":%d`, n)})
		b.pass(10)
	}
	b.want("MODIFIED a ×6 (6 changes of 1 in 50s, Current, max-settle); MODIFIED a ×6 (6 changes of 1 in 50s, Current, max-settle)")
}

// TestNoise checks that noise does not extend the quiet period.
func TestNoise(t *testing.T) {
	b := newBench(t, thirty())
	cm := func(n int) object { return object{resource: "configmaps", name: "a", spec: fmt.Sprintf(`"n":%d`, n)} }
	b.initial(cm(0))
	b.deliver(event.Modified, cm(1))
	for range 2 {
		b.pass(10)
		b.deliver(event.Modified, cm(1)) // another resourceVersion
	}
	b.pass(10)
	b.want("MODIFIED a ×3 (3 changes of 1 in 0s, Current)")
}

// TestReplaced checks that a deleted object and its successor with the same name are released together in order.
func TestReplaced(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Deleted, object{resource: "configmaps", name: "a", uid: "one"})
	b.pass(20)
	b.deliver(event.Added, object{resource: "configmaps", name: "a", uid: "two"})
	b.deliver(event.Added, object{resource: "pods", name: "p", owner: "two", status: running})
	b.pass(29)
	b.want("")
	b.pass(1)
	b.want("DELETED a ×1 (3 changes of 3 in 20s, Current); ADDED a ×1; ADDED p ×1")
}

// TestTwoResources checks that an object that two resources serve gets one event for each.
func TestTwoResources(t *testing.T) {
	b := newBench(t, thirty())
	for _, resource := range []string{"configmaps", "settings"} {
		b.initial(object{resource: resource, name: "a"})
	}
	for _, spec := range []string{`"n":1`, `"n":2`} {
		for _, resource := range []string{"configmaps", "settings"} {
			b.deliver(event.Modified, object{resource: resource, name: "a", spec: spec})
		}
	}
	b.pass(30)
	if len(b.got) != 2 || b.got[0].Target.Resource() == b.got[1].Target.Resource() {
		t.Errorf("got %d events, want one for each resource", len(b.got))
	}
	b.want("MODIFIED a ×2 (4 changes of 2 in 0s, Current); MODIFIED a ×2")
}

// TestInitial checks that initial objects are not buffered and do not overtake their predecessors.
func TestInitial(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Deleted, object{resource: "configmaps", name: "a", uid: "one"})
	e := b.event(event.Added, object{resource: "configmaps", name: "a", uid: "two"})
	e.Initial = true
	if err := b.stage.Deliver(t.Context(), []event.Event{e}); err != nil {
		t.Fatal(err)
	}
	b.want("DELETED a ×1 (1 changes of 1 in 0s, , short); ADDED a unbuffered")
}

// TestFlush checks that Flush releases everything.
func TestFlush(t *testing.T) {
	b := newBench(t, thirty())
	b.initial(object{resource: "configmaps", name: "a"})
	b.deliver(event.Deleted, object{resource: "configmaps", name: "a"})
	b.deliver(event.Added, object{resource: "configmaps", name: "b"})
	if err := b.stage.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.want("DELETED a ×1 (1 changes of 1 in 0s, , end); ADDED b ×1 (1 changes of 1 in 0s, Current, end)")
}

// TestBufferFull checks that the oldest groups are released when the buffer is full.
func TestBufferFull(t *testing.T) {
	warned := 0
	o := thirty()
	o.MaxBytes, o.Warn = 1<<20, func(string) { warned++ }
	b := newBench(t, o)
	for n := range 1000 {
		b.deliver(event.Added, object{resource: "configmaps", name: fmt.Sprint("c", n), spec: `"x":"` + strings.Repeat("x", 4000) + `"`})
		if b.stage.buffer.bytes > o.MaxBytes {
			t.Fatalf("%d bytes are buffered", b.stage.buffer.bytes)
		}
	}
	if warned == 0 || warned > 20 || len(b.got) < 600 {
		t.Errorf("Warn was called %d times, and %d events were released", warned, len(b.got))
	}
	for n, e := range b.got {
		if e.Object.Name != fmt.Sprint("c", n) || e.Settled.Group.FlushReason != event.FlushBufferFull {
			t.Fatalf("event %d is about %s, with FlushReason %q", n, e.Object.Name, e.Settled.Group.FlushReason)
		}
	}
}

// together delivers events in one batch.
func (b *bench) together(batch ...event.Event) {
	b.t.Helper()
	if err := b.stage.Deliver(b.t.Context(), batch); err != nil {
		b.t.Fatal(err)
	}
}

// TestNameInOrder checks that the events of objects with the same name keep their order, whatever their owners are.
func TestNameInOrder(t *testing.T) {
	pod := func(uid, owner, status string) object {
		return object{resource: "pods", name: "web-0", uid: uid, owner: owner, status: status}
	}
	t.Run("other owners", func(t *testing.T) {
		b := newBench(t, thirty())
		b.initial(object{resource: "pods", name: "web-1", owner: "s1", status: running})
		b.deliver(event.Deleted, pod("old", "s1", running))
		b.deliver(event.Modified, object{resource: "pods", name: "web-1", owner: "s1", status: pending}) // stays in progress
		b.deliver(event.Added, pod("new", "s2", running))
		b.pass(60)
		b.want("")
		b.deliver(event.Deleted, object{resource: "pods", name: "web-1", owner: "s1", status: pending})
		b.pass(30)
		b.want("DELETED web-0 ×1 (4 changes of 3 in 1m0s, Current); DELETED web-1 ×2; ADDED web-0 ×1")
	})
	t.Run("nearer to a root", func(t *testing.T) {
		b := newBench(t, thirty())
		b.deliver(event.Deleted, pod("old", "s1", running))
		b.deliver(event.Added, pod("new", "", running))
		b.pass(30)
		b.want("DELETED web-0 ×1 (2 changes of 2 in 0s, Current); ADDED web-0 ×1")
	})
	t.Run("three", func(t *testing.T) {
		b := newBench(t, thirty())
		b.deliver(event.Deleted, pod("one", "s1", running))
		b.deliver(event.Added, pod("two", "s2", running))
		b.deliver(event.Deleted, pod("two", "s2", running))
		b.deliver(event.Added, pod("three", "", running))
		b.pass(30)
		b.want("DELETED web-0 ×1 (4 changes of 3 in 0s, Current); DELETED web-0 ×2 short-lived; ADDED web-0 ×1")
	})
}

// TestHasRoot checks that HasRoot is false for a group whose objects have different roots, and are in one group only
// because two of them had the same name.
func TestHasRoot(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Deleted, object{resource: "pods", name: "p", uid: "old", status: running})
	b.deliver(event.Added, object{resource: "replicasets", name: "rs", status: made})
	b.deliver(event.Added, object{resource: "pods", name: "p", uid: "new", owner: "rs", status: running})
	b.pass(30)
	if len(b.got) != 3 || b.got[0].Settled.Group.HasRoot {
		t.Errorf("got HasRoot although the objects have different roots: %s", b.describe())
	}
}

// TestHeartbeatInBatch checks that all events of a batch count as received before its heartbeat.
func TestHeartbeatInBatch(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Modified, object{resource: "configmaps", name: "a", spec: `"n":1`})
	b.pass(29)
	b.now = b.now.Add(time.Second)
	b.together(event.Event{Type: event.Heartbeat, Time: b.now}, b.event(event.Modified, object{resource: "configmaps", name: "a", spec: `"n":2`}))
	b.want("")
	b.pass(30)
	b.want("MODIFIED a ×2 (2 changes of 1 in 30s, Current)")
}

// TestLeft checks that objects of a target that is no longer watched are released, and others stay pending.
func TestLeft(t *testing.T) {
	in := func(e event.Event, namespace, name string) event.Event {
		e.Target.Namespace, e.Target.Name = namespace, name
		return e
	}
	for _, c := range []struct {
		status          event.Type
		namespace, name string
		want            string
	}{
		{event.Left, "a", "", "ADDED x ×1 (1 changes of 1 in 0s, Current, left); LEFT"},
		{event.Gone, "a", "", "ADDED x ×1 (1 changes of 1 in 0s, Current, left); GONE"},
		{event.Left, "b", "", "LEFT"},
		{event.Joined, "a", "", "JOINED"},
		{event.Joined, "b", "", "JOINED"},
		{event.Arrived, "b", "", "ARRIVED"},
		{event.Arrived, "c", "", "ADDED z ×1 (1 changes of 1 in 0s, Current, short); ARRIVED"}, // replaces c/z
	} {
		t.Run(string(c.status)+" "+c.namespace, func(t *testing.T) {
			b := newBench(t, thirty())
			cm := func(name string) event.Event {
				return b.event(event.Added, object{resource: "configmaps", name: name})
			}
			b.together(in(cm("x"), "a", ""), in(cm("z"), "c", "z"), b.event(event.Added, object{resource: "pods", name: "p"}))
			status := in(event.Event{Type: c.status, Time: b.now, Target: cm("m").Target}, c.namespace, c.name)
			b.together(status)
			b.t = t
			b.want(c.want)
		})
	}
}

// TestDisconnected checks that a group is not quiet while its watch is disconnected, until QuietPeriod after that, and
// while its watch relists.
func TestDisconnected(t *testing.T) {
	b := newBench(t, Options{QuietPeriod: 30 * time.Second, MaxWait: 2 * time.Minute})
	cm := func(n int) object { return object{resource: "configmaps", name: "a", spec: fmt.Sprintf(`"n":%d`, n)} }
	b.initial(cm(0))
	status := func(kind event.Type) {
		b.together(event.Event{Type: kind, Time: b.now, Target: b.event(event.Modified, cm(9)).Target})
		b.got = nil
	}
	status(event.Synced)
	b.pass(60)
	b.deliver(event.Modified, cm(1))
	status(event.Disconnected)
	b.deliver(event.Added, object{resource: "pods", name: "p", status: running}) // its watch is connected
	b.pass(60)
	b.want("ADDED p ×1 (1 changes of 1 in 0s, Current)")
	status(event.Reconnected)
	b.pass(10)
	b.deliver(event.Modified, cm(2))
	b.pass(29)
	b.want("")
	b.pass(1)
	b.want("MODIFIED a ×2 (2 changes of 1 in 1m10s, Current)")

	b.deliver(event.Modified, cm(3))
	status(event.Disconnected)
	b.pass(119)
	b.want("")
	b.pass(1)
	b.want("MODIFIED a ×1 (1 changes of 1 in 0s, Current, lost)")

	status(event.Reconnected)
	listed := b.event(event.Modified, cm(4))
	listed.Listed = true
	b.together(listed) // the list may contain more changes
	b.pass(60)
	b.want("")
	status(event.Gap)
	b.pass(1)
	b.want("MODIFIED a ×1 (1 changes of 1 in 0s, Current)")
}

// TestAdopted checks that an object whose owner is set later joins the owner's group.
func TestAdopted(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Added, object{resource: "pods", name: "p", status: running})
	b.deliver(event.Added, object{resource: "replicasets", name: "rs", status: made})
	b.deliver(event.Modified, object{resource: "pods", name: "p", owner: "rs", status: running})
	b.pass(30)
	b.want("ADDED rs ×1 (3 changes of 2 in 0s, Current); ADDED p ×2")
}

// TestLeftIsForgotten checks that the tracker forgets the objects of a target that is no longer watched.
func TestLeftIsForgotten(t *testing.T) {
	b := newBench(t, thirty())
	b.initial(object{resource: "pods", name: "p", owner: "rs", status: pulling})
	b.initial(object{resource: "replicasets", name: "rs", owner: "web", status: made})
	b.together(event.Event{Type: event.Left, Time: b.now, Target: b.event(event.Added, object{resource: "pods", name: "x"}).Target})
	if len(b.stage.tracker.owners) != 1 || len(b.stage.tracker.unhealthy) != 0 {
		t.Errorf("tracker still contains owners %v, unhealthy %v", b.stage.tracker.owners, b.stage.tracker.unhealthy)
	}
}

// TestUnknownStatus checks that the status of a custom resource without evidence is not reported as Current.
func TestUnknownStatus(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Added, object{resource: "settings", name: "a"})
	b.pass(30)
	b.want("ADDED a ×1 (1 changes of 1 in 0s, Unknown)")
}

// TestReturned checks that an object that was deleted and added again, as after a change of its labels, keeps its owner.
func TestReturned(t *testing.T) {
	b := newBench(t, thirty())
	rs := object{resource: "replicasets", name: "rs", owner: "web", status: made}
	b.initial(rs)
	b.deliver(event.Deleted, rs)
	b.deliver(event.Added, rs)
	b.pass(60)
	b.got = nil
	b.deliver(event.Modified, deploy(2, done)) // so that the tracker forgets deleted objects
	b.pass(600)
	b.got = nil
	b.deliver(event.Added, object{resource: "pods", name: "p", owner: "rs", status: running})
	b.deliver(event.Modified, deploy(3, done))
	b.pass(30)
	b.want("MODIFIED web ×1 (2 changes of 2 in 0s, Current); ADDED p ×1")
}
