package inventory

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/owner"
	"dwatch/watcher/object/reason"
)

// Problem is a set of unhealthy objects with the same root owner and the same reason.
type Problem struct {
	// Root is the topmost known owner. It may be an object that is not in the inventory. Resource is its resource, or empty
	// if that is unknown.
	Root     owner.Ref
	Resource schema.GroupResource
	// State is the last unhealthy state of one of the objects: the first in the order of CompareStates.
	State *State
	// ObjectCount is the number of unhealthy objects.
	ObjectCount int
	// Failed is true if one of the objects, or one of its owners, will not recover by itself according to its status.
	Failed bool
	// Since is when the problem began. Zero means that it began before the object was first seen.
	Since time.Time
	// RecoveredAt is when the last affected object recovered. Recovered problems stay listed for 30 seconds. Zero means
	// that the problem persists.
	RecoveredAt time.Time
	// Cause is the latest intentional change before the problem, of one of the objects or its owners. nil means that none
	// is known.
	Cause *Cause
	// NamedCause is the latest change before the problem of an object that State.Message names, for example the removal
	// of a missing key or a change of the exceeded quota. nil means that none is known.
	NamedCause *Cause

	chain          []*Entry
	culprit        *Entry // the object that namedByReason names; nil if unknown
	deletedCulprit *State // last state of culprit, if it was deleted
	namedByReason  reason.Culprit
}

const (
	// startTolerance is how long an object may be in progress with a reason before it counts as a problem.
	// deletionTolerance is how long its deletion may take.
	startTolerance, deletionTolerance = 10 * time.Second, 2 * time.Minute
	// relapseWindow is how soon after its recovery an object must become unhealthy again for both episodes to count as
	// one, as with a container that crashes repeatedly.
	relapseWindow = 6 * time.Minute
	// recoveredFor is how long a recovered problem stays listed.
	recoveredFor = 30 * time.Second
)

// episode is a period in which an object is unhealthy.
type episode struct {
	began       time.Time
	stableSince time.Time // of an initial object: when its conditions last changed; zero if unknown
	ended       time.Time // zero while it lasts
	lastWrong   *State
	entry       *Entry
}

// unhealthy maps each object that is unhealthy, or was until recently, to its episode. It is guarded by Inventory.mu.
type unhealthy map[*Entry]*episode

// update takes the new current state of an object. It reports whether the object's health or its reason changed.
func (w unhealthy) update(o *Entry, s *State) (changed bool) {
	sp := w[o]
	is := s.tolerance() >= 0
	changed = is != (sp != nil && sp.ended.IsZero()) || is && (sp.lastWrong.Status != s.Status || sp.lastWrong.Message != s.Message || !sp.lastWrong.clearsAt.Equal(s.clearsAt))
	switch {
	case is && !sp.continues(s):
		sp = &episode{began: s.Time, lastWrong: s, entry: o}
		if s.Initial {
			sp.began, sp.stableSince = s.notAfterSeen(s.deletionRequested), s.notAfterSeen(s.stableSince) // zero unless the object is being deleted
		}
		w[o] = sp
	case is:
		sp.ended, sp.lastWrong = time.Time{}, s
	case sp != nil && sp.ended.IsZero():
		if sp.ended = s.Time; !sp.isLongEnough(sp.ended) { // too short to be a problem: release its state
			delete(w, o)
		}
	}
	return changed
}

// notAfterSeen limits a time of the server's clock to the time at which the state was seen, because the local clock may
// be behind.
func (s *State) notAfterSeen(at time.Time) time.Time {
	if at.After(s.Time) {
		return s.Time
	}
	return at
}

// continues reports whether an unhealthy state belongs to the episode: the episode has not ended, or it was a problem
// and ended within relapseWindow. A deletion starts a new episode.
func (sp *episode) continues(s *State) bool {
	switch {
	case sp == nil, (s.Status == kstatus.TerminatingStatus) != (sp.lastWrong.Status == kstatus.TerminatingStatus):
		return false
	case sp.ended.IsZero():
		return true
	}
	return s.Time.Sub(sp.ended) <= relapseWindow && sp.isLongEnough(sp.ended)
}

// tolerance returns how long the state may last before it is a problem. Negative means that the state is healthy.
func (s *State) tolerance() time.Duration {
	switch {
	case s.EventType != "":
		return -1
	case s.Status == kstatus.FailedStatus:
		return 0
	case s.Status == kstatus.InProgressStatus && s.HasReason:
		return startTolerance
	case s.Status == kstatus.TerminatingStatus:
		return deletionTolerance
	}
	return -1
}

// clear ends the episode of a pod whose crash loop has ended because its containers kept running.
func (sp *episode) clear(now time.Time) {
	if at := sp.lastWrong.clearsAt; sp.ended.IsZero() && !at.IsZero() && !now.Before(at) {
		sp.ended = at
	}
}

