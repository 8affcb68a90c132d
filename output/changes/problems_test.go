package changes

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/owner"
)

// TestProblemsOfClusters checks that the problems of each cluster are shown when its initial objects are complete, and that a
// cluster that leaves has no problems.
func TestProblemsOfClusters(t *testing.T) {
	at := func(cluster string, e event.Event) event.Event {
		e.Target.Cluster, e.Target.Namespace = cluster, ""
		return e
	}
	mark := func(cluster string, kind event.Type, count int) event.Event {
		return at(cluster, event.Event{Type: kind, Target: pods, Count: count, Time: podAtStart(t, "x", "Pending", `"conditions":[]`).Time})
	}
	loop := podAtStart(t, "x7", "Running", `"conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}]`)
	// The clock of the cluster is ahead of the local one.
	loop.Object = testobject.Parse(t, strings.Replace(loop.Object.Raw(), "2026-01-31", "2026-02-01", 1))
	ready := podAtStart(t, "ready", "Running", `"conditions":[{"type":"Ready","status":"True"}]`)
	var out bytes.Buffer
	o := options(0)
	o.ShowProblems = true
	v := New(&out, o)
	for _, e := range []event.Event{
		mark("eu", event.Joined, 0), mark("us", event.Joined, 0), at("us", loop), mark("us", event.Synced, 1),
		at("eu", ready), mark("eu", event.Synced, 1),
	} {
		if err := v.Deliver(t.Context(), []event.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	text := out.String()
	bad, good := strings.Index(text, " ✗ us deploy/x7"), strings.Index(text, " = eu: no problems")
	if bad < 0 || good < bad {
		t.Errorf("want the problem of us, then no problems of eu; got\n%s", text)
	}
	if err := v.Deliver(t.Context(), []event.Event{mark("us", event.Left, 0)}); err != nil {
		t.Fatal(err)
	}
	if lines := v.DescribeProblems(loop.Time); len(lines) != 1 || !strings.Contains(lines[0], "no problems") {
		t.Errorf("got problems of a cluster that left: %q", lines)
	}
}

// TestNoHealth checks that no problems are claimed to be absent if the watched resources have no status.
func TestNoHealth(t *testing.T) {
	for _, test := range []struct {
		kinds []string
		want  string
	}{
		{[]string{"ConfigMap"}, "the watched resources have no health status"},
		{[]string{"ConfigMap", "Secret", "Event"}, "the watched resources have no health status"},
		{[]string{"ConfigMap", "Pod"}, "no problems"},
	} {
		var out bytes.Buffer
		o := options(0)
		o.ShowProblems, o.Targets = true, nil
		var events []event.Event
		for _, kind := range test.kinds {
			target := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: strings.ToLower(kind) + "s"}, kind, true), Namespace: "shop"}
			o.Targets = append(o.Targets, target)
			events = append(events, event.Event{Type: event.Synced, Target: target, Count: 1, Time: time.Unix(1e9, 0)})
		}
		v := New(&out, o)
		if err := v.Deliver(t.Context(), events); err != nil {
			t.Fatal(err)
		}
		if got := v.DescribeProblems(time.Unix(1e9, 0)); len(got) != 1 || got[0] != test.want {
			t.Errorf("%s: got %q, want %q", test.kinds, got, test.want)
		}
		if got := strings.Contains(out.String(), "no problems"); got != strings.Contains(test.want, "no problems") {
			t.Errorf("%s: got\n%s", test.kinds, &out)
		}
	}
}

