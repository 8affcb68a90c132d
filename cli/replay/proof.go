package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/output/page"
	"dwatch/watcher/recording"
)

// partProof describes the gaps in the answer of one part.
type partProof struct {
	*part
	before    *recording.Proof // of the first of two times, or nil
	proof     *recording.Proof // nil if the run ended before anything was known
	different int              // the number of differences between two times
}

// Proofs describe the gaps in an answer, for each part.
type Proofs []*partProof

// isKnown reports whether there is a proof.
func (a Proofs) isKnown() bool {
	return slices.ContainsFunc(a, func(p *partProof) bool { return p.proof != nil })
}

// From is the begin of the time that is covered.
func (a Proofs) From() (from time.Time) {
	for _, p := range a {
		if p.proof != nil && (from.IsZero() || p.proof.From.Before(from)) {
			from = p.proof.From
		}
	}
	return from
}

// To is the end of the time that is covered.
func (a Proofs) To() (to time.Time) {
	for _, p := range a {
		if p.proof != nil && p.proof.To.After(to) {
			to = p.proof.To
		}
	}
	return to
}

// proofDelay is how long it takes at most until a growing recording proves which objects existed at a time.
const proofDelay = 2 * time.Minute

// settled is the last time without gaps. It ignores parts whose recording ended long before the others, and growing parts
// that have proven nothing since another part began.
func (a Proofs) settled() time.Time {
	return a.settledBy(func(p *partProof) time.Time { return p.proof.To })
}

// settledBy is settled with a function for the last proven time of a part.
func (a Proofs) settledBy(known func(*partProof) time.Time) time.Time {
	var last time.Time
	begin := slices.MaxFunc(a, func(a, b *partProof) int { return a.StartTime().Compare(b.StartTime()) }).StartTime()
	proven := slices.DeleteFunc(slices.Clone(a), func(p *partProof) bool { return p.proof == nil })
	for _, p := range proven {
		if to := known(p); to.After(last) {
			last = to
		}
	}
	at := last
	for _, p := range proven {
		if to := known(p); to.Before(at) && to.After(begin) && last.Sub(to) <= proofDelay && a.isCompleteAt(to) {
			at = to
		}
	}
	return at
}

// isCompleteAt reports whether the parts that prove something later knew everything at a time. The first list of a watch may be later
// than the begin of its recording.
func (a Proofs) isCompleteAt(at time.Time) bool {
	return !slices.ContainsFunc(a, func(p *partProof) bool {
		return p.proof != nil && !at.After(p.proof.To) && !p.proof.AtInstant(at).IsComplete()
	})
}

// Report says for each part what its answer rests on, and returns an error if a part is incomplete. nothing, if not nil, says that there
// was nothing to print.
func (a Proofs) Report(timestamps bool, nothing func(*partProof) string) error {
	var failed []error
	for _, p := range a {
		text := ""
		if nothing != nil {
			text = nothing(p)
		}
		for _, proof := range []*recording.Proof{p.before, p.proof} {
			message := ""
			if proof == p.proof {
				message = text
			}
			if err := ReportProof(p.console, proof, timestamps, message); err != nil {
				failed = append(failed, prefix(p.cluster, err))
				break
			}
		}
	}
	return incomplete(failed)
}

// incomplete is the error of an answer that is not completely known.
func incomplete(failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	return fail.WithExitCode(fail.ExitIncomplete, errors.Join(failed...))
}

// ReportProof logs which time a recording covers completely, or its gaps. It returns an error if there are gaps. It does nothing if p
// is nil, because the run ended before the proof was ready. timestamps prints full times. nothing is a message that no output was
// printed, or empty.
func ReportProof(c *console.Console, p *recording.Proof, timestamps bool, nothing string) error {
	if p == nil {
		return nil
	}
	exactly := func(t time.Time) string { return output.FormatTimeMillis(t, time.Now(), timestamps) }
	for _, d := range p.Damage {
		c.Warn("damaged: " + d)
	}
	if span := exactly(p.From) + " to " + exactly(p.To); p.IsComplete() {
		text := "complete from " + span
		if p.From.Equal(p.To) {
			text = "complete at " + exactly(p.From)
		}
		if nothing != "" {
			text = nothing + "; " + text
		}
		c.Warn(text)
		return nil
	}
	for _, g := range p.Gaps {
		c.Warn(g.Describe(exactly))
	}
	text := fmt.Sprintf("the recording is incomplete from %s to %s", exactly(p.From), exactly(p.To))
	switch {
	case p.IsInstant:
		text = "the state at " + exactly(p.From) + " is unknown"
	case p.From.Equal(p.To):
		text = "changes after " + exactly(p.From) + " are unknown"
	}
	return fail.WithExitCode(fail.ExitIncomplete, errors.New(text))
}

// whyUnknown explains the gaps at a time.
func (p *partProof) whyUnknown(t time.Time, exactly func(time.Time) string) (why []string) {
	switch {
	case p.proof == nil:
		why = append(why, "not known")
	case t.After(p.proof.To):
		why = append(why, "not known: after "+exactly(p.proof.To))
	default:
		for _, g := range p.proof.AtInstant(t).Gaps {
			why = append(why, g.Describe(exactly))
		}
	}
	if len(why) > 0 {
		why[0] = prefix(p.cluster, errors.New(why[0])).Error()
	}
	return why
}

// addTo adds the gaps of a part, up to the end of the page and at one time of it.
func (p *partProof) addTo(known *page.Coverage, at time.Time) {
	if at.After(known.To) {
		at = known.To
	}
	gaps, missing := p.pageGaps(p.proof.Gaps), p.pageGaps(p.proof.AtInstant(at).Gaps)
	if known.To.After(p.proof.To) {
		after := page.Gap{Cluster: p.cluster, From: p.proof.To, To: known.To, Reason: "not proven yet"}
		if known.To.Sub(p.EndTime()) > proofDelay {
			after.Reason = "nothing was recorded since"
		}
		gaps = append(gaps, after)
		known.StateGaps = append(known.StateGaps, page.Gap{Cluster: p.cluster, From: after.From, To: after.To.Add(time.Millisecond), Reason: after.Reason}) // including its end
		if at.After(p.proof.To) {
			missing = []page.Gap{after}
		}
	}
	known.Gaps, known.StateGapsAtTime = append(known.Gaps, gaps...), append(known.StateGapsAtTime, missing...)
	known.StateGaps = append(known.StateGaps, p.pageGaps(p.proof.AllGaps())...)
	for _, d := range slices.Concat(p.Warnings(), p.proof.Damage) {
		known.ReadErrors = append(known.ReadErrors, prefix(p.cluster, errors.New(d)).Error())
	}
}

// First is the time that an exported page shows first: settled, unless gaps last until the end.
func (a Proofs) First(known page.Coverage) time.Time {
	return a.settledBy(func(p *partProof) time.Time {
		to := known.To
		for _, g := range known.Gaps {
			if g.Cluster == p.cluster && !g.To.Before(known.To) && g.From.After(known.From) && g.From.Before(to) {
				to = g.From
			}
		}
		return to
	})
}

func (p *partProof) pageGaps(gaps []recording.Gap) (all []page.Gap) {
	for _, g := range gaps {
		why := g.Reason
		if g.Targets != nil {
			why = strings.Join(g.Targets, ", ") + ": " + why
		}
		all = append(all, page.Gap{Cluster: p.cluster, From: g.From, To: g.To, Reason: why})
	}
	return all
}
