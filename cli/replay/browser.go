package replay

import (
	"context"
	"slices"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/run"
	"dwatch/output/page"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// Browser is the source of a page that shows a recording at any time: the page plays what it shows by itself.
type Browser struct {
	Options
	recording *Recording
	session   *run.Session
}

// NewBrowser returns a Browser for o.
func NewBrowser(o Options) *Browser { return &Browser{Options: o} }

// Run runs a page over the recording until ctx ends.
func (b *Browser) Run(ctx context.Context, c *console.Console, cfg run.Config, to run.Destination) error {
	return run.Do(ctx, c, cfg, run.Opener{Open: b.open}, to)
}

func (b *Browser) open(ctx context.Context, r *run.Run) (_ run.Source, err error) {
	if b.recording, err = Open(ctx, r.Console(), b.From, r.Config().Connection); err != nil {
		return nil, err
	}
	if b.session, err = b.recording.Session(ctx, r.Console(), r.Config().Selection); err != nil {
		return nil, err
	}
	r.SetRecorded(b.recording.IsSeveral())
	return browsing{b}, nil
}

// browsing is a Browser that a run has opened.
type browsing struct{ *Browser }

// Scope implements run.Source.
func (b browsing) Scope() *run.Scope { return b.recording.Scope(b.session, time.Now) }

// Run implements run.Source.
func (b browsing) Run(ctx context.Context, _ event.Sink) error {
	<-ctx.Done()
	return nil
}

// Past says which times the page can show. It is called once the recording is open.
func (b *Browser) Past(ctx context.Context) (*page.Recording, error) {
	span := b.aim(b.recording)
	p := &page.Recording{InitialTime: b.At, Replay: Range{Recording: b.recording, Since: span.Since, Before: span.Before}.Play}
	if p.InitialTime.IsZero() {
		_, found, err := b.recording.At(ctx, span.Before) // the last completely known time
		if err != nil {
			return nil, err
		}
		p.InitialTime = found.settled()
	}
	return p, nil
}

// Range is the time of a recording that a page shows. It is read again each time that it is played, since the recording may grow.
type Range struct {
	Recording     *Recording
	Since, Before time.Time // zero means from the begin, to the end
}

// Play delivers the events until a time, and describes their gaps.
func (s Range) Play(ctx context.Context, until time.Time, sink event.Sink) (page.Coverage, error) {
	known, _, err := s.Prove(ctx, until, sink)
	return known, err
}

// Prove is Play that also returns the proofs of the whole range.
func (s Range) Prove(ctx context.Context, until time.Time, sink event.Sink) (page.Coverage, Proofs, error) {
	now, err := s.Recording.reread(ctx)
	if err != nil {
		return page.Coverage{}, nil, err
	}
	q := recording.Query{From: s.Since, To: s.Before, ReconcileGaps: true}
	begin := s.Since
	if begin.IsZero() {
		begin = now.begin()
	}
	if now.IsSeveral() { // before its recording begins, a cluster is unknown
		q.From = begin
	}
	if until.Before(begin) {
		until = begin
	}
	found, err := now.play(ctx, q, &untilTime{next: addRows(sink), until: until})
	if err != nil {
		return page.Coverage{}, nil, err
	}
	return s.known(now, found, until), found, nil
}

// known describes the gaps up to the end of the range, and at the time until.
func (s Range) known(now *Recording, found Proofs, until time.Time) page.Coverage {
	known := page.Coverage{From: found.From(), To: found.To()}
	if until.Before(known.From) { // until is before the first proof
		known.From = until
	}
	if end := now.end(); s.Before.IsZero() && end.After(known.To) {
		known.To = end
	}
	for _, one := range found {
		one.addTo(&known, until)
	}
	for _, p := range now.parts {
		if p.notRecorded != nil {
			none := page.Gap{Cluster: p.cluster, From: known.From, To: known.To, Reason: errNotRecorded.Error()}
			known.Gaps, known.StateGapsAtTime = append(known.Gaps, none), append(known.StateGapsAtTime, none)
		}
		if now.IsSeveral() {
			known.Clusters = append(known.Clusters, p.cluster)
		}
	}
	slices.SortStableFunc(known.Gaps, func(a, b page.Gap) int { return a.From.Compare(b.From) })
	return known
}

// untilTime is a Sink that passes on to next what happened until a time.
type untilTime struct {
	next  event.Sink
	until time.Time
}

// Deliver implements event.Sink.
func (u *untilTime) Deliver(ctx context.Context, batch []event.Event) error {
	if err := ctx.Err(); err != nil { // the viewer has gone
		return err
	}
	part := make([]event.Event, 0, len(batch))
	for _, e := range batch {
		if !e.Time.Truncate(time.Millisecond).After(u.until) { // the page has times in milliseconds
			part = append(part, e)
		}
	}
	if len(part) == 0 {
		return nil
	}
	return u.next.Deliver(ctx, part)
}
