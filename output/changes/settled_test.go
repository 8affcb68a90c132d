package changes

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/runtime/schema"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// settledEvent returns an event of a settled object. Its content is metadata and before or after, in JSON.
func settledEvent(t *testing.T, kind event.Type, r, k, metadata, before, after string) event.Event {
	t.Helper()
	resource := schema.GroupVersionResource{Version: "v1", Resource: r}
	apiVersion := "v1"
	if r == "deployments" {
		resource.Group, apiVersion = "apps", "apps/v1"
	}
	object := func(rest string) event.Object {
		return testobject.Parse(t, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"default","creationTimestamp":"2026-01-31T08:00:00Z",%s},%s}`, apiVersion, k, metadata, rest))
	}
	e := event.Event{
		Type: kind, Time: time.Date(2026, 1, 31, 9, 0, 42, 0, time.UTC), Target: event.Target{Mapping: event.NewMapping(resource, k, true)},
		Object:  object(after),
		Settled: &event.Settled{Since: time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC), Changes: 3},
	}
	if before != "" {
		e.Old = object(before)
	}
	return e
}

// settle adds events to a group that settled.
func settle(of *event.SettledGroup, events ...event.Event) []event.Event {
	of.Since, of.Until = events[0].Settled.Since, events[0].Time
	for i := range events {
		events[i].Settled.Group = of
		of.Changes += events[i].Settled.Changes
	}
	of.Events = events
	return events
}

// TestSettled checks that a settled group is shown once, with intentional changes, restarts and problems.
func TestSettled(t *testing.T) {
	const pod = `"name":"p1","uid":"p1","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"rs","controller":true}]`
	deploy := func() event.Event {
		return settledEvent(t, event.Modified, "deployments", "Deployment", `"name":"web","uid":"web"`,
			`"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a:1"}]}}},"status":{"replicas":1}`,
			`"spec":{"template":{"spec":{"containers":[{"name":"c","image":"a:2"}]}}},"status":{"replicas":2}`)
	}
	came := func() event.Event { return settledEvent(t, event.Added, "pods", "Pod", pod, "", `"status":{}`) }
	gone := func() event.Event {
		e := settledEvent(t, event.Deleted, "pods", "Pod", strings.ReplaceAll(pod, "p1", "p2"), "", `"status":{}`)
		e.Settled.ShortLived = true
		return e
	}
	set := func() event.Event {
		return settledEvent(t, event.Added, "replicasets", "ReplicaSet", `"name":"rs","uid":"rs","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"web","controller":true}]`, "", `"status":{}`)
	}
	edited := func() event.Event {
		return settledEvent(t, event.Modified, "configmaps", "ConfigMap", `"name":"owned","uid":"cm"`, `"data":{"password":"hush"}`, `"data":{"password":"hush, too"}`)
	}
	for name, test := range map[string]struct {
		of     event.SettledGroup
		events []event.Event
		passes func(n int) bool // the filter
		want   string
	}{
		"a rollout between two crashes of a pod": {
			event.SettledGroup{HasRoot: true, Status: "Current", UnhealthyCount: 2, Unhealthy: []event.UnhealthyObject{
				{Target: pods, Name: "p0", Status: "Failed", Message: "Evicted", IsFinished: true}, {Target: pods, Name: "p1", Status: "Failed", Message: "CrashLoopBackOff (exit 1, 3 restarts)"}}},
			[]event.Event{deploy(), came()}, nil,
			"09:00:00 ~ deploy/web  spec.template.spec.containers[name=c].image  a:1 → a:2  unknown\n" +
				"09:00:42 > deploy/web  rollout took 42 s, failed: po/p1 CrashLoopBackOff (exit 1, 3 restarts); +1 po\n" +
				"           po/p0  Failed: Evicted\n" +
				"           po/p1  Failed: CrashLoopBackOff (exit 1, 3 restarts)\n",
		},
		"a rollout": {
			event.SettledGroup{HasRoot: true, Status: "Current"}, []event.Event{deploy(), came(), gone()}, nil,
			"09:00:00 ~ deploy/web  spec.template.spec.containers[name=c].image  a:1 → a:2  unknown\n" +
				"09:00:42 > deploy/web  rollout took 42 s, ready; +2 -1 po\n",
		},
		"unknown status": {
			event.SettledGroup{HasRoot: true, Status: "Unknown", Message: "no evidence"}, []event.Event{deploy(), came()}, nil,
			"09:00:00 ~ deploy/web  spec.template.spec.containers[name=c].image  a:1 → a:2  unknown\n" +
				"09:00:42 > deploy/web  rollout took 42 s; +1 po\n",
		},
		"kinds in the order in which they are watched": {
			event.SettledGroup{HasRoot: true, Status: "Current"}, []event.Event{deploy(), came(), set(), gone()}, nil,
			"09:00:00 ~ deploy/web  spec.template.spec.containers[name=c].image  a:1 → a:2  unknown\n" +
				"09:00:42 > deploy/web  rollout took 42 s, ready; +1 rs; +2 -1 po\n",
		},
		"failed": {
			event.SettledGroup{HasRoot: true, Status: "Failed", Message: "too\x1blate", UnhealthyCount: 3, Unhealthy: []event.UnhealthyObject{{Target: pods, Name: "p1", Status: "InProgress", Message: "no such\nimage"}}}, []event.Event{deploy(), came()}, nil,
			"09:00:00 ~ deploy/web  spec.template.spec.containers[name=c].image  a:1 → a:2  unknown\n" +
				"09:00:42 > deploy/web  rollout took 42 s, failed: too\\u001blate; +1 po\n" +
				"           po/p1  InProgress: no such\\u000aimage\n" +
				"           … 2 more not ready\n",
		},
		"not quiet": {
			event.SettledGroup{HasRoot: true, Status: "Current", FlushReason: event.FlushMaxSettle}, []event.Event{edited()}, nil,
			"09:00:42 ~ cm/owned  data.password  <4 bytes> → <9 bytes>  unknown\n" +
				"09:00:42 > cm/owned  3 changes in 42 s, not quiet yet (--max-settle)\n",
		},
		"intentional change of an owned object": {
			event.SettledGroup{HasRoot: true, Status: "Current"}, []event.Event{deploy(), edited()}, nil,
			"09:00:00 ~ deploy/web  spec.template.spec.containers[name=c].image  a:1 → a:2  unknown\n" +
				"09:00:00 ~ cm/owned  data.password  <4 bytes> → <9 bytes>  unknown\n" +
				"09:00:42 > deploy/web  rollout took 42 s, ready\n",
		},
		"the first event is filtered out": {
			event.SettledGroup{HasRoot: true, Status: "Current"}, []event.Event{deploy(), came(), edited()}, func(n int) bool { return n == 2 },
			"09:00:42 ~ cm/owned  data.password  <4 bytes> → <9 bytes>  unknown\n",
		},
		"the root did not change": {
			event.SettledGroup{}, []event.Event{came(), gone()}, nil,
			"09:00:42 + po/p1  InProgress: Pod phase not available\n09:00:42 - po/p2  was InProgress, 60 min old\n09:00:42 > po/p1  6 changes in 42 s\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			o := options(0)
			o.ShortName = testobject.ShortName
			o.Targets = []event.Target{deploy().Target, set().Target, pods}
			path, err := change.ParsePattern("data.password")
			if err != nil {
				t.Fatal(err)
			}
			o.Compare.Masks = &change.Masks{Paths: change.Patterns{path}}
			v := New(&out, o)
			for n, e := range settle(&test.of, test.events...) {
				if test.passes != nil && !test.passes(n) {
					continue
				}
				if err := v.Deliver(t.Context(), []event.Event{e}); err != nil {
					t.Fatal(err)
				}
			}
			if got := out.String(); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// TestSettledIsReleased checks that the view does not retain a group that it has shown.
func TestSettledIsReleased(t *testing.T) {
	v := New(new(bytes.Buffer), Options{})
	show := func() weak.Pointer[event.SettledGroup] {
		of := &event.SettledGroup{HasRoot: true}
		events := settle(of, settledEvent(t, event.Modified, "configmaps", "ConfigMap", `"name":"a"`, `"data":{"k":"1"}`, `"data":{"k":"2"}`))
		if err := v.Deliver(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		return weak.Make(of)
	}
	told := show()
	runtime.GC()
	if told.Value() != nil {
		t.Error("the group is still in memory")
	}
	runtime.KeepAlive(v)
}