// isProblem reports whether the episode counts as a problem at a time.
func (sp *episode) isProblem(now time.Time) bool {
	if sp.ended.IsZero() {
		return sp.isLongEnough(now)
	}
	return now.Sub(sp.ended) < recoveredFor && sp.isLongEnough(sp.ended)
}

// isLongEnough reports whether the episode had exceeded its tolerance at a time. If that time is before the beginning,
// the clock was put back, and the absolute difference is a lower bound of the duration.
func (sp *episode) isLongEnough(until time.Time) bool {
	from := sp.began
	if from.IsZero() {
		from = cmp.Or(sp.stableSince, sp.lastWrong.Entry.FirstSeen)
	}
	return until.Sub(from).Abs() >= sp.lastWrong.tolerance()
}

// ownerChain yields the known owners of an object, from the direct owner upwards. The Entry is nil for owners that are
// not in the inventory.
type ownerChain func(cluster string, of []owner.Owner) iter.Seq2[owner.Ref, *Entry]

// problems returns the problems at a time, in the order of compare. last returns the states of objects at that time.
func (w unhealthy) problems(now time.Time, up ownerChain, last lastState) []Problem {
	var due []*Entry
	above := map[*Entry]bool{} // owners of unhealthy objects
	for o, sp := range w {
		sp.clear(now)
		switch {
		case sp.isProblem(now):
			if sp.isReplaced(up, last) {
				continue
			}
			due = append(due, o)
			for _, parent := range up(o.Cluster, sp.lastWrong.Owners) {
				above[parent] = above[parent] || sp.ended.IsZero()
			}
		case !sp.ended.IsZero() && now.Sub(sp.ended) > relapseWindow:
			delete(w, o)
		}
	}
	found := map[problemKey]*Problem{}
	for _, o := range due {
		if !above[o] {
			addToProblem(found, w[o], up, last)
		}
	}
	sorted := slices.SortedFunc(maps.Values(found), (*Problem).compare)
	all := make([]Problem, len(sorted))
	for n, p := range sorted {
		all[n] = *p
	}
	return all
}

// compare orders problems: failed, waiting, recovered. Within each group, the latest come first.
func (p *Problem) compare(other *Problem) int {
	if by := other.rank() - p.rank(); by != 0 {
		return by
	}
	if by := other.Since.Compare(p.Since); by != 0 {
		return by
	}
	return CompareStates(p.State, other.State)
}

func (p *Problem) rank() int {
	switch {
	case !p.RecoveredAt.IsZero():
		return 0
	case p.Failed:
		return 2
	}
	return 1
}

// problemKey is equal for objects that belong to the same Problem.
type problemKey struct{ cluster, uid, kind, namespace, name, why string }

// addToProblem adds an unhealthy object to the Problem of its root. The result does not depend on the order of calls.
func addToProblem(found map[problemKey]*Problem, sp *episode, up ownerChain, last lastState) {
	s, o := sp.lastWrong, sp.entry
	root := owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	failed, ups := s.Status == kstatus.FailedStatus, []*Entry{o}
	for ref, parent := range up(o.Cluster, s.Owners) {
		root = ref
		if parent != nil {
			ups = append(ups, parent)
			failed = failed || last(parent).Status == kstatus.FailedStatus
		}
	}
	key := problemKey{o.Cluster, string(root.UID), root.Kind, root.Namespace, root.Name, s.ReasonKey()}
	p := found[key]
	over := !sp.ended.IsZero()
	switch {
	case p == nil, !p.RecoveredAt.IsZero() && !over: // recovered objects do not count if others are still unhealthy
		since := sp.began
		if p != nil && p.Since.Before(since) {
			since = p.Since
		}
		p = &Problem{Root: root, State: s, Since: since, chain: ups}
		found[key] = p
	case over && p.RecoveredAt.IsZero():
		if sp.began.Before(p.Since) {
			p.Since = sp.began
		}
		return
	case CompareStates(s, p.State) < 0:
		p.State, p.chain = s, ups
	}
	p.ObjectCount++
	p.Failed = p.Failed || failed
	if sp.ended.After(p.RecoveredAt) {
		p.RecoveredAt = sp.ended
	}
	if sp.began.Before(p.Since) { // zero: since before it was first seen
		p.Since = sp.began
	}
}

// isReplaced reports whether the object is a failed Pod whose owner is healthy, so another Pod has replaced it. Such
// Pods can remain for days.
func (sp *episode) isReplaced(up ownerChain, last lastState) bool {
	if !sp.lastWrong.isFinishedPod {
		return false
	}
	for _, parent := range up(sp.lastWrong.Entry.Cluster, sp.lastWrong.Owners) {
		if parent != nil {
			return last(parent).Status == kstatus.CurrentStatus
		}
	}
	return false
}

// ReasonKey returns the message without digits and without the part in parentheses, so that equal reasons of different
// objects have equal keys.
func (s *State) ReasonKey() string {
	why, _, _ := strings.Cut(s.Message, " (")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, why)
}
