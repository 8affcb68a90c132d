package churn

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

var (
	target = event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment", true)}
	begin  = time.Unix(1e9, 0)
)

// object returns a Deployment whose replicas a manager set.
func object(name string, version, replicas int, manager string) event.Object {
	content := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"resourceVersion":"%d","managedFields":[{"manager":%q,"operation":"Update","apiVersion":"apps/v1","time":"2001-09-09T01:46:%02dZ","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]},"spec":{"replicas":%d}}`, name, version, manager, version%60, replicas)
	return event.NewObject(&event.Identity{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version)}, content)
}

// writer changes one object and observes the changes.
type writer struct {
	tally   *Tally
	name    string
	last    event.Object
	version int
}

func (w *writer) write(at time.Time, manager string, replicas int) []*Finding {
	w.version++
	return w.observe(at, object(w.name, w.version, replicas, manager))
}

func (w *writer) observe(at time.Time, next event.Object) []*Finding {
	e := event.Event{Type: event.Modified, Target: target, Object: next, Old: w.last, Time: at}
	if w.last.IsZero() {
		e.Type = event.Added
	}
	w.last = next
	var r change.Result
	if e.Type == event.Modified {
		r = change.Diff(e.Old.Raw(), next.Raw(), change.Options{Noise: change.DefaultNoise()})
	}
	return w.tally.Observe(&e, &r)
}

// TestFight checks that a fight between two managers is reported once, and again if it restarts after a pause.
func TestFight(t *testing.T) {
	w := &writer{tally: New(), name: "web"}
	w.write(begin, "argocd", 3)
	at, found := begin, []string{}
	fight := func(n int) {
		for range n {
			for _, one := range []struct {
				by string
				to int
			}{{"hpa", 5}, {"argocd", 3}} {
				at = at.Add(20 * time.Second)
				for _, f := range w.write(at, one.by, one.to) {
					found = append(found, f.String())
				}
			}
		}
	}
	fight(7)
	if len(found) != 1 || found[0] != "fight over spec.replicas: argocd 5 → 3, hpa 3 → 5, 4 times in 60 s" {
		t.Errorf("%q", found)
	}
	o := w.tally.TopObjects(at)[0]
	if f := o.Findings(at); len(f) != 1 || f[0].String() != "fight over spec.replicas: argocd 5 → 3, hpa 3 → 5, 14 times in 4 min" {
		t.Errorf("%v", f)
	}
	if o.Count != 15 || o.LastMinute(at) != 3 || len(o.Fields()) != 1 || o.Fields()[0].Path != "spec.replicas" || len(o.Fields()[0].Managers) != 2 {
		t.Errorf("%+v", o)
	}
	at = at.Add(time.Hour)
	if f := o.Findings(at); len(f) > 0 {
		t.Errorf("%v", f)
	}
	fight(5)
	if len(found) != 2 {
		t.Errorf("%q", found)
	}
}

// TestSince checks that a fight began with the change that was undone first within the window, after earlier ones have
// left the window.
func TestSince(t *testing.T) {
	w := &writer{tally: New(), name: "web"}
	w.write(begin, "argocd", 3)
	minutes := func(n float64) time.Time { return begin.Add(time.Duration(n * float64(time.Minute))) }
	for i, at := range []float64{1, 2, 3, 4, 5, 12.5, 13} {
		w.write(minutes(at), [2]string{"hpa", "argocd"}[i%2], [2]int{5, 3}[i%2])
	}
	// The change at minute 3, which is the oldest one in the window, undid the one at minute 2.
	f := w.tally.TopObjects(minutes(13))[0].Findings(minutes(13))
	if len(f) != 1 || !f[0].Since.Equal(minutes(2)) || f[0].Count != 6 {
		t.Errorf("got %v, want one fight since minute 2", f)
	}
	// Two more leave the window at once.
	w.write(minutes(14.5), "argocd", 3)
	w.write(minutes(14.6), "hpa", 5)
	f = w.tally.TopObjects(minutes(15))[0].Findings(minutes(15))
	if len(f) != 1 || !f[0].Since.Equal(minutes(4)) || f[0].Count != 6 {
		t.Errorf("got %v, want one fight since minute 4", f)
	}
}

// TestNoFight checks that frequent changes alone are not a fight.
func TestNoFight(t *testing.T) {
	for name, writes := range map[string][]string{
		"one manager that undoes its own changes": {"a", "a", "a", "a", "a", "a", "a", "a", "a", "a"},
		"two managers without undone changes":     {"a", "b", "a", "b", "a", "b", "a", "b", "a", "b"},
		"one correction by another manager":       {"a", "b", "a", "a", "a"},
	} {
		w := &writer{tally: New(), name: "web"}
		for i, by := range writes {
			replicas := i % 2
			if name == "two managers without undone changes" {
				replicas = i
			}
			if f := w.write(begin.Add(time.Duration(i)*time.Second), by, replicas); f != nil {
				t.Errorf("%s: got %v, want no fight", name, f)
			}
		}
	}
}

// TestHotLoop checks an object that is written often and does not change.
func TestHotLoop(t *testing.T) {
	w := &writer{tally: New(), name: "web"}
	w.write(begin, "loop", 3)
	var found []string
	at := begin
	for range 60 {
		at = at.Add(5 * time.Second)
		for _, f := range w.write(at, "loop", 3) {
			found = append(found, f.String())
		}
	}
	if len(found) != 1 || found[0] != "hot loop: written by loop with no change, 5 times in 20 s" {
		t.Errorf("%q", found)
	}
	o := w.tally.TopObjects(at)[0]
	if f := o.Findings(at); len(f) != 1 || f[0].IsFight() || f[0].Count != 60 || o.NoOpWrites(at) != 60 {
		t.Errorf("%v, %d", f, o.NoOpWrites(at))
	}
	// Two hours later, the hot loop has ended, and an object that changes now comes first.
	other := &writer{tally: w.tally, name: "api"}
	at = at.Add(2 * time.Hour)
	other.write(at, "a", 1)
	if top := w.tally.TopObjects(at); o.NoOpWrites(at) != 0 || len(o.Findings(at)) > 0 || top[0].Key.Name != "api" {
		t.Errorf("%d, %v, %s", o.NoOpWrites(at), o.Findings(at), top[0].Key.Name)
	}
	slow := &writer{tally: New(), name: "web"}
	for i := range 30 {
		if f := slow.write(begin.Add(time.Duration(i)*30*time.Second), "slow", 3); f != nil {
			t.Errorf("a write every 30 s: %v", f)
		}
	}
}

// TestClusters checks that objects of the same name in two clusters are counted separately.
func TestClusters(t *testing.T) {
	tally := New()
	write := func(cluster, by string, n, old, now int) {
		where := target
		where.Cluster = cluster
		e := event.Event{Type: event.Modified, Target: where, Object: object("web", n+1, now, by), Old: object("web", n, old, by), Time: begin.Add(time.Duration(n) * time.Second)}
		r := change.Diff(e.Old.Raw(), e.Object.Raw(), change.Options{Noise: change.DefaultNoise()})
		if f := tally.Observe(&e, &r); f != nil {
			t.Errorf("%v", f)
		}
	}
	for n := range 20 {
		write("eu", "hpa", 2*n, 3, 5)
		write("us", "argocd", 2*n+1, 5, 3)
	}
	if top := tally.TopObjects(begin); len(top) != 2 || top[0].Count != 20 {
		t.Errorf("%+v", top)
	}
}

// fields returns a ConfigMap with fields that a manager set.
func fields(version int, manager string, data string, names ...string) event.Object {
	var owned []string
	for _, name := range names {
		owned = append(owned, fmt.Sprintf("%q:{}", "f:"+name))
	}
	content := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","resourceVersion":"%d","managedFields":[{"manager":%q,"operation":"Update","apiVersion":"v1","time":"2001-09-09T01:46:%02dZ","fieldsType":"FieldsV1","fieldsV1":{"f:data":{%s}}}]},"data":{%s}}`,
		version, manager, version%60, strings.Join(owned, ","), data)
	return event.NewObject(&event.Identity{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "c", ResourceVersion: fmt.Sprint(version)}, content)
}

