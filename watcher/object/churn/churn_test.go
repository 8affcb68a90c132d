package churn

import (
	"fmt"
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

// object is one whose replicas a manager set.
func object(name string, version, replicas int, manager string) event.Object {
	content := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q,"resourceVersion":"%d","managedFields":[{"manager":%q,"operation":"Update","apiVersion":"apps/v1","time":"2001-09-09T01:46:%02dZ","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:replicas":{}}}}]},"spec":{"replicas":%d}}`, name, version, manager, version%60, replicas)
	return event.NewObject(&event.Identity{APIVersion: "apps/v1", Kind: "Deployment", Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(version)}, content)
}

// writer makes the changes of one object.
type writer struct {
	tally   *Tally
	name    string
	last    event.Object
	version int
}

func (w *writer) write(at time.Time, manager string, replicas int) *Finding {
	w.version++
	next := object(w.name, w.version, replicas, manager)
	e := event.Event{Type: event.Modified, Target: target, Object: next, Old: w.last, Time: at}
	if w.last.IsZero() {
		e.Type = event.Added
	}
	w.last = next
	var r change.Result
	if e.Type == event.Modified {
		r = change.Between(e.Old.Raw(), next.Raw(), change.Options{Noise: change.DefaultNoise()})
	}
	return w.tally.Observe(&e, &r)
}

// TestFight: two managers that undo each other are found, once, and again when it has stopped.
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
				if f := w.write(at, one.by, one.to); f != nil {
					found = append(found, f.String())
				}
			}
		}
	}
	fight(7)
	if len(found) != 1 || found[0] != "fight over spec.replicas: argocd 5 → 3, hpa 3 → 5, 4 times in 40 s" {
		t.Errorf("%q", found)
	}
	o := w.tally.Top(at)[0]
	if f := o.Findings(at); len(f) != 1 || f[0].String() != "fight over spec.replicas: argocd 5 → 3, hpa 3 → 5, 14 times in 4 min" {
		t.Errorf("%v", f)
	}
	if o.Times != 15 || o.LastMinute(at) != 3 || len(o.Fields()) != 1 || o.Fields()[0].Path != "spec.replicas" || len(o.Fields()[0].Managers) != 2 {
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

// TestNoFight: what changes often is not a fight because of that.
func TestNoFight(t *testing.T) {
	for name, writes := range map[string][]string{
		"one manager to and fro":          {"a", "a", "a", "a", "a", "a", "a", "a", "a", "a"},
		"two managers that do not undo":   {"a", "b", "a", "b", "a", "b", "a", "b", "a", "b"},
		"a correction, and another later": {"a", "b", "a", "a", "a"},
	} {
		w := &writer{tally: New(), name: "web"}
		for i, by := range writes {
			replicas := i % 2
			if name == "two managers that do not undo" {
				replicas = i
			}
			if f := w.write(begin.Add(time.Duration(i)*time.Second), by, replicas); f != nil {
				t.Errorf("%s: %s", name, f)
			}
		}
	}
}

// TestHotLoop: an object that is written and does not change.
func TestHotLoop(t *testing.T) {
	w := &writer{tally: New(), name: "web"}
	w.write(begin, "loop", 3)
	var found []string
	at := begin
	for range 60 {
		at = at.Add(5 * time.Second)
		if f := w.write(at, "loop", 3); f != nil {
			found = append(found, f.String())
		}
	}
	if len(found) != 1 || found[0] != "hot loop: written by loop with no change, 5 times in 20 s" {
		t.Errorf("%q", found)
	}
	o := w.tally.Top(at)[0]
	if f := o.Findings(at); len(f) != 1 || f[0].IsFight() || f[0].Times != 60 || o.Idle() != 60 {
		t.Errorf("%v, %d", f, o.Idle())
	}
	slow := &writer{tally: New(), name: "web"}
	for i := range 30 {
		if f := slow.write(begin.Add(time.Duration(i)*30*time.Second), "slow", 3); f != nil {
			t.Errorf("a write every 30 s: %s", f)
		}
	}
}

// TestBounded: of many objects, fields and managers those that change most stay.
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
	o := tally.Top(begin.Add(30 * time.Second))
	if len(o) > maxObjects || tally.Forgotten == 0 || o[0].Key.Name != "hot" || len(o[0].fields) > maxFields || len(o[0].fields[0].Managers) > maxManagers {
		t.Errorf("%d objects, %d forgotten, first %+v", len(o), tally.Forgotten, o[0])
	}
}