// TestFoldClusters checks that changes are only counted for a cause in the same cluster, even if two clusters have the same objects
// with the same UIDs, because both were restored from the same backup.
func TestFoldClusters(t *testing.T) {
	deploy := event.Target{Mapping: deployments.Mapping}
	sets := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, "ReplicaSet", true)}
	all := event.Target{Mapping: pods.Mapping}
	version := 1
	make := func(apiVersion, kind, owner, rest string) event.Object {
		version++
		owners := ""
		if owner != "" {
			owners = fmt.Sprintf(`,"ownerReferences":[{"apiVersion":"apps/v1","kind":%q,"name":"cart","uid":%[1]q,"controller":true}]`, owner)
		}
		return testobject.Parse(t, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":"cart","namespace":"shop","uid":%[2]q,"generation":1,"resourceVersion":"%d","creationTimestamp":"2026-01-31T08:00:00Z"%s},%s}`, apiVersion, kind, version, owners, rest))
	}
	workload := func(image string) event.Object {
		return make("apps/v1", "Deployment", "", `"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"cart","image":"`+image+`"}]}}},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"}]}`)
	}
	set := func(n int) event.Object {
		return make("apps/v1", "ReplicaSet", "Deployment", fmt.Sprintf(`"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"fullyLabeledReplicas":1,"readyReplicas":1,"availableReplicas":%d}`, n))
	}
	pod := func(address string) event.Object {
		return make("v1", "Pod", "ReplicaSet", `"status":{"phase":"Running","podIP":"`+address+`","conditions":[{"type":"Ready","status":"True"}]}`)
	}
	var out bytes.Buffer
	o := options(0)
	o.ShowProblems, o.Fold = true, true // the targets of several clusters come with Joined events
	o.ShortName = func(r schema.GroupVersionResource) string {
		return map[string]string{"deployments": "deploy", "replicasets": "rs", "pods": "po"}[r.Resource]
	}
	v, now := New(&out, o), at
	deliver := func(cluster string, e event.Event) {
		t.Helper()
		e.Target.Cluster, e.Time = cluster, now
		if err := v.Deliver(t.Context(), []event.Event{e}); err != nil {
			t.Fatal(err)
		}
	}
	change := func(cluster string, target event.Target, before, after event.Object) {
		t.Helper()
		now = now.Add(100 * time.Millisecond)
		deliver(cluster, event.Event{Type: event.Modified, Target: target, Old: before, Object: after})
	}
	old, oldSet, oldPod := workload("cart:1"), set(0), pod("10.0.0.1")
	for _, cluster := range []string{"eu", "us"} {
		for _, target := range []event.Target{deploy, sets, all} {
			deliver(cluster, event.Event{Type: event.Joined, Target: target})
			deliver(cluster, event.Event{Type: event.Added, Initial: true, Target: target, Object: map[event.Target]event.Object{deploy: old, sets: oldSet, all: oldPod}[target]})
			deliver(cluster, event.Event{Type: event.Synced, Target: target, Count: 1})
		}
	}
	change("eu", deploy, old, workload("cart:2"))
	change("eu", sets, oldSet, set(1))
	change("us", all, oldPod, pod("10.9.9.9")) // has no cause in this cluster
	change("eu", all, oldPod, pod("10.0.0.2"))
	v.FlushAll(now.Add(time.Minute))
	text := out.String()
	for _, want := range []string{" ~ eu deploy/cart  ", " > eu deploy/cart  rollout done within 1 s; 2 changes", " ~ us po/cart  status.podIP  10.0.0.1 → 10.9.9.9"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("got %q %d times, want once:\n%s", want, strings.Count(text, want), text)
		}
	}
	if strings.Contains(text, "> us") || strings.Contains(text, "~ eu po/") {
		t.Errorf("a change was counted for a cause in another cluster:\n%s", text)
	}

	// The event of a created object may arrive before the event of its cause, because two watches are independent.
	out.Reset()
	made := testobject.Parse(t, strings.NewReplacer(`"uid":"ReplicaSet"`, `"uid":"second"`, `"name":"cart","namespace"`, `"name":"cart-2","namespace"`).Replace(set(0).Raw()))
	deliver("us", event.Event{Type: event.Added, Target: sets, Object: made})
	change("us", deploy, old, workload("cart:3"))
	v.FlushAll(now.Add(2 * time.Minute))
	if text := out.String(); strings.Contains(text, " + us rs/") || !strings.Contains(text, " > us deploy/cart  rollout not done after 2 min; 1 change") {
		t.Errorf("an object that was created early is not counted for its cause:\n%s", text)
	}
	out.Reset()
	again := testobject.Parse(t, strings.NewReplacer(`"uid":"Pod"`, `"uid":"new"`, `"name":"cart","namespace"`, `"name":"cart-3","namespace"`).Replace(pod("10.0.0.3").Raw()))
	now = now.Add(time.Hour) // too late to be a consequence
	deliver("us", event.Event{Type: event.Added, Target: all, Object: again})
	change("us", all, again, testobject.Parse(t, strings.Replace(again.Raw(), "10.0.0.3", "10.0.0.4", 1)))
	v.FlushAll(now.Add(time.Minute))
	text = out.String()
	if came, changed := strings.Index(text, " + us po/cart-3"), strings.Index(text, " ~ us po/cart-3"); came < 0 || changed < came {
		t.Errorf("the events are not in order:\n%s", text)
	}

	// An object that is deleted while its creation is buffered does not block the end of the rollout.
	out.Reset()
	now = now.Add(time.Hour)
	named := func(o event.Object, uid string) event.Object {
		return testobject.Parse(t, strings.NewReplacer(`"uid":"ReplicaSet"`, `"uid":"`+uid+`"`, `"uid":"Pod"`, `"uid":"`+uid+`"`, `"name":"cart","namespace"`, `"name":"`+uid+`","namespace"`).Replace(o.Raw()))
	}
	other := testobject.Parse(t, strings.Replace(named(pod("10.0.0.5"), "other").Raw(), `"kind":"ReplicaSet","name":"cart","uid":"ReplicaSet"`, `"kind":"ReplicaSet","name":"unknown","uid":"unknown"`, 1))
	deliver("us", event.Event{Type: event.Added, Target: all, Object: other})
	deliver("us", event.Event{Type: event.Added, Target: sets, Object: named(set(0), "third")})
	change("us", deploy, workload("cart:3"), workload("cart:4"))
	deliver("us", event.Event{Type: event.Deleted, Target: sets, Object: named(set(0), "third")})
	v.FlushAll(now) // at the time of the last event
	if text := out.String(); !strings.Contains(text, " + us po/other") || !strings.Contains(text, " > us deploy/cart  rollout done within 1 s; 2 changes") {
		t.Errorf("want the unrelated pod and the finished rollout:\n%s", text)
	}
}