// TestFightOverMoreFields checks that a fight over another field is reported only if it is between other managers.
func TestFightOverMoreFields(t *testing.T) {
	tally, version, found := New(), 0, []string{}
	last := fields(version, "maker", `"a":"1","b":"1"`, "a", "b")
	write := func(by, data string, names ...string) {
		version++
		now := fields(version, by, data, names...)
		e := event.Event{Type: event.Modified, Target: target, Object: now, Old: last, Time: begin.Add(time.Duration(version) * time.Second)}
		r := change.Diff(last.Raw(), now.Raw(), change.Options{Noise: change.DefaultNoise()})
		last = now
		for _, f := range tally.Observe(&e, &r) {
			found = append(found, f.String())
		}
	}
	for range 4 {
		write("one", `"a":"2","b":"1"`, "a")
		write("two", `"a":"1","b":"1"`, "a")
	}
	for range 4 {
		write("one", `"a":"2","b":"2"`, "a", "b")
		write("two", `"a":"1","b":"1"`, "a", "b")
	}
	if len(found) != 1 || len(tally.TopObjects(begin.Add(20 * time.Second))[0].Findings(begin.Add(20*time.Second))) != 2 {
		t.Errorf("%q", found)
	}
	for range 4 {
		write("three", `"a":"1","b":"1","c":"2"`, "c")
		write("two", `"a":"1","b":"1","c":"1"`, "c")
	}
	if len(found) != 2 || !strings.HasPrefix(found[1], "fight over data.c: three 1 → 2, two 2 → 1, ") {
		t.Errorf("%q", found)
	}
}

