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

// Problem is what is wrong with an object that belongs to nothing, or with what belongs to it: with
// all that are wrong for the same reason.
type Problem struct {
	// Root names the object that nothing owns, or what is known of it where it is not held; Resource
	// is empty where its kind is not watched.
	Root     owner.Ref
	Resource schema.GroupResource
	// State is of the object that says why: of several the first by name.
	State *State
	// Objects is how many are wrong for this reason.
	ObjectCount int
	// Failed: it does not go on by itself.
	Failed bool
	// Since is when it began; zero: before the object was seen first.
	Since time.Time
	// Over is when the last one of them was well again, which stays for a moment; zero: it is not.
	RecoveredAt time.Time
	// Cause is the last change before it that somebody meant, of the root or of what is wrong; nil: none
	// is known.
	Cause *Cause
	// Named is the last change before it of what State.Why names as in the way: the key that is missing was
	// removed, the quota changed; nil: none is known.
	NamedCause *Cause

	ups   []*Entry
	names *Entry // is in the way, by named
	gone  *State // is the last of that, if it was deleted
	named reason.Named
}

const (
	// startsWithin is how long an object may take that says what it waits for, before that is a
	// problem; endsWithin is that for a deletion.
	startsWithin, endsWithin = 10 * time.Second, 2 * time.Minute
	// relapse: what is wrong again so soon has been all the time, as a container that crashes.
	relapse = 6 * time.Minute
	// lingers is how long what is well again stays a problem.
	lingers = 30 * time.Second
)

// spell is how long an object has been wrong, or had been.
type spell struct {
	from      time.Time
	settled   time.Time // by what the object said at the start; zero: that is not known
	to        time.Time // zero: it still is
	lastWrong *State
	of        *Entry
}

// wrong are the objects that are not as they should be, or were not a while ago, under the lock of
// the Inventory.
type wrong map[*Entry]*spell

// update takes over whether a state of an object that is the present one is wrong, and reports whether it says something else of the
// object than the one before.
func (w wrong) update(o *Entry, s *State) (anew bool) {
	sp := w[o]
	is := s.patience() >= 0
	anew = is != (sp != nil && sp.to.IsZero()) || is && (sp.lastWrong.Status != s.Status || sp.lastWrong.Message != s.Message)
	switch {
	case is && !sp.goesOn(s):
		sp = &spell{from: s.Time, lastWrong: s, of: o}
		if s.Initial {
			sp.from, sp.settled = s.byNow(s.deleting), s.byNow(s.settled) // from is zero for what is there to stay
		}
		w[o] = sp
	case is:
		sp.to, sp.lastWrong = time.Time{}, s
	case sp != nil && sp.to.IsZero():
		if sp.to = s.Time; !sp.isLong(sp.to) { // it never was a problem, and its state is not held for that
			delete(w, o)
		}
	}
	return anew
}

// byNow is a time of the server's clock, to which that of this machine may be behind: it was when the state
// was seen, at the latest.
func (s *State) byNow(at time.Time) time.Time {
	if at.After(s.Time) {
		return s.Time
	}
	return at
}

// goesOn reports whether what is wrong in a state is part of the spell: it has been all the time, or
// is again soon after it was a problem. That an object goes is another matter.
func (sp *spell) goesOn(s *State) bool {
	switch {
	case sp == nil, (s.Status == kstatus.TerminatingStatus) != (sp.lastWrong.Status == kstatus.TerminatingStatus):
		return false
	case sp.to.IsZero():
		return true
	}
	return s.Time.Sub(sp.to) <= relapse && sp.isLong(sp.to)
}

// patience is for how long the state may last before it is a problem; negative: it is none.
func (s *State) patience() time.Duration {
	switch {
	case s.EventType != "":
		return -1
	case s.Status == kstatus.FailedStatus:
		return 0
	case s.Status == kstatus.InProgressStatus && s.HasReason:
		return startsWithin
	case s.Status == kstatus.TerminatingStatus:
		return endsWithin
	}
	return -1
}

