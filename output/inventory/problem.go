package inventory

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/owner"
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
	Objects int
	// Failed: it does not go on by itself.
	Failed bool
	// Since is when it began; zero: before the object was seen first.
	Since time.Time
	// Over is when the last one of them was well again, which stays for a moment; zero: it is not.
	Over time.Time
	// Cause is the last change before it that somebody meant, of the root or of what is wrong; nil: none
	// is known.
	Cause *Cause

	ups []*Object
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

// spell is how long an object has been wrong.
type spell struct {
	known     bool // it is, or was
	from      time.Time
	to        time.Time // zero: it still is
	lastWrong *State
}

// wrong are the objects that are not as they should be, or were not a while ago, under the lock of
// the Inventory.
type wrong map[*Object]bool

// judge takes over whether a present state is wrong.
func (w wrong) judge(s *State) {
	sp := &s.Of.spell
	is := s.patience() >= 0
	switch {
	case is && !sp.goesOn(s):
		*sp = spell{known: true, from: s.Time, lastWrong: s}
		if s.Initial {
			sp.from = s.deleting // zero for what is there to stay
		}
		w[s.Of] = true
	case is:
		sp.to, sp.lastWrong = time.Time{}, s
		w[s.Of] = true
	case sp.known && sp.to.IsZero():
		if sp.to = s.Time; !sp.isLong(sp.to) { // it never was a problem, and its state is not held for that
			*sp = spell{}
			delete(w, s.Of)
		}
	}
}

// goesOn reports whether what is wrong in a state is part of the spell: it has been all the time, or
// is again soon after it was a problem. That an object goes is another matter.
func (sp *spell) goesOn(s *State) bool {
	switch {
	case !sp.known, (s.Status == kstatus.TerminatingStatus) != (sp.lastWrong.Status == kstatus.TerminatingStatus):
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

// isLong reports whether it had lasted until then for so long that it is a problem.
func (sp *spell) isLong(until time.Time) bool {
	from := sp.from
	if from.IsZero() {
		from = sp.lastWrong.Of.First
	}
	return until.Sub(from) >= sp.lastWrong.patience()
}

// owners are those of an object that are known, from one to the next above it.
type owners func([]owner.Owner) iter.Seq2[owner.Ref, *Object]

// problems are those of a time, by their roots: what has failed first, of those the newest first.
func (w wrong) problems(now time.Time, up owners) []Problem {
	var due []*Object
	above := map[*Object]bool{} // of something else that is wrong
	for o := range w {
		switch {
		case o.spell.isDue(now):
			if o.isReplaced(up) {
				continue
			}
			due = append(due, o)
			for _, parent := range up(o.spell.lastWrong.Owners) {
				above[parent] = above[parent] || o.spell.to.IsZero()
			}
		case !o.spell.to.IsZero() && now.Sub(o.spell.to) > relapse:
			o.spell = spell{}
			delete(w, o)
		}
	}
	slices.SortFunc(due, func(a, b *Object) int { return Order(a.state(), b.state()) })
	found := map[folds]*Problem{}
	for _, o := range due {
		if !above[o] {
			fold(found, o, up)
		}
	}
	all := make([]Problem, 0, len(found))
	for _, p := range found {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Problem) int {
		return cmp.Or(b.rank()-a.rank(), b.Since.Compare(a.Since), Order(a.State, b.State))
	})
	return all
}

func (p *Problem) rank() int {
	switch {
	case !p.Over.IsZero():
		return 0
	case p.Failed:
		return 2
	}
	return 1
}

// folds is by what objects are folded into one Problem.
type folds struct{ root, why string }

// fold adds an object that is wrong to the Problem of its root.
func fold(found map[folds]*Problem, o *Object, up owners) {
	s, sp := o.spell.lastWrong, &o.spell
	root := owner.Ref{GroupVersionKind: s.Target.Mapping.GroupVersionKind, Namespace: o.Namespace, Name: o.Name, UID: o.UID}
	failed, ups := s.Status == kstatus.FailedStatus, []*Object{o}
	for ref, parent := range up(s.Owners) {
		root = ref
		if parent != nil {
			ups = append(ups, parent)
			failed = failed || parent.state().Status == kstatus.FailedStatus
		}
	}
	key := folds{string(root.UID) + "/" + root.Kind + "/" + root.Namespace + "/" + root.Name, reasonOf(s.Why)}
	p := found[key]
	over := !sp.to.IsZero()
	switch {
	case p == nil, !p.Over.IsZero() && !over: // what still is wrong counts alone
		since := sp.from
		if p != nil && p.Since.Before(since) {
			since = p.Since
		}
		p = &Problem{Root: root, State: s, Since: since, ups: ups}
		found[key] = p
	case over && p.Over.IsZero():
		return
	}
	p.Objects++
	p.Failed = p.Failed || failed
	if sp.to.After(p.Over) {
		p.Over = sp.to
	}
	if sp.from.Before(p.Since) { // zero: longer than is known
		p.Since = sp.from
	}
}

// isReplaced: a pod that has failed for good, in whose place another one works; it may stay for days.
func (o *Object) isReplaced(up owners) bool {
	if !o.spell.lastWrong.isOver {
		return false
	}
	for _, parent := range up(o.spell.lastWrong.Owners) {
		if parent != nil {
			return parent.state().Status == kstatus.CurrentStatus
		}
	}
	return false
}

// reasonOf is what a reason has in common with that of other objects: it goes without numbers, and
// what stands in brackets.
func reasonOf(why string) string {
	why, _, _ = strings.Cut(why, " (")
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, why)
}
