package live

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/kubeevent"
)

// in returns e as an event about pods of a cluster.
func in(cluster string, e event.Event) event.Event {
	e.Target = podsOf
	e.Target.Cluster = cluster
	return e
}

// newMultiClusterScreen returns a screen for the clusters in members. An expression in its filter is the name of a cluster.
func newMultiClusterScreen(t *testing.T, width, height int, members *[]event.Cluster) *screen {
	t.Helper()
	return newScreen(t, width, height, func(o *Options) {
		o.Targets, o.Clusters = nil, func() []event.Cluster { return *members }
		o.CompileCondition = func(text string) (func(string, event.Object) bool, error) {
			return func(cluster string, _ event.Object) bool { return cluster == text }, nil
		}
	})
}

// TestClusters checks that objects with the same name and UID in two clusters have separate rows, and that the header shows the
// state of each cluster.
func TestClusters(t *testing.T) {
	members := []event.Cluster{{Name: "eu"}, {Name: "us"}, {Name: "down"}}
	s := newMultiClusterScreen(t, 80, 24, &members)
	s.shows(`◌ 0 of 3 connected`)
	members[2].ConnectError = "The connection was refused"
	for _, cluster := range []string{"eu", "us"} {
		s.deliver(in(cluster, initial(pod(t, "web", "Running", 1))), in(cluster, synced()))
	}
	s.shows(`✗ 2 of 3 connected`)
	s.shows(`^ ● eu  ● us  ✗ down not connected$`)
	s.shows(`no problems in 2 of 3 clusters; unknown for the others`)
	s.shows(`^   CLUSTER  NAME +READY +STATUS`)
	s.shows(`^   eu       web  +1/1 +Running`)
	s.shows(`^   us       web  +1/1 +Running`)
	s.deliver(in("us", modified(pod(t, "web", "Pending", 2))))
	s.shows(`^◌~ us       web  +1/1 +Pending`)
	s.shows(`^   eu       web  +1/1 +Running`)
	s.deliver(in("us", event.Event{Type: event.Deleted, Object: pod(t, "web", "Pending", 2)}))
	s.shows(`^ - us       web  `)
	s.shows(`^   eu       web  `)
	s.pass(time.Minute)
	s.lacks(`^ - us `)
	s.shows(`^   eu       web  +1/1 +Running`)

	// A cluster is lost. Its rows show the time of their data.
	members = members[:2]
	s.deliver(in("eu", event.Event{Type: event.Disconnected, Heard: s.clock.Add(-3 * time.Second)}))
	s.pass(12 * time.Second)
	s.shows(`^ ✗ eu lost 12s  ● us$`)
	s.shows(`✗ 1 of 2 connected`)
	s.shows(`! eu as of \d\d:`)
	s.deliver(in("eu", event.Event{Type: event.Reconnected}))
	s.shows(`^ ● eu  ● us$`)
	s.shows(`● 2 connected`)

	// A cluster is removed with its rows, and added again.
	s.deliver(in("us", initial(pod(t, "api", "Running", 1))))
	s.deliver(in("eu", event.Event{Type: event.Left}))
	members = members[1:]
	s.pass(time.Second)
	s.lacks(`eu`)
	s.shows(`^   us       api `)
	members = append(members, event.Cluster{Name: "eu"})
	s.deliver(in("eu", event.Event{Type: event.Joined}), in("eu", initial(pod(t, "web", "Running", 1))))
	s.shows(`^ ● us  ◌ eu connecting$`)
	s.shows(`^   eu       web `)
}

// TestClusterFilter checks that words and expressions can select by cluster, and that Events are fetched from the cluster of the
// object.
func TestClusterFilter(t *testing.T) {
	members := []event.Cluster{{Name: "eu", Started: true}, {Name: "us", Started: true}}
	s := newMultiClusterScreen(t, 100, 24, &members)
	for _, cluster := range []string{"eu", "us"} {
		s.deliver(in(cluster, initial(pod(t, "web", "Running", 1))), in(cluster, initial(pod(t, "api", "Running", 1))), in(cluster, synced()))
	}
	s.shows(`4 objects`)
	s.press("/")
	s.typed("eu web")
	s.press("enter")
	s.shows(`1 of 4 objects`)
	s.shows(`^   eu       web `)
	s.press("esc", "/")
	s.typed("where us")
	s.press("enter")
	s.shows(`2 of 4 objects`)
	s.lacks(`^   eu `)
	s.press("down")
	requested := ""
	s.FetchEvents = func(_ context.Context, cluster string, o event.Object) ([]kubeevent.Event, error) {
		requested = cluster + "/" + o.Name
		return nil, nil
	}
	s.send(s.send(keyOf("e"))())
	s.shows(`events about us pods/web`)
	if requested != "us/web" {
		t.Errorf("fetched Events of %q, want us/web", requested)
	}
}

// TestManyClusters checks that if there is no room for all clusters, the header names those with problems first.
func TestManyClusters(t *testing.T) {
	var members []event.Cluster
	for n := range 50 {
		members = append(members, event.Cluster{Name: fmt.Sprintf("prod-region-%02d", n), Started: true})
	}
	members[40].ConnectError = "no answer"
	s := newMultiClusterScreen(t, 80, 24, &members)
	s.shows(`^ ✗ prod-region-40 not connected  ● prod-region-00  .*… \d+ more$`)
	members[41].Started = false
	s.pass(time.Second)
	s.shows(`^ ✗ prod-region-40 not connected  ◌ prod-region-41 connecting  … 48 more$`)
	members = []event.Cluster{{Name: strings.Repeat("arn:aws:eks:", 10), Started: true}}
	s.pass(time.Second)
	s.shows(`^ ● arn:aws:eks.*…`)
}

// TestOtherColumns checks that clusters with different columns share a table, with each cell below its own header.
func TestOtherColumns(t *testing.T) {
	members := []event.Cluster{{Name: "eu", Started: true}, {Name: "us", Started: true}}
	s := newMultiClusterScreen(t, 120, 24, &members)
	other := func(name, phase string) event.Object {
		o := pod(t, name, phase, 1)
		return o.WithRow(`{"columnDefinitions":[{"name":"Name","type":"string","format":"name","priority":0},{"name":"Phase","type":"string","format":"","priority":0},` +
			`{"name":"Age","type":"string","format":"","priority":0}],"cells":["` + name + `","of ` + phase + `","5m"]}`)
	}
	s.deliver(in("eu", initial(pod(t, "web", "Running", 1))), in("us", initial(other("web", "Pending"))), in("eu", synced()), in("us", synced()))
	s.shows(`^   CLUSTER  NAME +READY +STATUS +RESTARTS +AGE +IP +NODE +PHASE`)
	s.shows(`^   eu       web +1/1 +Running +0 +5m +10\.0\.0\.1 +node-1$`)
	s.shows(`^◌  us       web  +5m +of Pending$`)
	s.deliver(in("eu", modified(pod(t, "web", "Pending", 2))))
	s.shows(`^◌  us       web  +5m +of Pending$`)
	s.shows(`^◌~ eu       web +1/1 +Pending +0 +5m +10`)
}