// TestFields checks that fights over two fields are found, even after more fields changed than fit.
func TestFields(t *testing.T) {
	tally, found, version := New(), []string{}, 0
	var last event.Object
	write := func(by, data string, names ...string) {
		version++
		now := fields(version, by, data, names...)
		e := event.Event{Type: event.Modified, Target: target, Object: now, Old: last, Time: begin.Add(time.Duration(version) * time.Second)}
		if last.IsZero() {
			e.Type = event.Added
		}
		last = now
		var r change.Result
		if e.Type == event.Modified {
			r = change.Diff(e.Old.Raw(), now.Raw(), change.Options{Noise: change.DefaultNoise()})
		}
		for _, f := range tally.Observe(&e, &r) {
			found = append(found, f.String())
		}
	}
	write("maker", `"a":"1","b":"1"`, "a", "b")
	for n := range 2 * maxFields {
		write("maker", fmt.Sprintf(`"a":"1","b":"1","x%d":"1"`, n), fmt.Sprint("x", n))
	}
	for range 4 {
		write("one", `"a":"2","b":"2"`, "a", "b")
		write("two", `"a":"1","b":"1"`, "a", "b")
	}
	if !slices.Equal(found, []string{"fight over data.a and 1 more: one 1 → 2, two 2 → 1, 4 times in 3 s"}) {
		t.Errorf("%q", found)
	}
	now := begin.Add(time.Duration(version) * time.Second)
	top := tally.TopFields(now)
	if len(top) != maxFields || top[0].Field.Path != "data.a" || top[1].Field.Path != "data.b" || top[0].Field.LastMinute(now) != 8 {
		t.Errorf("%d, %+v", len(top), top[0].Field)
	}
	managers := tally.TopManagers(now)
	if m := managers[0]; len(managers) != 4 || m.Name != "maker" || m.Count != 2*maxFields || m.Objects != 1 || managers[1].TopField.Field == nil || managers[1].TopField.Field.Path != "data.a" {
		t.Errorf("%d, %+v", len(managers), managers[0])
	}
}

// TestBounded checks that objects, fields and managers are limited, and that the most active object remains.
func TestBounded(t *testing.T) {
	tally := New()
	hot := &writer{tally: tally, name: "hot"}
	for i := range 3 * maxObjects {
		at := begin.Add(time.Duration(i) * time.Millisecond)
		if i%1000 == 0 {
			hot.write(at, fmt.Sprint("m", i), i)
		}
		w := &writer{tally: tally, name: fmt.Sprint("o", i)}
		w.write(at, "a", 1)
	}
	o := tally.TopObjects(begin.Add(30 * time.Second))
	if len(o) > maxObjects || tally.EvictedObjects == 0 || o[0].Key.Name != "hot" || len(o[0].fields) > maxFields || len(o[0].fields[0].Managers) > maxManagers {
		t.Errorf("%d objects, %d evicted, first %+v", len(o), tally.EvictedObjects, o[0])
	}
}

// TestMemory checks that the counts do not retain the text of the objects.
func TestMemory(t *testing.T) {
	const objects, size = 50, 1 << 20
	tally := New()
	for i := range objects {
		w := &writer{tally: tally, name: fmt.Sprint("web-", i)}
		for replicas := range 3 {
			o := object(w.name, replicas+1, replicas, "hpa")
			text := strings.TrimSuffix(o.Raw(), "}") + `,"data":{"big":"` + strings.Repeat("x", size) + `"}}`
			w.observe(begin, event.NewObject(o.Identity, text))
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > objects*size/2 {
		t.Errorf("%d bytes retained after %d changes", m.HeapAlloc, 2*objects)
	}
	runtime.KeepAlive(tally)
}

// TestManyFields changes more fields at once than fit. The first ones stay, and are fought over. The others are counted as
// uncounted changes.
func TestManyFields(t *testing.T) {
	const keys, writes = maxFields + 4, 10
	tally, found := New(), 0
	var names []string
	for n := range keys {
		names = append(names, fmt.Sprintf("k%02d", n))
	}
	write := func(version int, by, value string) event.Object {
		var data []string
		for _, name := range names {
			data = append(data, fmt.Sprintf("%q:%q", name, value))
		}
		return fields(version, by, strings.Join(data, ","), names...)
	}
	last := write(1, "bob", "1")
	for n := range writes {
		now := write(n+2, [2]string{"alice", "bob"}[n%2], fmt.Sprint((n+2)%2))
		e := event.Event{Type: event.Modified, Target: target, Object: now, Old: last, Time: begin.Add(time.Duration(n) * time.Second)}
		r := change.Diff(last.Raw(), now.Raw(), change.Options{Noise: change.DefaultNoise()})
		last = now
		found += len(tally.Observe(&e, &r))
	}
	now := begin.Add(writes * time.Second)
	o := tally.TopObjects(now)[0]
	if found != 1 || len(o.Findings(now)) != maxFields || o.Fields()[0].Count != writes || o.MoreFields != 4 || tally.UncountedChanges != 4*writes {
		t.Errorf("%d fights, first field changed %d times, %d more fields, %d uncounted changes", found, o.Fields()[0].Count, o.MoreFields, tally.UncountedChanges)
	}
	for _, m := range tally.TopManagers(now) {
		if m.Objects != 1 || m.Count != writes/2 || m.TopField.Field == nil || len(m.Findings) != maxFields {
			t.Errorf("manager %s: %d objects, %d writes", m.Name, m.Objects, m.Count)
		}
	}
}
