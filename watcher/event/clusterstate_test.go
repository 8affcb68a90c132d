package event

import "testing"

// TestClusterState checks that a cluster has the worst phase of its own watches.
func TestClusterState(t *testing.T) {
	states := NewWatchStates(nil)
	observe := func(cluster, resource string, kind Type) {
		target := targetOf(resource, "shop", "")
		target.Cluster = cluster
		states.Observe(statusEvent(kind, target, 1))
	}
	check := func(c Cluster, want Phase) {
		t.Helper()
		if got := states.ClusterState(c); got.Phase != want {
			t.Errorf("%s: got phase %d, want %d", c.Name, got.Phase, want)
		}
	}
	check(Cluster{Name: "eu"}, PhaseConnecting)
	check(Cluster{Name: "eu", ConnectError: "refused"}, PhaseLost)
	check(Cluster{Name: "eu", Started: true}, PhaseLive) // no targets
	observe("eu", "a", Joined)
	check(Cluster{Name: "eu", Started: true}, PhaseConnecting)
	observe("eu", "a", Synced)
	observe("eu", "b", Gone)
	observe("us", "a", Disconnected)
	check(Cluster{Name: "eu", Started: true}, PhaseLive)
	check(Cluster{Name: "us", Started: true}, PhaseLost)
	observe("us", "b", Denied)
	if s := states.ClusterState(Cluster{Name: "us"}); s.Phase != PhaseLost || !s.Since.Equal(at(1)) {
		t.Errorf("%+v", s)
	}
	observe("us", "a", Reconnected)
	check(Cluster{Name: "us"}, PhaseDenied)
}