// TestFoldWaitsForOwners checks that an event is buffered while the owners of its object are being looked up, and not longer. If
// they can't be looked up, the event is shown.
func TestFoldWaitsForOwners(t *testing.T) {
	deploy := owner.Owner{Ref: owner.Ref{GroupVersionKind: deployments.Mapping.GroupVersionKind, Namespace: "shop", Name: "cart", UID: "Deployment"}, Controller: true}
	for _, test := range []struct {
		name   string
		owners []owner.Owner
		want   string
	}{
		{"owners found", []owner.Owner{deploy}, " > deployments/cart  1 change followed, "},
		{"owners denied", nil, " ~ pods/cart-1  status.podIP  10.0.0.1 → 10.0.0.2"},
	} {
		known := false
		var out bytes.Buffer
		o := options(0)
		o.ShowProblems, o.Fold, o.Targets = true, true, []event.Target{deployments, pods}
		o.ShortName = nil
		o.LookupOwners = func(_ string, o owner.Ref) ([]owner.Owner, bool) {
			if o.Kind != "ReplicaSet" {
				return nil, true
			}
			return test.owners, known
		}
		v, now := New(&out, o), at
		deliver := func(e event.Event) {
			t.Helper()
			now = now.Add(10 * time.Millisecond)
			e.Time = now
			if err := v.Deliver(t.Context(), []event.Event{e}); err != nil {
				t.Fatal(err)
			}
		}
		workload := func(version, label string) event.Object {
			return testobject.Parse(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"cart","namespace":"shop","uid":"Deployment","resourceVersion":"`+version+`","labels":{"a":"`+label+`"}}}`)
		}
		pod := func(version, address string) event.Object {
			return testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"cart-1","namespace":"shop","uid":"Pod","resourceVersion":"`+version+`","creationTimestamp":"2026-01-31T08:00:00Z","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"cart-x","uid":"Set","controller":true}]},"status":{"phase":"Running","podIP":"`+address+`","conditions":[{"type":"Ready","status":"True"}]}}`)
		}
		deliver(event.Event{Type: event.Added, Initial: true, Target: deployments, Object: workload("1", "b")})
		deliver(event.Event{Type: event.Added, Initial: true, Target: pods, Object: pod("2", "10.0.0.1")})
		for _, target := range o.Targets {
			deliver(event.Event{Type: event.Synced, Target: target, Count: 1})
		}
		deliver(event.Event{Type: event.Modified, Target: deployments, Old: workload("1", "b"), Object: workload("3", "c")})
		deliver(event.Event{Type: event.Modified, Target: pods, Old: pod("2", "10.0.0.1"), Object: pod("4", "10.0.0.2")})
		if text := out.String(); strings.Contains(text, "podIP") {
			t.Errorf("%s: the event was shown before the lookup ended:\n%s", test.name, text)
		}
		known = true
		v.FlushDue(now)
		if test.owners != nil {
			v.FlushAll(now.Add(time.Minute))
		}
		if text := out.String(); !strings.Contains(text, test.want) {
			t.Errorf("%s: got\n%s\nwant %s", test.name, text, test.want)
		}
	}
}

