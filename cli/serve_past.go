package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dwatch/cli/fail"
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
	from, err := c.openRecording(s.rewound.from, s.w.connection)
	if err != nil {
		return err
	}
	if from.isSeveral() {
		return fail.Usage(fmt.Errorf("the page shows the recording of one cluster: choose one, as by --from %s", output.Line(from.parts[0].dir)))
	}
	if s.w.session, err = from.session(ctx, c, s.w.selection); err != nil {
		return err
	}
	o := s.page.shown(s.w)
	o.Cluster = "recording " + output.Line(s.rewound.from)
	if o.Past, err = s.past(ctx, from); err != nil {
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
func (s *servedPast) past(ctx context.Context, from *recordingOf) (*page.Past, error) {
	part := &shownPart{session: s.w.session, dir: s.rewound.from}
	span := s.rewound.aim(from)
	part.since, part.before = span.Since, span.Before
	p := &page.Past{At: s.rewound.at, Play: part.play}
	if p.At.IsZero() {
		_, found, err := from.at(ctx, span.Before) // the last that is known
		if err != nil {
			return nil, err
		}
		p.At = found.to()
	}
	return p, nil
}

// shownPart is the part of a recording that is shown; each time that it is played it is read anew, as it may go on.
type shownPart struct {
	session       *session
	dir           string
	since, before time.Time // zero: from the begin, to the end
}

func (s *shownPart) play(ctx context.Context, until time.Time, sink event.Sink) (page.Known, error) {
	r, err := recording.Read(s.dir)
	if err != nil {
		return page.Known{}, err
	}
	q, err := (&recordedPart{Recording: r, dir: s.dir}).asked(s.session)
	if err != nil {
		return page.Known{}, err
	}
	q.From, q.To, q.Mend = s.since, s.before, true
	playing := &playing{tables: true}
	if begin := s.begin(r); until.Before(begin) {
		until = begin
	}
	part := &partUntil{Sink: playing.shown(sink), until: until}
	proof, err := r.Play(ctx, q, part)
	if err != nil {
		return page.Known{}, err
	}
	known := knownOf(proof, until)
	if until.Before(known.From) { // not all is known yet then
		known.From = until
	}
	known.Damage = append(r.Notes(), proof.Damage...)
	if end := r.End(); s.before.IsZero() && end.After(proof.To) {
		after := page.Gap{From: proof.To, To: end, Why: "not proven yet"}
		if known.Gaps, known.To = append(known.Gaps, after), end; until.After(proof.To) {
			known.Unknown = []page.Gap{after}
		}
	}
	return known, nil
}

// begin is the first time that can be shown.
func (s *shownPart) begin(r *recording.Recording) time.Time {
	if s.since.IsZero() {
		return r.Begin()
	}
	return s.since
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

// knownOf says on the page what a proof does, and whether it is known what was there at a time of it.
func knownOf(proof *recording.Proof, at time.Time) page.Known {
	if at.After(proof.To) {
		at = proof.To
	}
	return page.Known{From: proof.From, To: proof.To, Gaps: gapsOf(proof.Gaps), Unknown: gapsOf(proof.At(at).Gaps)}
}

func gapsOf(gaps []recording.Gap) (all []page.Gap) {
	for _, g := range gaps {
		why := g.Why
		if g.Of != nil {
			why = strings.Join(g.Of, ", ") + ": " + why
		}
		all = append(all, page.Gap{From: g.From, To: g.To, Why: why})
	}
	return all
}
