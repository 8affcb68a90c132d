package resume

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// TestClusters checks a file for several clusters: the same name in two clusters is two objects,
// data of a cluster that is not added remains, and a different cluster under the same name is
// refused.
func TestClusters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f, err := OpenMultiCluster(path)
	if err != nil {
		t.Fatal(err)
	}
	at := func(cluster string) event.Target {
		target := pods
		target.Cluster = cluster
		return target
	}
	for _, cluster := range []string{"eu", "us"} {
		if fresh, err := f.AddCluster(cluster, Header{Server: cluster + ":1", Cluster: "uid-" + cluster, Selection: mine.Selection}); err != nil || !fresh {
			t.Errorf("%s: %t, %v", cluster, fresh, err)
		}
	}
	stage := f.NewStage(event.SinkFunc(func(context.Context, []event.Event) error { return nil }), func(err error) { t.Error(err) })
	added := func(cluster, version string) event.Event {
		id := &event.Identity{APIVersion: "v1", Kind: "Pod", Namespace: "a", Name: "web", UID: "same", ResourceVersion: version}
		return event.Event{Type: event.Added, Target: at(cluster), Object: event.NewObject(id, "")}
	}
	if err := stage.Deliver(t.Context(), []event.Event{added("eu", "5"), added("us", "900")}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}

	refused(t, path, mine, "it was made for several clusters, not for one: use another file, or delete it to start over")
	one := filepath.Join(t.TempDir(), "one")
	report(t, one, pods, "ADDED web/1/5")
	if _, err := OpenMultiCluster(one); err == nil || !strings.Contains(err.Error(), "it was made for one cluster, not for several") {
		t.Errorf("a file of one cluster: %v", err)
	}

	if f, err = OpenMultiCluster(path); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if fresh, err := f.AddCluster("eu", Header{Server: "eu:2", Cluster: "uid-eu", Selection: mine.Selection}); err != nil || fresh {
		t.Errorf("at another address: %t, %v", fresh, err)
	}
	if _, err := f.AddCluster("us", Header{Server: "us:1", Cluster: "rebuilt", Selection: mine.Selection}); err == nil || !strings.Contains(err.Error(), "it was made for another cluster (at us:1)") {
		t.Errorf("a cluster rebuilt at the same address: %v", err)
	}
	if fresh, err := f.AddCluster("asia", mine); err != nil || !fresh {
		t.Errorf("one more: %t, %v", fresh, err)
	}
	got := map[string]string{}
	for _, cluster := range []string{"eu", "us", "asia"} {
		if _, err := f.History(at(cluster), func(r event.ReportedObject) { got[cluster] += r.Name + "/" + r.ResourceVersion }); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(map[string]string{"eu": "web/5", "us": "web/900"}, got); diff != "" {
		t.Error(diff)
	}
	if o := f.OrphanedTargets("us", nil); len(o) != 1 || o[0].Cluster != "us" {
		t.Errorf("%v", o)
	}
}
