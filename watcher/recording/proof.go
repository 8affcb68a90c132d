package recording

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/watcher/event"
)

// Proof states how far the result of a query is complete.
type Proof struct {
	// From and To are the requested times. Zero times are replaced: From by the time since which the first targets of the
	// recording are covered, and To by the time up to which all targets are covered.
	From, To time.Time
	// IsInstant means that the proof is about the objects that existed at From, which equals To. Otherwise the proof is about
	// the events from From to To.
	IsInstant bool
	// ChangeCount is the number of object events that matched the query, without initial ones.
	ChangeCount int
	// Gaps are the periods for which the result may be incomplete, in order. If empty, the result is complete.
	Gaps []Gap
	// Damage describes the unreadable parts of the recording, one line each.
	Damage []string

	targetGaps []Gap // per target, neither merged nor limited to From and To
	targets    int   // number of targets
}

// Gap is a period in which some targets are not covered.
type Gap struct {
	GapInterval
	// Targets are the affected targets. nil means all targets of the query.
	Targets []string
}

// IsComplete reports whether the result is complete.
func (p *Proof) IsComplete() bool { return len(p.Gaps) == 0 }

// addDamage adds damage after p.To, where the readable part of the recording ends.
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

// Describe returns a description for users. clock formats the times.
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

// newProof returns the proof for events of targets between two times. For zero times, see Proof.From. ambiguous are the
// periods that clocks may have shown twice.
func newProof(s *coverage, targets []event.Target, from, to time.Time, ambiguous []GapInterval) *Proof {
	p := &Proof{From: from, To: to}
	if from.IsZero() {
		p.From = s.firstCovered(targets)
	}
	if to.IsZero() {
		p.To = later(s.lastCovered(targets), p.From)
	}
	if p.To.Before(p.From) { // the recording ends before From
		p.From = p.To
	}
	for _, t := range targets {
		t.Cluster = "" // a recording has one cluster
		for _, b := range slices.Concat(s.gaps(t.Key(), p.To.Add(1)), ambiguous) {
			p.targetGaps = append(p.targetGaps, Gap{b, []string{t.Text()}})
		}
	}
	p.targets = len(targets)
	p.Gaps = p.relevantGaps()
	return p
}

// relevantGaps returns the merged gaps that affect the result.
func (p *Proof) relevantGaps() []Gap {
	return p.merge(slices.DeleteFunc(slices.Clone(p.targetGaps), func(g Gap) bool { return !p.isAffectedBy(g.GapInterval) }), p.targets)
}

// AtInstant returns the proof for the objects that existed at a time between From and To.
func (p *Proof) AtInstant(at time.Time) *Proof {
	one := &Proof{From: at, To: at, IsInstant: true, targetGaps: p.targetGaps, targets: p.targets}
	one.Gaps = one.relevantGaps()
	return one
}

// IsKnownAt reports whether the objects that existed at a time between From and To are completely known: those of the given
// targets, or of all targets if there are none. If amidEvents is true, not all events of that time have been applied. Then the
// objects at the end of a gap are unknown, too, because the list that ends a gap has one time.
func (p *Proof) IsKnownAt(at time.Time, amidEvents bool, of ...event.Target) bool {
	var names []string
	for _, t := range of {
		t.Cluster = ""
		names = append(names, t.Text())
	}
	return !at.After(p.To) && !slices.ContainsFunc(p.targetGaps, func(g Gap) bool {
		isInside := g.From.Before(at) && (g.To.After(at) || amidEvents && g.To.Equal(at) && !g.TimesUnknown)
		return isInside && (len(names) == 0 || slices.Contains(names, g.Targets[0]))
	})
}

// AllGaps returns all gaps, including gaps that do not affect the result. It combines gaps of several targets if their times
// and reasons are equal.
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

// truncated returns the proof for a result that ended at a time. It returns p if p.To is not later, and nil if p is nil.
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

// isAffectedBy reports whether the result may be incomplete or wrong because of a gap.
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

// startTolerance is how much later than the first target others may be covered to count as part of the start.
const startTolerance = time.Minute

// firstCovered returns the time since which the first targets are covered. These are the target that was covered first and
// those that followed within startTolerance. If no target is covered, firstCovered returns the time of the latest line.
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

// lastCovered returns the time up to which all targets are covered. If a target is not covered at the end of the recording,
// it returns the time of the latest line.
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

// merge merges overlapping gaps and limits them to the time between From and To.
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
