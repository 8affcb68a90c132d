package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/run"
	"dwatch/output"
	"dwatch/output/live"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
	"dwatch/watcher/until"
)

// Options say what of a recording is played.
type Options struct {
	From flags.From
	Span flags.TimeRange
	// At is the time that a user looks at first. If Around is set, only an hour before and after it is played.
	At     time.Time
	Around bool
	// Difference plays the differences between the two times of Span instead of the events.
	Difference bool
	// Unread is the message for a --timeout that passes before the recording was read.
	Unread string
}

// Player is the source of runs over a recording.
type Player struct {
	Options
	recording *Recording
	session   *run.Session
	run       *run.Run
	query     recording.Query
	found     Proofs
	last      time.Time // of the batch that was delivered last
	repeats   bool      // states from before the start of the query were delivered
}

// NewPlayer returns a Player for o.
func NewPlayer(o Options) *Player { return &Player{Options: o} }

// aroundSpan is how much is read before and after the time that is shown first, unless flags say more.
const aroundSpan = time.Hour

// aim returns what is read of a recording around the time that a user looks at first.
func (o *Options) aim(of *Recording) flags.TimeRange {
	span, at := o.Span, o.At
	if at.IsZero() {
		at = of.end()
		if span.Before.After(span.Since) && span.Before.Before(at) {
			at = span.Before
		}
	}
	if from := at.Add(-aroundSpan); span.Since.IsZero() && from.After(of.begin()) {
		span.Since = from
	}
	if to := at.Add(aroundSpan); span.Before.IsZero() && to.Before(of.end()) {
		span.Before = to
	}
	return span
}

// Run runs cfg over the recording and says what the answer rests on.
func (p *Player) Run(ctx context.Context, c *console.Console, cfg run.Config, to run.Destination) error {
	reading, stop := console.UntilReaderGone(ctx, c.Out.File)
	defer stop()
	bound, cancel := run.WithTimeout(reading, cfg.Ending.Timeout)
	defer cancel()
	return ExplainTimeout(run.EndOf(bound, p.play(bound, c, cfg, to), false), p.Unread)
}

// ExplainTimeout adds the meaning of a --timeout that passed before a recording was read.
func ExplainTimeout(err error, meaning string) error {
	if errors.Is(err, run.ErrTimeout) {
		return fail.WithExitCode(fail.ExitIncomplete, errors.New("--timeout passed before the recording had been read: "+meaning))
	}
	return err
}

func (p *Player) play(ctx context.Context, c *console.Console, cfg run.Config, to run.Destination) error {
	r := run.New(c, cfg, to)
	if err := r.Prepare(); err != nil {
		return err
	}
	defer r.Close()
	err := r.Follow(ctx, run.Opener{Open: p.open})
	held := r.ConditionHeld()
	if held || err != nil || !p.found.isKnown() || ctx.Err() != nil || p.Around {
		if held || fail.HasExitCode(err) {
			_ = p.found.Report(cfg.Print.Timestamps, nil) // the condition decides the exit code
		}
		return err
	}
	nothing := func(one *partProof) string { return p.nothing(one, &cfg, r.Printed()) }
	return cmp.Or(p.found.Report(cfg.Print.Timestamps, nothing), p.recording.CheckRecorded(), unmet(&cfg))
}

// unmet is the error of --until if it never held.
func unmet(cfg *run.Config) error {
	if !cfg.Ending.Until.IsSet() {
		return nil
	}
	return fail.WithExitCode(fail.ExitTimeout, fmt.Errorf("%s never holds in that time", cfg.Ending.Until))
}

// nothing is a message for an empty output. It is empty if something was printed, or if gaps may hide events.
func (p *Player) nothing(one *partProof, cfg *run.Config, printed int) string {
	switch {
	case printed > 0, one.proof == nil, one.before != nil && !one.before.IsComplete():
		return ""
	case p.Difference && one.different > 0:
		return "nothing but noise is different"
	case p.Difference:
		return "nothing is different"
	case len(cfg.Where) > 0 || len(cfg.Filter.Types) > 0 || len(cfg.Print.Compare.Only) > 0:
		return "nothing of that happened"
	case one.proof.ChangeCount > 0:
		return "nothing but noise changed"
	}
	return "nothing changed"
}

