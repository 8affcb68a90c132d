package event

import "time"

// Trouble is the worst phase of some targets that are not as they should be, and the earliest time
// since when they are so; what is known of their objects is of AsOf, where the connection is lost.
// The zero value: nothing is wrong.
type Trouble struct {
	Phase       Phase
	Since, AsOf time.Time
	Of          []*Link // to be read until the next Observe
}

// Trouble returns that of the targets which match: a loss before a missing right, before what the
// server no longer has.
func (l *Links) Trouble(match func(*Link) bool) (t Trouble) {
	for _, one := range l.all {
		phase, heard := one.Phase(), one.Heard
		if phase < PhaseLost || t.Phase != 0 && phase > t.Phase || !match(one) {
			continue
		}
		if phase != t.Phase {
			t = Trouble{Phase: phase}
		}
		if heard.IsZero() { // nothing was, and nothing is known
			heard = one.Since
		}
		t.Of = append(t.Of, one)
		t.Since, t.AsOf = earlier(t.Since, one.Since), earlier(t.AsOf, heard)
	}
	return t
}

// earlier returns the earlier of two times; a zero one does not count.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Member is one of several clusters that are asked for, whether it answers or not.
type Member struct {
	Name string
	// Watches: it has answered. What is asked for is watched there, which may be nothing.
	Watches bool
	// Why says why it does not answer; empty if it does, or that is not known.
	Why string
}

// Names are those of members.
func Names(all []Member) (names []string) {
	for _, m := range all {
		names = append(names, m.Name)
	}
	return names
}

// Standing is how the watch of one of several clusters is: that of all its targets together.
type Standing struct {
	Member
	// Phase is PhaseLost or PhaseDenied if one of them is, or if the cluster has not answered when
	// it was asked; PhaseConnecting before; or PhaseLive.
	Phase Phase
	Since time.Time // of a trouble; zero: the cluster has never answered
}

// Standing returns that of a cluster, as far as its marks say.
func (l *Links) Standing(m Member) Standing {
	s := Standing{Member: m, Phase: PhaseLive}
	known, connecting := false, false
	trouble := l.Trouble(func(one *Link) bool { return one.Target.Cluster == m.Name && one.Phase() != PhaseGone })
	for _, one := range l.all {
		if one.Target.Cluster == m.Name {
			known, connecting = true, connecting || one.Phase() == PhaseConnecting
		}
	}
	switch {
	case trouble.Phase != 0:
		s.Phase, s.Since = trouble.Phase, trouble.Since
	case m.Why != "":
		s.Phase = PhaseLost
	case connecting, !known && !m.Watches:
		s.Phase = PhaseConnecting
	}
	return s
}