// TestFoldWithOnly checks that the result of a rollout is shown even if Compare.Only hides the status.
func TestFoldWithOnly(t *testing.T) {
	var out bytes.Buffer
	o := options(0)
	o.ShowProblems, o.Fold = true, true
	o.ShortName = func(r schema.GroupVersionResource) string { return r.Resource }
	o.Targets = []event.Target{pods, deployments}
	spec, err := change.ParsePattern("spec")
	if err != nil {
		t.Fatal(err)
	}
	o.Compare.Only = change.Patterns{spec}
	v, now := New(&out, o), at
	deliver := func(of event.Target, kind event.Type, before, after event.Object) {
		t.Helper()
		now = now.Add(time.Second)
		if err := v.Deliver(t.Context(), []event.Event{{Type: kind, Target: of, Time: now, Old: before, Object: after}}); err != nil {
			t.Fatal(err)
		}
	}
	version := 1
	object := func(raw string) event.Object {
		version++
		return testobject.Parse(t, strings.Replace(raw, `"metadata":{`, fmt.Sprintf(`"metadata":{"name":"cart","namespace":"shop","resourceVersion":"%d","creationTimestamp":"2026-01-31T08:00:00Z",`, version), 1))
	}
	deploy := func(image string, updated int) event.Object {
		return object(fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"uid":"d","generation":%d},"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"cart","image":%q}]}}},"status":{"observedGeneration":%[1]d,"replicas":1,"updatedReplicas":%[3]d,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"}]}}`, 1+len(image)-len("cart:1"), image, updated))
	}
	pod := func(phase, ready string) event.Object {
		return object(fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"uid":"p","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"cart","uid":"d","controller":true}]},"spec":{},"status":{"phase":%q,"conditions":[{"type":"Ready","status":%q}]}}`, phase, ready))
	}
	old, rolling, rolled := deploy("cart:1", 1), deploy("cart:10", 0), deploy("cart:10", 1)
	pending, running := pod("Pending", "False"), pod("Running", "True")
	for _, target := range []event.Target{pods, deployments} {
		if target == deployments {
			deliver(target, event.Added, event.Object{}, old)
		}
		deliver(target, event.Synced, event.Object{}, event.Object{})
	}
	deliver(deployments, event.Modified, old, rolling)
	deliver(pods, event.Added, event.Object{}, pending)
	deliver(pods, event.Modified, pending, running)
	deliver(deployments, event.Modified, rolling, rolled)
	deliver(deployments, event.Modified, rolled, deploy("cart:10", 1)) // a change that is not shown
	v.FlushDue(now.Add(2 * time.Second))
	if text := out.String(); !strings.Contains(text, "rollout done in 3 s; 1 change; +1 pods") {
		t.Errorf("the result of the rollout is missing:\n%s", text)
	}
}