// open opens the recording for a run.
func (p *Player) open(ctx context.Context, r *run.Run) (run.Source, error) {
	cfg := r.Config()
	var err error
	if p.recording, err = Open(ctx, r.Console(), p.From, cfg.Connection); err != nil {
		return nil, err
	}
	if p.session, err = p.recording.Session(ctx, r.Console(), cfg.Selection); err != nil {
		return nil, err
	}
	r.SetRecorded(p.recording.IsSeveral())
	p.run = r
	span := p.Span
	if p.Around {
		span = p.aim(p.recording)
	}
	p.query = recording.Query{From: span.Since, To: span.Before, IncludeOld: r.Needs().Old, ReconcileGaps: p.Around}
	if cfg.Ending.Count > 0 || len(cfg.Conditions()) > 0 {
		p.query.BatchSize = 1 // so that the clock advances with each event, and the run ends with the deciding one
	}
	run.TuneLong()
	return source{p}, nil
}

// Scope implements run.Source.
func (p *Player) Scope() *run.Scope {
	scope := p.recording.Scope(p.session, p.now)
	scope.Status = p.run.ReplayStatus
	scope.Recorded.IsProven = p.isProven
	return scope
}

// isProven reports whether the recording proves that a condition held. An object's own event proves what holds for that object. Any
// other decision also depends on earlier events, and is proven only at times that the recording covers.
func (p *Player) isProven(o *until.Outcome) bool {
	e, at := &o.Event, p.now()
	isAboutOne := o.Failed || p.run.Config().Ending.Quantifier == until.Any || e.Target.IsOneObject()
	isOfObject := !e.Type.IsStatus() && o.ObjectCount == 1 && isAboutOne
	isNews := !e.Type.IsStatus() && !isRepeated(e)
	if isOfObject && isNews {
		return true
	}
	var of []event.Target
	if isOfObject {
		of = append(of, e.Target)
	}
	for _, one := range p.found {
		switch {
		case len(of) > 0 && one.cluster != e.Target.Cluster:
		case one.proof == nil && p.repeats, one.proof != nil && !one.proof.IsKnownAt(at, isNews, of...):
			return false
		}
	}
	return len(of) > 0 || p.recording.CheckRecorded() == nil
}

// isRepeated reports whether an event is not in the recording, and only repeats the earlier state of an object at the start of the query.
func isRepeated(e *event.Event) bool { return !e.Type.IsStatus() && e.Initial && !e.Listed }

// now is the time of the event that was delivered last. When the recording was read, it is the end of the query.
func (p *Player) now() time.Time {
	if p.found.isKnown() {
		return p.found.To()
	}
	return p.last
}

// Run implements run.Source.
func (s source) Run(ctx context.Context, sink event.Sink) error {
	p := s.Player
	return p.run.Replay(ctx, p.session, sink, func(head event.Sink) (err error) {
		if p.run.Needs().Tables {
			head = addRows(head)
		}
		head = p.noteTime(head)
		if p.Difference {
			p.found, err = p.recording.compare(ctx, p.query, head)
		} else {
			p.found, err = p.recording.play(ctx, p.query, head)
		}
		return err
	})
}

// noteTime returns a Sink before next that notes the time of each batch, and whether it repeats earlier states.
func (p *Player) noteTime(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		p.last = batch[len(batch)-1].Time
		p.repeats = p.repeats || isRepeated(&batch[0])
		return next.Deliver(ctx, batch)
	})
}

// source is a Player that a run has opened.
type source struct{ *Player }

// ShowOn shows on the live table what was read, once the run has read it.
func (p *Player) ShowOn(s *live.Screen, timestamps bool) {
	found := p.found
	if !found.isKnown() {
		return
	}
	exactly := func(t time.Time) string { return output.FormatTimeMillis(t, time.Now(), timestamps) }
	s.SetLoaded(found.From(), found.settled(), found.To(), func(t time.Time) string {
		var why []string
		for _, one := range found {
			why = append(why, one.whyUnknown(t, exactly)...)
		}
		return strings.Join(why, "; ")
	})
}

// RunEvents runs cfg over events that are known already, as if they had been recorded.
func RunEvents(ctx context.Context, c *console.Console, cfg run.Config, to run.Destination, s *run.Session, scope *run.Scope, events []event.Event) error {
	r := run.New(c, cfg, to)
	if err := r.Prepare(); err != nil {
		return err
	}
	defer r.Close()
	return r.Follow(ctx, run.Opener{Open: func(context.Context, *run.Run) (run.Source, error) {
		r.SetRecorded(scope.Clusters != nil)
		return &known{r, s, scope, events}, nil
	}})
}

// known is a source of events that are known already.
type known struct {
	run     *run.Run
	session *run.Session
	scope   *run.Scope
	events  []event.Event
}

// Scope implements run.Source.
func (k *known) Scope() *run.Scope { return k.scope }

// Run implements run.Source.
func (k *known) Run(ctx context.Context, sink event.Sink) error {
	return k.run.Replay(ctx, k.session, sink, func(head event.Sink) error {
		if len(k.events) == 0 {
			return nil
		}
		return head.Deliver(ctx, k.events)
	})
}
