package event

import "testing"

// TestStanding: a cluster is as the worst of what is watched there; what happens in others has no part in it.
func TestStanding(t *testing.T) {
	l := NewLinks(nil)
	observe := func(cluster, resource string, kind Type) {
		target := targetOf(resource, "shop", "")
		target.Cluster = cluster
		l.Observe(mark(kind, target, 1))
	}
	check := func(m Member, want Phase) {
		t.Helper()
		if got := l.Standing(m); got.Phase != want {
			t.Errorf("%s is in phase %d, not %d", m.Name, got.Phase, want)
		}
	}
	check(Member{Name: "eu"}, PhaseConnecting)
	check(Member{Name: "eu", Why: "refused"}, PhaseLost)
	check(Member{Name: "eu", Watches: true}, PhaseLive) // of nothing
	observe("eu", "a", Joined)
	check(Member{Name: "eu", Watches: true}, PhaseConnecting)
	observe("eu", "a", Synced)
	observe("eu", "b", Gone)
	observe("us", "a", Disconnected)
	check(Member{Name: "eu", Watches: true}, PhaseLive)
	check(Member{Name: "us", Watches: true}, PhaseLost)
	observe("us", "b", Denied)
	if s := l.Standing(Member{Name: "us"}); s.Phase != PhaseLost || !s.Since.Equal(at(1)) {
		t.Errorf("%+v", s)
	}
	observe("us", "a", Reconnected)
	check(Member{Name: "us"}, PhaseDenied)
}
