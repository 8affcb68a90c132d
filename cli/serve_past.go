package cli

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"dwatch/output"
	"dwatch/output/page"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// servedPast is a page that shows a recording.
type servedPast struct {
	w       *watching
	page    *served
	rewound *rewound
}

func (s *servedPast) run(ctx context.Context, c *console) error {
	ctx, cancel := bounded(ctx, s.w.ending.Timeout)
	defer cancel()
	if err := s.page.prepare(c); err != nil {
		return err
	}
	defer s.page.close()
	from, err := c.openRecording(ctx, s.rewound.from, s.w.connection)
	if err != nil {
		return err
	}
	if s.w.session, err = from.session(ctx, c, s.w.selection); err != nil {
		return err
	}
	o := s.page.shown(s.w)
	o.Cluster = "recording " + output.EscapeLine(s.rewound.from.String())
	if from.isSeveral() {
		o.Clusters = from.members
	}
	if o.Recording, err = s.past(ctx, from); err != nil {
		return ended(ctx, err, false)
	}
	tuneLong()
	s.page.begin(s.w, o)
	return s.page.around(ctx, nil, s.w, func() error {
		<-ctx.Done()
		return nil
	})
}

// past says which times can be shown, and how.
func (s *servedPast) past(ctx context.Context, from *recordingOf) (*page.Recording, error) {
	span := s.rewound.aim(from)
	part := &shownPart{from: from, since: span.Since, before: span.Before}
	p := &page.Recording{InitialTime: s.rewound.at, Replay: part.play}
	if p.InitialTime.IsZero() {
		_, found, err := from.at(ctx, span.Before) // the last that is known
		if err != nil {
			return nil, err
		}
		p.InitialTime = found.settled()
	}
	return p, nil
}

// shownPart is the part of a recording that is shown; each time that it is played it is read anew, as it may go on.
type shownPart struct {
	from          *recordingOf
	since, before time.Time // zero: from the begin, to the end
}

func (s *shownPart) play(ctx context.Context, until time.Time, sink event.Sink) (page.Coverage, error) {
	known, _, err := s.prove(ctx, until, sink)
	return known, err
}

// prove is play, which also says what all of it rests on.
func (s *shownPart) prove(ctx context.Context, until time.Time, sink event.Sink) (page.Coverage, proofs, error) {
	now, err := s.from.again(ctx)
	if err != nil {
		return page.Coverage{}, nil, err
	}
	q := recording.Query{From: s.since, To: s.before, ReconcileGaps: true}
	begin := s.since
	if begin.IsZero() {
		begin = now.begin()
	}
	if now.isSeveral() { // of one that begins later it is not known before
		q.From = begin
	}
	if until.Before(begin) {
		until = begin
	}
	playing := &playing{tables: true}
	found, err := now.play(ctx, q, &partUntil{Sink: playing.shown(sink), until: until})
	if err != nil {
		return page.Coverage{}, nil, err
	}
	return s.known(now, found, until), found, nil
}

// known is what is known up to the end of what is shown, and of a time of it.
func (s *shownPart) known(now *recordingOf, found proofs, until time.Time) page.Coverage {
	known := page.Coverage{From: found.from(), To: found.to()}
	if until.Before(known.From) { // not all is known yet then
		known.From = until
	}
	if end := now.end(); s.before.IsZero() && end.After(known.To) {
		known.To = end
	}
	for _, one := range found {
		one.addTo(&known, until)
	}
	for _, p := range now.parts {
		if p.unknown != nil {
			none := page.Gap{Cluster: p.cluster, From: known.From, To: known.To, Reason: errUnrecorded.Error()}
			known.Gaps, known.StateGapsAtTime = append(known.Gaps, none), append(known.StateGapsAtTime, none)
		}
		if now.isSeveral() {
			known.Clusters = append(known.Clusters, p.cluster)
		}
	}
	slices.SortStableFunc(known.Gaps, func(a, b page.Gap) int { return a.From.Compare(b.From) })
	return known
}

// addTo adds what is known of one of several clusters, or of the only one.
func (a *proven) addTo(known *page.Coverage, until time.Time) {
	if until.After(known.To) {
		until = known.To
	}
	gaps, missing := a.gaps(a.proof.Gaps), a.gaps(a.proof.AtInstant(until).Gaps)
	if known.To.After(a.proof.To) {
		after := page.Gap{Cluster: a.cluster, From: a.proof.To, To: known.To, Reason: "not proven yet"}
		if known.To.Sub(a.EndTime()) > provenWithin {
			after.Reason = "nothing was recorded since"
		}
		gaps = append(gaps, after)
		known.StateGaps = append(known.StateGaps, page.Gap{Cluster: a.cluster, From: after.From, To: after.To.Add(time.Millisecond), Reason: after.Reason}) // its end, too
		if until.After(a.proof.To) {
			missing = []page.Gap{after}
		}
	}
	known.Gaps, known.StateGapsAtTime = append(known.Gaps, gaps...), append(known.StateGapsAtTime, missing...)
	known.StateGaps = append(known.StateGaps, a.gaps(a.proof.AllGaps())...)
	for _, d := range slices.Concat(a.Warnings(), a.proof.Damage) {
		known.ReadErrors = append(known.ReadErrors, atNamed(a.cluster, errors.New(d)).Error())
	}
}

// first is the time of all that is played which is shown first: settled, where gaps may go on to the end.
func (a proofs) first(known page.Coverage) time.Time {
	return a.settledBy(func(one *proven) time.Time {
		to := known.To
		for _, g := range known.Gaps {
			if g.Cluster == one.cluster && !g.To.Before(known.To) && g.From.After(known.From) && g.From.Before(to) {
				to = g.From
			}
		}
		return to
	})
}

// gaps are those of the part as the page has them.
func (a *proven) gaps(gaps []recording.Gap) (all []page.Gap) {
	for _, g := range gaps {
		why := g.Reason
		if g.Targets != nil {
			why = strings.Join(g.Targets, ", ") + ": " + why
		}
		all = append(all, page.Gap{Cluster: a.cluster, From: g.From, To: g.To, Reason: why})
	}
	return all
}

// partUntil is a Sink that passes on what happened until a time.
type partUntil struct {
	event.Sink
	until time.Time
}

func (p *partUntil) Deliver(ctx context.Context, batch []event.Event) error {
	if err := ctx.Err(); err != nil { // nobody waits for it any more
		return err
	}
	part := make([]event.Event, 0, len(batch))
	for _, e := range batch {
		if !e.Time.Truncate(time.Millisecond).After(p.until) { // the page knows milliseconds
			part = append(part, e)
		}
	}
	if len(part) == 0 {
		return nil
	}
	return p.Sink.Deliver(ctx, part)
}