// TestInitialWarning checks that the initial problems wait for the lookup of Warnings, but not longer than maxLookupWait.
func TestInitialWarning(t *testing.T) {
	waits := podAtStart(t, "x7", "Pending", `"containerStatuses":[{"name":"web","state":{"waiting":{"reason":"ContainerCreating"}}}]`)
	waits.Object = testobject.Parse(t, strings.Replace(waits.Object.Raw(), "2026-01-31", "2026-01-30", 1)) // has been waiting for a day
	for _, isKnown := range []bool{true, false} {
		var out bytes.Buffer
		o, asking := options(0), true
		o.ShowProblems, o.Fold, o.Targets = true, true, []event.Target{waits.Target}
		o.HasPendingLookups = func() bool { return asking }
		o.LookupWarning = func(string, owner.Ref) (string, time.Time) {
			if asking {
				return "", time.Time{}
			}
			return `FailedMount: volume "config": configmap "shop" not found`, waits.Time
		}
		v := New(&out, o)
		if err := v.Deliver(t.Context(), []event.Event{waits, {Type: event.Synced, Target: waits.Target, Count: 1, Time: waits.Time}}); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "look") || strings.Contains(text, "FailedMount") {
			t.Errorf("problems were shown before the lookup ended:\n%s", text)
		}
		want := "no problems"
		if isKnown {
			asking, want = false, ` ◌ deploy/x7  FailedMount: volume "config": configmap "shop" not found`
		}
		v.FlushDue(waits.Time.Add(time.Second))
		v.FlushDue(waits.Time.Add(maxLookupWait))
		if text := out.String(); strings.Count(text, want) != 1 {
			t.Errorf("want %q once, got\n%s", want, text)
		}
	}
}

// TestFoldCrashLoop checks that a rollout has failed while its pod runs between two crashes, and is done when the crash loop ends by
// time.
func TestFoldCrashLoop(t *testing.T) {
	var out bytes.Buffer
	o := options(0)
	o.ShowProblems, o.Fold = true, true
	o.ShortName = func(r schema.GroupVersionResource) string { return r.Resource }
	o.Targets = []event.Target{pods, deployments}
	v := New(&out, o)
	deliver := func(second int, of event.Target, kind event.Type, before, after event.Object) {
		t.Helper()
		if err := v.Deliver(t.Context(), []event.Event{{Type: kind, Target: of, Time: at.Add(time.Duration(second) * time.Second), Old: before, Object: after}}); err != nil {
			t.Fatal(err)
		}
	}
	deploy := func(image string, version int) event.Object {
		return testobject.Parse(t, fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"cart","namespace":"shop","uid":"d","generation":%[1]d,"resourceVersion":"%[1]d","creationTimestamp":"2026-01-31T08:00:00Z"},"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"cart","image":%[2]q}]}}},`+
			`"status":{"observedGeneration":%[1]d,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"}]}}`, version, image))
	}
	clock := func(second int) string { return at.Add(time.Duration(second) * time.Second).UTC().Format(time.RFC3339) }
	pod := testobject.Parse(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"cart","namespace":"shop","uid":"p","resourceVersion":"9","creationTimestamp":"2026-01-31T08:00:00Z","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"cart","uid":"d","controller":true}]},`+
		`"spec":{},"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"cart","restartCount":3,"ready":true,"state":{"running":{"startedAt":"`+clock(3)+`"}},"lastState":{"terminated":{"reason":"Error","exitCode":1,"startedAt":"`+clock(-20)+`","finishedAt":"`+clock(0)+`"}}}]}}`)
	old := deploy("cart:1", 1)
	deliver(0, deployments, event.Added, event.Object{}, old)
	for _, target := range []event.Target{pods, deployments} {
		deliver(0, target, event.Synced, event.Object{}, event.Object{})
	}
	deliver(1, deployments, event.Modified, old, deploy("cart:2", 2))
	deliver(4, pods, event.Added, event.Object{}, pod)
	v.FlushDue(at.Add(12 * time.Second))
	if text := out.String(); !strings.Contains(text, "rollout failed after 11 s: po/cart CrashLoopBackOff (exit 1, 3 restarts)") {
		t.Errorf("the rollout has not failed:\n%s", text)
	}
	out.Reset()
	v.FlushDue(at.Add(42 * time.Second))
	if out.Len() > 0 {
		t.Errorf("the loop has not ended:\n%s", out.String())
	}
	v.FlushDue(at.Add(43 * time.Second)) // the loop ends: the present run lasts twice as long as the one before
	v.FlushDue(at.Add(45 * time.Second))
	if text := out.String(); !strings.Contains(text, "rollout done in 42 s") {
		t.Errorf("the result of the rollout is missing:\n%s", text)
	}
}
