package inventory

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// part returns an object that belongs to a Deployment, last written by a manager.
func part(kind, uid, owner string, version int, rest, manager, subresource, fields string) event.Object {
	api := map[string]string{"Pod": "v1", "Event": "v1"}[kind]
	if api == "" {
		api = "apps/v1"
	}
	owners := ""
	if owner != "" {
		owners = `,"ownerReferences":[{"apiVersion":"apps/v1","controller":true,"name":"` + owner + `","uid":"` + owner + `","kind":"` + map[bool]string{true: "ReplicaSet", false: "Deployment"}[kind == "Pod"] + `"}]`
	}
	id := &event.Identity{APIVersion: api, Kind: kind, Namespace: "shop", Name: uid, UID: types.UID(uid), ResourceVersion: fmt.Sprint(version)}
	return event.NewObject(id, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%[3]q,"namespace":"shop","uid":%[3]q,"resourceVersion":"%[4]d"%s,"managedFields":[`+
		`{"manager":"maker","operation":"Update","time":"2026-01-31T08:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:made":{}}}},`+
		`{"manager":%q,"operation":"Update","time":"2026-01-31T09:00:%02dZ","subresource":%q,"fieldsType":"FieldsV1","fieldsV1":%s}]}%s}`,
		api, kind, uid, version, owners, manager, version, subresource, fields, rest))
}

// TestCausedBy checks that intentional changes are distinguished from consequences and progress, and that consequences refer to their
// cause.
func TestCausedBy(t *testing.T) {
	s := newSeen(t, Options{Compare: &change.Options{Noise: change.DefaultNoise()}})
	deploys, sets, events := target("apps", "deployments", "Deployment"), target("apps", "replicasets", "ReplicaSet"), target("", "events", "Event")
	spec := func(n int) string { return fmt.Sprintf(`,"spec":{"image":"web:%d"}`, n) }
	status := func(n int) string { return fmt.Sprintf(`,"spec":{"image":"web:1"},"status":{"replicas":%d}`, n) }
	ofEvent := func(kind string) event.Object {
		return object("Event", "e"+kind, "e"+kind, "1", `},"involvedObject":{"apiVersion":"v1","kind":"Pod","name":"p","uid":"p"},"type":"`+kind+`","reason":"BackOff"`)
	}
	const image, replicas = `{"f:spec":{"f:image":{}}}`, `{"f:status":{"f:replicas":{}}}`
	for second, test := range []struct {
		what    string
		kind    event.Type
		target  event.Target
		o       event.Object
		initial bool
		want    string // whether it is intentional, the second of CausedBy, and the root
	}{
		{"it was there", event.Added, deploys, part("Deployment", "d", "", 1, spec(1), "maker", "", image), true, "false -1 "},
		{"it was there", event.Added, sets, part("ReplicaSet", "r", "d", 1, spec(1), "maker", "", image), true, "false -1 "},
		{"it was there", event.Added, pods, part("Pod", "p", "r", 1, spec(1), "maker", "", image), true, "false -1 "},
		{"a status without a cause", event.Modified, pods, part("Pod", "p", "r", 2, status(1), "kubelet", "status", replicas), false, "false -1 d"},
		{"kubectl set image", event.Modified, deploys, part("Deployment", "d", "", 2, spec(2), "kubectl-set", "", image), false, "true 4 "},
		{"its status", event.Modified, deploys, part("Deployment", "d", "", 3, `,"spec":{"image":"web:2"},"status":{"replicas":2}`, "maker", "status", replicas), false, "false 4 d"},
		{"a new ReplicaSet", event.Added, sets, part("ReplicaSet", "r2", "d", 3, spec(2), "maker", "", image), false, "false 4 d"},
		{"the controller scales it", event.Modified, sets, part("ReplicaSet", "r2", "d", 4, spec(3), "maker", "", image), false, "false 4 d"},
		{"a new pod", event.Added, pods, part("Pod", "p2", "r2", 5, spec(2), "maker", "", image), false, "false 4 d"},
		{"the old one goes", event.Deleted, pods, part("Pod", "p", "r", 6, status(1), "kubelet", "status", replicas), false, "false 4 d"},
		{"an edit of an owned object", event.Modified, pods, part("Pod", "p2", "r2", 7, spec(9), "kubectl-edit", "", image), false, "true 10 "},
		{"its status after that", event.Modified, pods, part("Pod", "p2", "r2", 8, `,"spec":{"image":"web:9"},"status":{"replicas":9}`, "kubelet", "status", replicas), false, "false 10 d"},
		{"a Warning", event.Added, events, ofEvent("Warning"), false, "true -1 d"},
		{"an Event", event.Added, events, ofEvent("Normal"), false, "false 4 d"},
		{"an object without an owner", event.Added, pods, object("Pod", "alone", "a", "1", `,"labels":{"app":"alone"}},"spec":{"x":1},"status":{"phase":"Pending"}`), false, "true 14 "},
		{"a scheduler gives it a node", event.Modified, pods, object("Pod", "alone", "a", "2", `,"labels":{"app":"alone"}},"spec":{"x":1,"nodeName":"n"},"status":{"phase":"Pending"}`), false, "false 14 a"},
		{"it starts to run", event.Modified, pods, object("Pod", "alone", "a", "3", `,"labels":{"app":"alone"}},"spec":{"x":1,"nodeName":"n"},"status":{"phase":"Running"}`), false, "false 14 a"},
	} {
		e := of(test.kind, test.o, second)
		e.Target, e.Initial = test.target, test.initial
		c := s.deliver(e)[0]
		lead := -1
		if c.CausedBy != nil {
			lead = int(c.CausedBy.Time.Sub(start) / time.Second)
		}
		if test.what == "a Warning" { // IntentionalOrWarning whatever caused it
			lead = -1
		}
		if got := fmt.Sprint(c.IntentionalOrWarning, lead) + " " + string(c.Root.UID); got != test.want {
			t.Errorf("%d, %s: %s, want %s", second, test.what, got, test.want)
		}
	}
}

// TestEffectWindow checks that changes long after the last consequence have another cause.
func TestEffectWindow(t *testing.T) {
	s := newSeen(t, Options{Compare: &change.Options{Noise: change.DefaultNoise()}})
	pod := func(kind event.Type, name, phase string, version, second int) event.Event {
		return of(kind, object("Pod", name, name, fmt.Sprint(version), `},"status":{"phase":"`+phase+`","n":`+fmt.Sprint(version)+`}`), second)
	}
	follows := func(name, phase string, version, second int) bool {
		return s.deliver(pod(event.Modified, name, phase, version, second))[0].CausedBy != nil
	}
	quiet := int(effectWindow / time.Second)
	s.deliver(pod(event.Added, "well", "Succeeded", 1, 0), pod(event.Added, "broken", "Failed", 1, 0))
	if !follows("well", "Succeeded", 2, quiet) || follows("well", "Succeeded", 3, quiet+1) {
		t.Error("want a cause of a healthy object's change within effectWindow, and none later")
	}
	if !follows("broken", "Failed", 2, quiet) || !follows("broken", "Failed", 3, 2*quiet) || follows("broken", "Failed", 4, 3*quiet+1) {
		t.Error("want a cause of a failed object's changes as long as they continue, and none later")
	}
}

// TestControllersOf checks that the manager of ownerReferences counts as the creator, not the one with the oldest entry.
func TestControllersOf(t *testing.T) {
	entry := func(manager, at, sub, fields string) string {
		return fmt.Sprintf(`{"manager":%q,"time":"2026-01-31T%sZ","subresource":%q,"fieldsV1":{%s}}`, manager, at, sub, fields)
	}
	owns := `"f:metadata":{"f:ownerReferences":{}}`
	for name, test := range map[string]struct {
		entries string
		want    map[string]bool
	}{
		"a later write":          {entry("kubectl-edit", "08:00:00", "", "") + "," + entry("operator", "09:00:00", "", owns), map[string]bool{"operator": true}},
		"a writer of the status": {entry("operator", "09:00:00", "", owns) + "," + entry("kubelet", "09:00:00", "status", ""), map[string]bool{"operator": true, "kubelet": true}},
		"without owner":          {entry("b", "09:00:00", "", "") + "," + entry("a", "08:00:00", "", ""), map[string]bool{"a": true}},
		"no managed fields":      {"", map[string]bool{"": true}},
	} {
		if got := controllersOf(`{"metadata":{"managedFields":[` + test.entries + `]}}`); !maps.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestRepeats checks that a pod that crashes repeatedly keeps the states from the beginning of the episode.
func TestRepeats(t *testing.T) {
	s := newSeen(t, Options{Compare: &change.Options{}})
	phases := []string{"Running", "Failed", "Pending"}
	s.deliver(of(event.Added, pod("a", "u1", "1", "Pending"), 0))
	var last Change
	for n := range 3 * maxStates {
		last = s.deliver(of(event.Modified, pod("a", "u1", fmt.Sprint(n+2), phases[n%3]), n+1))[0]
	}
	h, _ := s.History("pods/u1")
	for n, want := range []string{"1", "2", "3", "4"} {
		if got := h.States[n].Object.ResourceVersion; got != want || h.States[n].Repeat.Times > 1 {
			t.Errorf("state %d is %s, %+v", n, got, h.States[n].Repeat)
		}
	}
	if r := last.State.Repeat; r.Times != maxStates || !r.First.Equal(start.Add(3*time.Second)) || len(h.States) != maxStates {
		t.Errorf("%+v, of %d states", r, len(h.States))
	}
}

// TestEvictionCompare is TestRepeats without Options.Compare: states are only compared when there are too many.
func TestEvictionCompare(t *testing.T) {
	s := newSeen(t, Options{EvictionCompare: &change.Options{}})
	phases := []string{"Running", "Failed", "Pending"}
	s.deliver(of(event.Added, pod("a", "u1", "1", "Pending"), 0))
	for n := range 3 * maxStates {
		c := s.deliver(of(event.Modified, pod("a", "u1", fmt.Sprint(n+2), phases[n%3]), n+1))[0]
		if n < maxStates-1 && c.State.Repeat.Times > 0 {
			t.Fatalf("state %d was compared early", n)
		}
	}
	h, _ := s.History("pods/u1")
	for n, want := range []string{"1", "2", "3", "4"} {
		if got := h.States[n].Object.ResourceVersion; got != want || h.States[n].Repeat.Times > 1 {
			t.Errorf("state %d is %s, %+v", n, got, h.States[n].Repeat)
		}
	}
	last := h.States[len(h.States)-1].Repeat
	if last.Times != maxStates || !last.First.Equal(start.Add(3*time.Second)) || len(h.States) != maxStates {
		t.Errorf("%+v, of %d states", last, len(h.States))
	}
}

// TestNoRepeats checks that creations and deletions are not counted as repeats, and that a repeated Event is.
func TestNoRepeats(t *testing.T) {
	s := newSeen(t, Options{Compare: &change.Options{}})
	o := pod("a", "u1", "1", "Running")
	for n, c := range s.deliver(of(event.Added, o, 0), of(event.Deleted, o, 5), of(event.Added, o, 9)) {
		if r := c.State.Repeat; r != (Repeat{}) {
			t.Errorf("change %d: %+v", n, r)
		}
	}
	told := func(version string) event.Object {
		return object("Event", "e", "e", version, `},"reason":"BackOff","count":`+version)
	}
	for n, c := range s.deliver(of(event.Added, told("1"), 0), of(event.Modified, told("2"), 1)) {
		if got := c.State.Repeat.Times; got != n+1 {
			t.Errorf("Event %d: %d times", n, got)
		}
	}
}

// TestMaxFingerprints checks that Repeat is zero for changes beyond the maximum number of fingerprints.
func TestMaxFingerprints(t *testing.T) {
	s := newSeen(t, Options{Compare: &change.Options{}})
	s.deliver(of(event.Added, pod("a", "u1", "1", "Pending"), 0))
	for n := range maxFingerprints + 1 {
		o := object("Pod", "a", "u1", fmt.Sprint(n+2), fmt.Sprintf(`,"labels":{"l%d":""}}`, n))
		c := s.deliver(of(event.Modified, o, n))[0]
		if got, want := c.State.Repeat.Times, map[bool]int{true: 1}[n < maxFingerprints]; got != want {
			t.Errorf("change %d: counted %d times, want %d", n, got, want)
		}
	}
}

// TestEvictedSince checks that a state knows whether states before it were evicted.
func TestEvictedSince(t *testing.T) {
	s := newSeen(t, Options{Compare: &change.Options{}})
	s.deliver(of(event.Added, pod("a", "u1", "1", "Pending"), 0))
	for n := range 2 * maxStates {
		o := pod("a", "u1", fmt.Sprint(n+2), []string{"Running", "Failed"}[n%2])
		s.deliver(of(event.Modified, o, n+1), of(event.Modified, o, n+1)) // the second one changes nothing
	}
	h, _ := s.History("pods/u1")
	sum := 0
	for n, state := range h.States[1:] {
		missing := state.EvictedSince(h.States[n])
		if missing > 0 != (n == 2) { // after the first states
			t.Errorf("%[2]d states are missing before state %[1]d", n+1, missing)
		}
		sum += missing
	}
	if sum != h.Evicted || sum == 0 {
		t.Errorf("EvictedSince has a sum of %d, Evicted is %d", sum, h.Evicted)
	}
}
