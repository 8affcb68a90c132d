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

// bench is a Stage with a recorder of its output.
type bench struct {
	t     *testing.T
	stage *Stage
	now   time.Time
	last  map[string]event.Object
	got   []event.Event
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

// one describes an object. of is the UID of its owner.
type one struct {
	resource, name, uid, of string
	status                  string // members of the status, as JSON
	spec                    string
}

var kinds = map[string]struct{ apiVersion, kind string }{
	"deployments": {"apps/v1", "Deployment"}, "replicasets": {"apps/v1", "ReplicaSet"}, "pods": {"v1", "Pod"}, "configmaps": {"v1", "ConfigMap"},
	"settings": {"x.io/v1", "ConfigMap"}, // serves the same objects
}

func (b *bench) event(kind event.Type, o one) event.Event {
	k := kinds[o.resource]
	version := fmt.Sprint(b.now.Sub(began) / time.Second)
	owners := ""
	if o.of != "" {
		owners = fmt.Sprintf(`"ownerReferences":[{"apiVersion":"apps/v1","kind":"X","name":"x","uid":%q,"controller":true}],`, o.of)
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

func (b *bench) deliver(kind event.Type, o one) {
	b.t.Helper()
	if err := b.stage.Deliver(b.t.Context(), []event.Event{b.event(kind, o)}); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) initial(o one) {
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

// said describes the events that were released since the last call.
func (b *bench) said() string {
	var all []string
	for _, e := range b.got {
		if e.Type.IsStatus() {
			all = append(all, string(e.Type))
			continue
		}
		text := fmt.Sprintf("%s %s", e.Type, e.Object.Name)
		switch s := e.Settled; {
		case s == nil:
			text += " at once"
		case s.IsFirst(&e):
			of := s.Group
			text += fmt.Sprintf(" ×%d (%d changes of %d in %s, %s%s)", s.Changes, of.Changes, len(of.Events), of.Until.Sub(of.Since), of.Status, cutText(of.FlushReason))
			for _, w := range of.Unhealthy {
				text += " " + w.Name + ":" + w.Message
			}
		default:
			text += fmt.Sprintf(" ×%d", s.Changes)
			if s.ShortLived {
				text += " came"
			}
		}
		all = append(all, text)
	}
	b.got = nil
	return strings.Join(all, "; ")
}

func cutText(c event.FlushReason) string {
	if c == "" {
		return ""
	}
	return ", " + string(c)
}

func (b *bench) want(want string) {
	b.t.Helper()
	if got := b.said(); got != want {
		b.t.Errorf("at %s: %s\nwant %s", b.now.Sub(began), got, want)
	}
}

func thirty() Options { return Options{QuietPeriod: 30 * time.Second, MaxWait: 10 * time.Minute} }

// TestMerge checks that changes within the quiet period become one event from the first state to the last.
func TestMerge(t *testing.T) {
	b := newBench(t, thirty())
	cm := func(n int) one { return one{resource: "configmaps", name: "a", spec: fmt.Sprintf(`"n":%d`, n)} }
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
		t.Errorf("from %s to %s", got[0].Old.Raw(), got[0].Object.Raw())
	}
	if text := b.stage.Status(); text != "" || b.stage.bytes != 0 || len(b.stage.byObject)+len(b.stage.byName) > 0 {
		t.Errorf("something waits: %q, %d bytes, %v", text, b.stage.bytes, b.stage.byObject)
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

func deploy(n int, status string) one {
	return one{resource: "deployments", name: "web", status: status, spec: fmt.Sprintf(`"replicas":1,"n":%d`, n)}
}

// TestGroup checks that owned objects are released with their root, in whatever order their events arrive, and not while
// the group is in progress.
func TestGroup(t *testing.T) {
	b := newBench(t, thirty())
	b.initial(deploy(1, done))
	b.deliver(event.Added, one{resource: "pods", name: "p2", of: "new", status: pending}) // before its owner
	b.deliver(event.Modified, deploy(2, rolling))
	b.deliver(event.Added, one{resource: "replicasets", name: "new", of: "web", status: made})
	b.deliver(event.Added, one{resource: "pods", name: "p3", of: "new", status: pending})
	b.deliver(event.Deleted, one{resource: "pods", name: "p3", of: "new", status: pending})
	b.pass(60) // pulling a large image
	b.want("")
	b.deliver(event.Modified, one{resource: "pods", name: "p2", of: "new", status: running})
	b.deliver(event.Modified, deploy(2, done))
	b.pass(30)
	b.want("MODIFIED web ×2 (7 changes of 4 in 1m0s, Current); ADDED p2 ×2; ADDED new ×1; DELETED p3 ×2 came")
}

// TestInProgressWithReason checks that an object in progress that reports a reason does not delay its group.
func TestInProgressWithReason(t *testing.T) {
	b := newBench(t, thirty())
	b.initial(deploy(1, done))
	b.deliver(event.Modified, deploy(2, rolling))
	b.deliver(event.Added, one{resource: "replicasets", name: "new", of: "web", status: made})
	b.deliver(event.Added, one{resource: "pods", name: "p2", of: "new", status: pulling})
	b.pass(30)
	b.want("MODIFIED web ×1 (3 changes of 3 in 0s, InProgress) p2:ImagePullBackOff : no such image; ADDED new ×1; ADDED p2 ×1")
}

// TestMaxWait checks that a group that never becomes quiet is released after MaxWait.
func TestMaxWait(t *testing.T) {
	b := newBench(t, Options{QuietPeriod: 30 * time.Second, MaxWait: time.Minute})
	for n := range 13 {
		b.deliver(event.Modified, one{resource: "configmaps", name: "a", spec: fmt.Sprintf(`"n":%d`, n)})
		b.pass(10)
	}
	b.want("MODIFIED a ×6 (6 changes of 1 in 50s, Current, max-settle); MODIFIED a ×6 (6 changes of 1 in 50s, Current, max-settle)")
}

// TestNoise checks that noise does not extend the quiet period.
func TestNoise(t *testing.T) {
	b := newBench(t, thirty())
	cm := func(n int) one { return one{resource: "configmaps", name: "a", spec: fmt.Sprintf(`"n":%d`, n)} }
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
	b.deliver(event.Deleted, one{resource: "configmaps", name: "a", uid: "one"})
	b.pass(20)
	b.deliver(event.Added, one{resource: "configmaps", name: "a", uid: "two"})
	b.deliver(event.Added, one{resource: "pods", name: "p", of: "two", status: running})
	b.pass(29)
	b.want("")
	b.pass(1)
	b.want("DELETED a ×1 (3 changes of 3 in 20s, Current); ADDED a ×1; ADDED p ×1")
}

// TestTwoResources checks that an object that two resources serve gets one event for each.
func TestTwoResources(t *testing.T) {
	b := newBench(t, thirty())
	for _, resource := range []string{"configmaps", "settings"} {
		b.initial(one{resource: resource, name: "a"})
	}
	for _, spec := range []string{`"n":1`, `"n":2`} {
		for _, resource := range []string{"configmaps", "settings"} {
			b.deliver(event.Modified, one{resource: resource, name: "a", spec: spec})
		}
	}
	b.pass(30)
	if len(b.got) != 2 || b.got[0].Target.Resource() == b.got[1].Target.Resource() {
		t.Errorf("%d events", len(b.got))
	}
	b.want("MODIFIED a ×2 (4 changes of 2 in 0s, Current); MODIFIED a ×2")
}

// TestInitial checks that initial objects are not buffered and do not overtake their predecessors.
func TestInitial(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Deleted, one{resource: "configmaps", name: "a", uid: "one"})
	e := b.event(event.Added, one{resource: "configmaps", name: "a", uid: "two"})
	e.Initial = true
	if err := b.stage.Deliver(t.Context(), []event.Event{e}); err != nil {
		t.Fatal(err)
	}
	b.want("DELETED a ×1 (1 changes of 1 in 0s, , short); ADDED a at once")
}

// TestFlush checks that Flush releases everything.
func TestFlush(t *testing.T) {
	b := newBench(t, thirty())
	b.initial(one{resource: "configmaps", name: "a"})
	b.deliver(event.Deleted, one{resource: "configmaps", name: "a"})
	b.deliver(event.Added, one{resource: "configmaps", name: "b"})
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
		b.deliver(event.Added, one{resource: "configmaps", name: fmt.Sprint("c", n), spec: `"x":"` + strings.Repeat("x", 4000) + `"`})
		if b.stage.bytes > o.MaxBytes {
			t.Fatalf("%d bytes wait", b.stage.bytes)
		}
	}
	if warned == 0 || warned > 20 || len(b.got) < 600 {
		t.Errorf("it was said %d times, and %d have gone on", warned, len(b.got))
	}
	for n, e := range b.got {
		if e.Object.Name != fmt.Sprint("c", n) || e.Settled.Group.FlushReason != event.FlushBufferFull {
			t.Fatalf("%d is %s, %q", n, e.Object.Name, e.Settled.Group.FlushReason)
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
	pod := func(uid, of, status string) one {
		return one{resource: "pods", name: "web-0", uid: uid, of: of, status: status}
	}
	t.Run("other owners", func(t *testing.T) {
		b := newBench(t, thirty())
		b.initial(one{resource: "pods", name: "web-1", of: "s1", status: running})
		b.deliver(event.Deleted, pod("old", "s1", running))
		b.deliver(event.Modified, one{resource: "pods", name: "web-1", of: "s1", status: pending}) // stays in progress
		b.deliver(event.Added, pod("new", "s2", running))
		b.pass(60)
		b.want("")
		b.deliver(event.Deleted, one{resource: "pods", name: "web-1", of: "s1", status: pending})
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
		b.want("DELETED web-0 ×1 (4 changes of 3 in 0s, Current); DELETED web-0 ×2 came; ADDED web-0 ×1")
	})
}

// TestHasRoot checks that HasRoot is false for a group that was only joined because of a name.
func TestHasRoot(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Deleted, one{resource: "pods", name: "p", uid: "old", status: running})
	b.deliver(event.Added, one{resource: "replicasets", name: "rs", status: made})
	b.deliver(event.Added, one{resource: "pods", name: "p", uid: "new", of: "rs", status: running})
	b.pass(30)
	if len(b.got) != 3 || b.got[0].Settled.Group.HasRoot {
		t.Errorf("the first stands for the others: %s", b.said())
	}
}

// TestHeartbeatInBatch checks that all events of a batch count as received before its heartbeat.
func TestHeartbeatInBatch(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Modified, one{resource: "configmaps", name: "a", spec: `"n":1`})
	b.pass(29)
	b.now = b.now.Add(time.Second)
	b.together(event.Event{Type: event.Heartbeat, Time: b.now}, b.event(event.Modified, one{resource: "configmaps", name: "a", spec: `"n":2`}))
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
		mark            event.Type
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
		t.Run(string(c.mark)+" "+c.namespace, func(t *testing.T) {
			b := newBench(t, thirty())
			cm := func(name string) event.Event {
				return b.event(event.Added, one{resource: "configmaps", name: name})
			}
			b.together(in(cm("x"), "a", ""), in(cm("z"), "c", "z"), b.event(event.Added, one{resource: "pods", name: "p"}))
			mark := in(event.Event{Type: c.mark, Time: b.now, Target: cm("m").Target}, c.namespace, c.name)
			b.together(mark)
			b.t = t
			b.want(c.want)
		})
	}
}

// TestDisconnected checks that a group is not quiet while its watch is disconnected, and for QuietPeriod after that.
func TestDisconnected(t *testing.T) {
	b := newBench(t, Options{QuietPeriod: 30 * time.Second, MaxWait: 2 * time.Minute})
	cm := func(n int) one { return one{resource: "configmaps", name: "a", spec: fmt.Sprintf(`"n":%d`, n)} }
	b.initial(cm(0))
	mark := func(kind event.Type) {
		b.together(event.Event{Type: kind, Time: b.now, Target: b.event(event.Modified, cm(9)).Target})
		b.got = nil
	}
	mark(event.Synced)
	b.pass(60)
	b.deliver(event.Modified, cm(1))
	mark(event.Disconnected)
	b.deliver(event.Added, one{resource: "pods", name: "p", status: running}) // whose watch is connected
	b.pass(60)
	b.want("ADDED p ×1 (1 changes of 1 in 0s, Current)")
	mark(event.Reconnected)
	b.pass(10)
	b.deliver(event.Modified, cm(2))
	b.pass(29)
	b.want("")
	b.pass(1)
	b.want("MODIFIED a ×2 (2 changes of 1 in 1m10s, Current)")

	b.deliver(event.Modified, cm(3))
	mark(event.Disconnected)
	b.pass(119)
	b.want("")
	b.pass(1)
	b.want("MODIFIED a ×1 (1 changes of 1 in 0s, Current, lost)")

	mark(event.Reconnected)
	listed := b.event(event.Modified, cm(4))
	listed.Listed = true
	b.together(listed) // the other existing objects
	b.pass(60)
	b.want("")
	mark(event.Gap)
	b.pass(1)
	b.want("MODIFIED a ×1 (1 changes of 1 in 0s, Current)")
}

// TestAdopted checks that an object whose owner is set later joins the owner's group.
func TestAdopted(t *testing.T) {
	b := newBench(t, thirty())
	b.deliver(event.Added, one{resource: "pods", name: "p", status: running})
	b.deliver(event.Added, one{resource: "replicasets", name: "rs", status: made})
	b.deliver(event.Modified, one{resource: "pods", name: "p", of: "rs", status: running})
	b.pass(30)
	b.want("ADDED rs ×1 (3 changes of 2 in 0s, Current); ADDED p ×2")
}

// TestLeftIsForgotten checks that the tracker forgets the objects of a target that is no longer watched.
func TestLeftIsForgotten(t *testing.T) {
	b := newBench(t, thirty())
	b.initial(one{resource: "pods", name: "p", of: "rs", status: pulling})
	b.initial(one{resource: "replicasets", name: "rs", of: "web", status: made})
	b.together(event.Event{Type: event.Left, Time: b.now, Target: b.event(event.Added, one{resource: "pods", name: "x"}).Target})
	if len(b.stage.tracker.owners) != 1 || len(b.stage.tracker.unhealthy) != 0 {
		t.Errorf("known are %v and %v", b.stage.tracker.owners, b.stage.tracker.unhealthy)
	}
}
