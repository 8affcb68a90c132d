package event

import "time"

// WatchProblem summarizes the watches that are lost, denied or gone. Zero means that there are none.
type WatchProblem struct {
	Phase Phase     // the worst phase: PhaseLost, then PhaseDenied, then PhaseGone
	Since time.Time // when the first affected watch entered Phase
	// AsOf is the oldest LastHeard of the affected watches. For a watch that never had a connection,
	// its Since counts instead. Objects may have changed since then. AsOf means nothing in PhaseGone.
	AsOf time.Time
	// Affected are the watches in Phase. They are valid until the next call of Observe.
	Affected []*WatchState
}

// WorstProblem returns the worst problem of the watches for which match returns true. Watches in a
// less severe phase don't count.
func (states *WatchStates) WorstProblem(match func(*WatchState) bool) (p WatchProblem) {
	for _, s := range states.all {
		phase, asOf := s.Phase(), s.LastHeard
		if phase < PhaseLost || p.Phase != 0 && phase > p.Phase || !match(s) {
			continue
		}
		if phase != p.Phase {
			p = WatchProblem{Phase: phase}
		}
		if asOf.IsZero() { // the server was never heard from
			asOf = s.Since
		}
		p.Affected = append(p.Affected, s)
		p.Since, p.AsOf = earlier(p.Since, s.Since), earlier(p.AsOf, asOf)
	}
	return p
}

// earlier returns the earlier of two times. It ignores a if a is zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Cluster is one cluster of a run that watches several.
type Cluster struct {
	Name string
	// Started is true while the targets of the cluster are being watched, including while their
	// connections are lost. The cluster has then answered at least once. It may have no targets.
	Started bool
	// ConnectError is why the cluster does not answer. It is empty if the cluster answers or the
	// reason is unknown.
	ConnectError string
}

// ClusterNames returns the names of clusters.
func ClusterNames(clusters []Cluster) (names []string) {
	for _, c := range clusters {
		names = append(names, c.Name)
	}
	return names
}

// ClusterState is the combined state of all watches in a cluster.
type ClusterState struct {
	Cluster
	// Phase is the worst phase of any watch, if that is PhaseLost or PhaseDenied. Otherwise it is
	// PhaseLost if ConnectError is set, and PhaseConnecting until all watches are live. Targets that
	// are gone don't count.
	Phase Phase
	// Since is when the first watch entered PhaseLost or PhaseDenied. It is zero in other phases, and
	// if Phase is PhaseLost only because ConnectError is set.
	Since time.Time
}

// ClusterState returns the state of c.
func (states *WatchStates) ClusterState(c Cluster) ClusterState {
	result := ClusterState{Cluster: c, Phase: PhaseLive}
	hasWatches, connecting := false, false
	problem := states.WorstProblem(func(s *WatchState) bool { return s.Target.Cluster == c.Name && s.Phase() != PhaseGone })
	for _, s := range states.all {
		if s.Target.Cluster == c.Name {
			hasWatches, connecting = true, connecting || s.Phase() == PhaseConnecting
		}
	}
	switch {
	case problem.Phase != 0:
		result.Phase, result.Since = problem.Phase, problem.Since
	case c.ConnectError != "":
		result.Phase = PhaseLost
	case connecting, !hasWatches && !c.Started:
		result.Phase = PhaseConnecting
	}
	return result
}
