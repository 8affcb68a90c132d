package inventory

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// TestClusters uses two clusters that are copies with equal UIDs. Problems and owners of one must not appear in the
// other, and its objects leave with its targets.
func TestClusters(t *testing.T) {
	deploys, sets := target("apps", "deployments", "Deployment"), target("apps", "replicasets", "ReplicaSet")
	s := newSeen(t, Options{Compare: &change.Options{Noise: change.DefaultNoise()}})
	deliver := func(cluster string, kind event.Type, on event.Target, o event.Object) {
		made := strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{"creationTimestamp":"2026-01-31T08:55:00Z",`, 1)
		e := of(kind, event.NewObject(o.Identity, made), 0)
		e.Target, e.Initial = on, kind == event.Added
		e.Target.Cluster = cluster
		s.deliver(e)
	}
	for _, cluster := range []string{"eu", "us"} {
		deliver(cluster, event.Added, deploys, part("Deployment", "d", "", 1, "", "maker", "", "{}"))
		deliver(cluster, event.Added, sets, part("ReplicaSet", "r", "d", 1, "", "maker", "", "{}"))
	}
	deliver("eu", event.Added, pods, part("Pod", "p", "r", 1, working, "kubelet", "status", "{}"))
	deliver("us", event.Added, pods, part("Pod", "p", "r", 2, crashing, "kubelet", "status", "{}"))
	deliver("us", event.Deleted, deploys, part("Deployment", "d", "", 1, "", "maker", "", "{}"))
	subjects := func() (all []string) {
		short := func(r schema.GroupResource) string { return r.Resource }
		for _, p := range s.Problems(start.Add(time.Minute), 10, change.Options{}) {
			all = append(all, p.Describe(start.Add(time.Minute), NameOptions{ShortName: short}).Subject)
		}
		return all
	}
	if got := subjects(); !slices.Equal(got, []string{"us deployments/d"}) {
		t.Errorf("%q", got)
	}
	if held, err := s.ListAt(Now, nil); err != nil || len(held) != 5 { // including the Deployment of eu
		t.Errorf("got %d objects, want 5; %v", len(held), err)
	}
	if !s.Has("eu", "d") || s.Has("asia", "d") {
		t.Error("Has found an object in the wrong cluster")
	}
	gone := pods
	gone.Cluster = "us"
	s.deliver(event.Event{Type: event.Left, Target: gone})
	if got := subjects(); len(got) > 0 {
		t.Errorf("got problems after the cluster left: %q", strings.Join(got, ", "))
	}
}
