package recording

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/watcher/event"
)

// Proof is what an answer rests on.
type Proof struct {
	// From and To are the times that it is about: those asked for; or from when on, and up to when,
	// all is known, where that is not long after the begin, and before the end.
	From, To time.Time
	// Instant: it is about what was there at From, which is To; else about what happened.
	IsInstant bool
	// Changes is how many events of objects there were, before any other filter, besides initial ones.
	ChangeCount int
	// Gaps are when something was not known, in order; none: the answer is complete.
	Gaps []Gap
	// Damage is what could not be read, a line each.
	Damage []string

	targetGaps []Gap // of each target, as they are
	targets    int
}

// Gap is a time of which not all is known.
type Gap struct {
	GapInterval
	// Of are the targets that it is about; nil: all that were asked for.
	Targets []string
}

// Complete reports whether nothing can be missing.
func (p *Proof) IsComplete() bool { return len(p.Gaps) == 0 }

// endsIn notes that an answer up to the end of the recording ends before damage; nil: it does not.
func (p *Proof) addDamage(damage []string) {
	for _, d := range damage {
		if !slices.Contains(p.Damage, d) {
			p.Damage = append(p.Damage, d)
		}
	}
	if len(damage) > 0 && p.IsComplete() {
		p.Gaps = []Gap{{GapInterval: GapInterval{From: p.To, To: p.To, Reason: "the recording is damaged after that"}}}
	}
}

// String says it as people do, with the times as clock writes them.
func (g Gap) Describe(clock func(time.Time) string) string {
	text := fmt.Sprintf("not known: %s to %s", clock(g.From), clock(g.To))
	if g.From.Equal(g.To) {
		text = "not known: " + clock(g.From)
	}
	if g.Targets != nil {
		text += ", " + strings.Join(g.Targets, ", ")
	}
	return text + " (" + g.Reason + ")"
}

// prove says what is known of targets from one time to another by what was read: zero times are
// those from when on, and up to when, all is.
func newProof(s *coverage, targets []event.Target, from, to time.Time, murky []GapInterval) *Proof {
	p := &Proof{From: from, To: to}
	if from.IsZero() {
		p.From = s.firstCovered(targets)
	}
	if to.IsZero() {
		p.To = later(s.lastCovered(targets), p.From)
	}
	if p.To.Before(p.From) { // there is nothing from then on
		p.From = p.To
	}
	for _, t := range targets {
		t.Cluster = "" // the proof is of one alone
		for _, b := range slices.Concat(s.gaps(t.Key(), p.To.Add(1)), murky) {
			p.targetGaps = append(p.targetGaps, Gap{b, []string{t.Text()}})
		}
	}
	p.targets = len(targets)
	p.Gaps = p.relevantGaps()
	return p
}

// touching are the gaps by which something that was asked for is not known.
func (p *Proof) relevantGaps() []Gap {
	return p.merge(slices.DeleteFunc(slices.Clone(p.targetGaps), func(g Gap) bool { return !p.isAffectedBy(g.GapInterval) }), p.targets)
}

// At is what it rests on what was there at one of the times that the proof is about.
func (p *Proof) AtInstant(at time.Time) *Proof {
	one := &Proof{From: at, To: at, IsInstant: true, targetGaps: p.targetGaps, targets: p.targets}
	one.Gaps = one.relevantGaps()
	return one
}

// Blind are all times, between their ends, of which At says that it is not known what was there.
func (p *Proof) AllGaps() (all []Gap) {
	for _, g := range p.targetGaps {
		n := slices.IndexFunc(all, func(other Gap) bool { return other.GapInterval == g.GapInterval })
		if n < 0 {
			n, all = len(all), append(all, Gap{GapInterval: g.GapInterval})
		}
		if !slices.Contains(all[n].Targets, g.Targets[0]) {
			all[n].Targets = append(all[n].Targets, g.Targets[0])
		}
	}
	for n := range all {
		if len(all[n].Targets) >= p.targets {
			all[n].Targets = nil
		}
	}
	return all
}

// until is the proof of what was asked for up to a time at the latest; nil: there is none.
func (p *Proof) truncated(to time.Time) *Proof {
	if p == nil || !p.To.After(to) {
		return p
	}
	one := *p
	if one.To = to; to.Before(p.From) {
		one.From = to
	}
	one.Gaps = one.relevantGaps()
	return &one
}

// touches reports whether something that was asked for is not known by b.
func (p *Proof) isAffectedBy(b GapInterval) bool {
	if p.From.Equal(p.To) {
		return b.From.Before(p.From) && b.To.After(p.From)
	}
	inside := !b.From.Before(p.From) && !b.To.After(p.To)
	switch {
	case b.TimesUnknown && inside:
		return false
	case b.From.Equal(b.To):
		return inside
	}
	return b.From.Before(p.To) && b.To.After(p.From)
}

// together is how far apart what a run begins to watch may become known.
const startTolerance = time.Minute

// since returns since when all is known of targets that a recording began with.
func (s *coverage) firstCovered(targets []event.Target) (from time.Time) {
	var all []time.Time
	for _, t := range targets {
		if b := s.gaps(t.Key(), s.latest.Add(1)); len(b) > 0 && b[0].From.IsZero() {
			all = append(all, b[0].To)
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	for _, at := range all {
		if at.Sub(all[0]) < startTolerance && !at.After(s.latest) {
			from = at
		}
	}
	if from.IsZero() {
		return s.latest
	}
	return from
}

// end returns up to when all is known of targets: before the last line, if the watches of all of
// them go on, and nothing was heard of one later.
func (s *coverage) lastCovered(targets []event.Target) time.Time {
	end := s.latest
	for _, t := range targets {
		known := s.coveredUntil(t.Key())
		if known.IsZero() || s.unusableReason != "" && s.unusableReason != reasonIncompleteStart {
			return s.latest
		}
		if known.Before(end) {
			end = known
		}
	}
	return end
}

// merge makes one gap of those that overlap, within what was asked for.
func (p *Proof) merge(all []Gap, targets int) (merged []Gap) {
	slices.SortStableFunc(all, func(a, b Gap) int { return a.From.Compare(b.From) })
	for _, g := range all {
		g.From = later(g.From, p.From)
		if g.To.After(p.To) {
			g.To = p.To
		}
		last := len(merged) - 1
		if last < 0 || g.From.After(merged[last].To) {
			merged = append(merged, g)
			continue
		}
		m := &merged[last]
		m.To = later(m.To, g.To)
		if !strings.Contains(m.Reason, g.Reason) {
			m.Reason += "; " + g.Reason
		}
		if !slices.Contains(m.Targets, g.Targets[0]) {
			m.Targets = append(m.Targets, g.Targets[0])
		}
	}
	for i := range merged {
		if len(merged[i].Targets) >= targets {
			merged[i].Targets = nil
		}
	}
	return merged
}
