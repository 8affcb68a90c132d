package page

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"
	"testing"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
)

// newFleet returns a Hub of several clusters, and a function that replaces the list of clusters.
func newFleet(members ...event.Cluster) (*Hub, func(...event.Cluster)) {
	var now atomic.Pointer[[]event.Cluster]
	set := func(members ...event.Cluster) { now.Store(&members) }
	set(members...)
	return New(Options{
		Title: "pods", Version: "test", Compare: change.Options{Noise: change.DefaultNoise()},
		Clusters: func() []event.Cluster { return *now.Load() },
		FetchEvents: func(_ context.Context, cluster string, o event.Object) ([]kubeevent.Event, error) {
			return []kubeevent.Event{{Type: "Normal", Reason: "Asked", Message: cluster + " " + o.Name, LastSeen: at(1)}}, nil
		},
	}), set
}

// in returns an event with a cluster.
func in(cluster string, e event.Event) event.Event {
	if e.Target.Mapping == nil {
		e.Target = pods
	}
	e.Target.Cluster = cluster
	return e
}

// TestClusters tests that objects with the same UID in two clusters are different objects, each with the dependents of
// its own cluster.
func TestClusters(t *testing.T) {
	t.Parallel()
	h, _ := newFleet(event.Cluster{Name: "eu", Started: true}, event.Cluster{Name: "us", Started: true}, event.Cluster{Name: "down", ConnectError: "refused"})
	s := serve(t, h)
	owned := func(name string) event.Object {
		return object("Pod", name, name, "1", `,"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"web","uid":"u1","controller":true}]},"spec":{},"status":{"phase":"Running"}`)
	}
	for _, cluster := range []string{"eu", "us"} {
		deliver(t, h, in(cluster, event.Event{Type: event.Joined, Time: at(0)}), in(cluster, added(pods, pod("web", "u1", "1", "Running"), 0)),
			in(cluster, added(pods, owned("of-"+cluster), 0)), in(cluster, event.Event{Type: event.Synced, Count: 2, Time: at(0)}))
	}
	for query, want := range map[string]string{
		"":                          "of-eu of-us web web",
		"cluster=eu":                "of-eu web",
		"cluster=us&name=web":       "web",
		"cluster=asia":              "",
		"where=cluster%20==%20'us'": "of-us web",
	} {
		if got := names(s.get(t, "/api/objects?"+query)); got != want {
			t.Errorf("%s: %q instead of %q", query, got, want)
		}
	}
	key := url.QueryEscape("us/pods/u1")
	m := s.get(t, "/api/object?key="+key)
	if row := message(m["row"].(map[string]any)); row.text("cluster") != "us" || row.text("key") != "us/pods/u1" {
		t.Error(row)
	}
	if all := m["owned"].([]any); len(all) != 1 || message(all[0].(map[string]any)).text("name") != "of-us" {
		t.Errorf("us/web owns %v", all)
	}
	about := s.get(t, "/api/about?key="+key)["items"].([]any)
	if got := message(about[0].(map[string]any)).text("message"); got != "us web" {
		t.Errorf("asked: %s", got)
	}
	hello := s.dial(t, "").read()
	if got := standingsOf(hello["clusters"]); got != "eu live; us live; down lost refused; " {
		t.Error(got)
	}
	if w := hello["watch"].(map[string]any); w["state"] != "degraded" {
		t.Errorf("with one that does not answer the watch is %v", w)
	}
}

// standingsOf are the clusters of a message, with how each is and why.
func standingsOf(list any) (text string) {
	for _, one := range list.([]any) {
		c := message(one.(map[string]any))
		text += c.text("name") + " " + c.text("state")
		if c["text"] != nil {
			text += " " + c.text("text")
		}
		text += "; "
	}
	return text
}

// TestClusterLeaves tests that viewers learn that a cluster has left, and that its objects are no longer looked up.
func TestClusterLeaves(t *testing.T) {
	t.Parallel()
	eu, us := event.Cluster{Name: "eu", Started: true}, event.Cluster{Name: "us", Started: true}
	h, areNow := newFleet(eu, us)
	s := serve(t, h)
	for _, cluster := range []string{"eu", "us"} {
		deliver(t, h, in(cluster, event.Event{Type: event.Joined, Time: at(0)}), in(cluster, added(pods, pod("web", "u1", "1", "Running"), 0)))
	}
	d := s.dial(t, "")
	d.read()
	areNow(eu)
	deliver(t, h, in("us", event.Event{Type: event.Left, Time: at(1)}))
	for m := d.read(); ; m = d.read() {
		if m.text("type") != "watch" {
			continue
		}
		target := message(m["target"].(map[string]any))
		if m.text("event") != "LEFT" || target.text("cluster") != "us" || target.text("state") != "left" {
			t.Errorf("%v", m)
		}
		break
	}
	if got := names(s.get(t, "/api/objects")); got != "web" {
		t.Error(got)
	}
}

// TestClusterColumns tests that cells of a cluster with other columns are below the right headers in all rows.
func TestClusterColumns(t *testing.T) {
	t.Parallel()
	h, _ := newFleet(event.Cluster{Name: "eu", Started: true}, event.Cluster{Name: "us", Started: true})
	s := serve(t, h)
	row := func(o event.Object, columns ...string) event.Object {
		definitions, cells := "", ""
		for i, c := range columns {
			if i > 0 {
				definitions, cells = definitions+",", cells+","
			}
			definitions += fmt.Sprintf(`{"name":%q,"type":"string","format":"","priority":0}`, c)
			cells += fmt.Sprintf(`%q`, c+" of "+o.Name)
		}
		return o.WithRow(`{"columnDefinitions":[` + definitions + `],"cells":[` + cells + `]}`)
	}
	deliver(t, h,
		in("eu", added(pods, row(pod("a", "u1", "1", "Running"), "Name", "Ready"), 0)),
		in("us", added(pods, row(pod("b", "u2", "1", "Running"), "Name", "Phase", "Ready"), 0)),
		in("eu", added(pods, row(pod("c", "u3", "1", "Running"), "Name", "Ready"), 0)))
	hello := s.dial(t, "").read()
	columns := ""
	for _, c := range hello["resources"].([]any)[0].(map[string]any)["columns"].([]any) {
		columns += message(c.(map[string]any)).text("name") + " "
	}
	if columns != "Name Ready Phase " {
		t.Fatal(columns)
	}
	items := s.get(t, "/api/objects")["items"].([]any)
	for i, want := range []string{"[Name of a Ready of a]", "[Name of b Ready of b Phase of b]", "[Name of c Ready of c <nil>]"} {
		cells := items[i].(map[string]any)["row"].(map[string]any)["cells"]
		if got := fmt.Sprint(cells); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
}