// isDue reports whether the spell is a problem at a time.
func (sp *spell) isDue(now time.Time) bool {
	if sp.to.IsZero() {
		return sp.isLong(now)
	}
	return now.Sub(sp.to) < lingers && sp.isLong(sp.to)
}

// isLong reports whether it had lasted until then for so long that it is a problem. A time before it began
// is one of a clock that was put back by as much at least.
func (sp *spell) isLong(until time.Time) bool {
	from := sp.from
	if from.IsZero() {
		from = cmp.Or(sp.settled, sp.lastWrong.Entry.FirstSeen)
	}
	return until.Sub(from).Abs() >= sp.lastWrong.patience()
}

// owners are those of an object that are known, from one to the next above it.
type owners func(cluster string, of []owner.Owner) iter.Seq2[owner.Ref, *Entry]

// problems are those of a time at which objects are as last says, by their roots: what has failed
// first, of those the newest first.
func (w wrong) problems(now time.Time, up owners, last lastState) []Problem {
	var due []*Entry
	above := map[*Entry]bool{} // of something else that is wrong
	for o, sp := range w {
		switch {
		case sp.isDue(now):
			if sp.isReplaced(up, last) {
				continue
			}
			due = append(due, o)
			for _, parent := range up(o.Cluster, sp.lastWrong.Owners) {
				above[parent] = above[parent] || sp.to.IsZero()
			}
		case !sp.to.IsZero() && now.Sub(sp.to) > relapse:
			delete(w, o)
		}
	}
	found := map[folds]*Problem{}
	for _, o := range due {
		if !above[o] {
			fold(found, w[o], up, last)
		}
	}
	sorted := slices.SortedFunc(maps.Values(found), (*Problem).compare)
	all := make([]Problem, len(sorted))
	for n, p := range sorted {
		all[n] = *p
	}
	return all
}

// compare is negative if p stands before other.
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

// folds is by what objects are folded into one Problem.
type folds struct{ cluster, uid, kind, namespace, name, why string }

// fold adds an object that is wrong to the Problem of its root. It does not matter in which order they come.
func fold(found map[folds]*Problem, sp *spell, up owners, last lastState) {
	s, o := sp.lastWrong, sp.of
	root := owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	failed, ups := s.Status == kstatus.FailedStatus, []*Entry{o}
	for ref, parent := range up(o.Cluster, s.Owners) {
		root = ref
		if parent != nil {
			ups = append(ups, parent)
			failed = failed || last(parent).Status == kstatus.FailedStatus
		}
	}
	key := folds{o.Cluster, string(root.UID), root.Kind, root.Namespace, root.Name, s.ReasonKey()}
	p := found[key]
	over := !sp.to.IsZero()
	switch {
	case p == nil, !p.RecoveredAt.IsZero() && !over: // what still is wrong counts alone
		since := sp.from
		if p != nil && p.Since.Before(since) {
			since = p.Since
		}
		p = &Problem{Root: root, State: s, Since: since, ups: ups}
		found[key] = p
	case over && p.RecoveredAt.IsZero():
		if sp.from.Before(p.Since) {
			p.Since = sp.from
		}
		return
	case CompareStates(s, p.State) < 0:
		p.State, p.ups = s, ups
	}
	p.ObjectCount++
	p.Failed = p.Failed || failed
	if sp.to.After(p.RecoveredAt) {
		p.RecoveredAt = sp.to
	}
	if sp.from.Before(p.Since) { // zero: longer than is known
		p.Since = sp.from
	}
}

// isReplaced: a pod that has failed for good, in whose place another one works; it may stay for days.
func (sp *spell) isReplaced(up owners, last lastState) bool {
	if !sp.lastWrong.isOver {
		return false
	}
	for _, parent := range up(sp.lastWrong.Entry.Cluster, sp.lastWrong.Owners) {
		if parent != nil {
			return last(parent).Status == kstatus.CurrentStatus
		}
	}
	return false
}

// Sort is what the reason of a state has in common with that of other objects: it goes without
// numbers, and what stands in brackets.
func (s *State) ReasonKey() string {
	why, _, _ := strings.Cut(s.Message, " (")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, why)
}
