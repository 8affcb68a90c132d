package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// recordingOf is a recording that is asked in place of a cluster: --from.
type recordingOf struct {
	*recording.Recording
	dir string
}

// openRecording reads what there is to know of a recording, and says what of it can't be read.
func (c *console) openRecording(dir string) (*recordingOf, error) {
	r, err := recording.Read(dir)
	if inPath, ok := errors.AsType[*os.PathError](err); ok {
		err = inPath.Err
	}
	if err != nil {
		return nil, fail.Usage(fmt.Errorf("--from %s: %w", output.Line(dir), err))
	}
	for _, note := range r.Notes() {
		c.warn(dir + "/" + note)
	}
	return &recordingOf{r, dir}, nil
}

// session is what a command has in place of one at a cluster: names stand for what was recorded.
func (r *recordingOf) session(ctx context.Context, c *console, of selection) (*session, error) {
	request := of.request
	about := r.About()
	request.Home = about.Namespace
	if len(request.Namespaces) == 0 && !about.Selection.AllNamespaces {
		request.Namespaces = about.Selection.Namespaces
	}
	s := &session{console: c, scope: request, mapper: mapper.Known(r.Resources())}
	s.planner = plan.New(request, s.mapper)
	var err error
	if s.plan, err = s.planner.First(ctx); err != nil {
		if unknown, ok := errors.AsType[*mapper.UnknownError](err); ok {
			return nil, fail.Usage(fmt.Errorf("the recording %s has no %q: it has %s", output.Line(r.dir), output.Line(unknown.Name), r.names()))
		}
		return nil, err
	}
	for _, note := range s.plan.Notes {
		s.say(note)
	}
	return s, r.narrow(s)
}

// narrow leaves of what is asked for what was recorded, and says so.
func (r *recordingOf) narrow(s *session) error {
	var targets []event.Target
	narrowed := false
	for _, t := range s.plan.Targets {
		if r.Has(t) {
			targets = append(targets, t)
			continue
		}
		narrowed = true
		for _, k := range r.Recorded() {
			if wide := t.Key(); k.Resource == wide.Resource && wide.Name == "" && (wide.Namespace == "" || wide.Namespace == k.Namespace) {
				targets = append(targets, event.Target{Mapping: t.Mapping, Namespace: k.Namespace, Name: k.Name})
			}
		}
	}
	if len(targets) == 0 {
		return fail.Usage(fmt.Errorf("the recording %s does not have %s: it has %s", output.Line(r.dir), report.Describe(s.plan.Targets), r.names()))
	}
	if s.plan.Targets = targets; narrowed {
		s.warn("recorded is only " + report.Describe(targets))
	}
	return nil
}

// names says what was recorded.
func (r *recordingOf) names() string {
	var targets []event.Target
	for _, k := range r.Recorded() {
		for _, a := range r.Resources() {
			if a.Name == k.Resource.Resource && a.Group == k.Resource.Group {
				gvr := k.Resource.WithVersion(a.Version)
				targets = append(targets, event.Target{Mapping: event.NewMapping(gvr, a.Kind, a.Namespaced), Namespace: k.Namespace, Name: k.Name})
				break
			}
		}
	}
	if len(targets) == 0 {
		return "nothing yet"
	}
	return report.Describe(targets)
}

// query asks for what a session has planned.
func (s *session) query() (q recording.Query, err error) {
	q.Targets = s.plan.Targets
	if q.Labels, err = labels.Parse(s.scope.LabelSelector); err == nil {
		q.Fields, err = fields.ParseSelector(s.scope.FieldSelector)
	}
	return q, err
}

// checkFrom finds flags that make no sense where a recording is asked. server are those of the
// connection, all those of the command.
func checkFrom(all, server *pflag.FlagSet, request plan.Request) error {
	for _, name := range []string{"state", "listen", "for", "wait", "heartbeat", "until"} {
		if f := all.Lookup(name); f != nil && f.Changed {
			return fmt.Errorf("--from asks a recording, and no cluster: it does not go with --%s", name)
		}
	}
	wrong := ""
	server.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			wrong = f.Name
		}
	})
	if wrong != "" {
		return fmt.Errorf("--from asks a recording, and no cluster: it does not go with --%s", wrong)
	}
	selector, err := fields.ParseSelector(request.FieldSelector)
	if err != nil {
		return err
	}
	for _, r := range selector.Requirements() {
		if r.Field != "metadata.name" && r.Field != "metadata.namespace" {
			return fmt.Errorf("--field-selector %s is known to the server alone: with --from say --where", r.Field)
		}
	}
	return nil
}

// prove says what an answer rests on, and returns an error if that is not all.
func (c *console) prove(p *recording.Proof, nothing string) error {
	for _, d := range p.Damage {
		c.warn("damaged: " + d)
	}
	if span := exactly(p.From) + " to " + exactly(p.To); p.Complete() {
		text := "complete from " + span
		if p.From.Equal(p.To) {
			text = "complete at " + exactly(p.From)
		}
		if nothing != "" {
			text = nothing + "; " + text
		}
		c.warn(text)
		return nil
	}
	for _, g := range p.Gaps {
		c.warn(g.String(exactly))
	}
	text := fmt.Sprintf("of %s to %s not all is known", exactly(p.From), exactly(p.To))
	if p.From.Equal(p.To) {
		text = "what was there at " + exactly(p.From) + " is not known"
	}
	return fail.Code(fail.ExitUnknown, errors.New(text))
}

// exactly is clockOf, to the millisecond where that is not a whole second.
func exactly(t time.Time) string {
	if t.Nanosecond() < int(time.Millisecond) {
		return clockOf(t)
	}
	return clockOf(t) + t.Format(".000")
}

// replayed is a stream of what was recorded.
type replayed struct {
	w    *watching
	from string
	span flags.Span
}

func (r *replayed) run(ctx context.Context, c *console) error {
	reading, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	bound, cancel := bounded(reading, r.w.ending.Timeout)
	defer cancel()
	return ended(bound, r.play(bound, c), false)
}

func (r *replayed) play(ctx context.Context, c *console) error {
	w := r.w
	if err := w.to.prepare(c); err != nil {
		return err
	}
	defer w.to.close()
	from, err := c.openRecording(r.from)
	if err != nil {
		return err
	}
	if w.session, err = from.session(ctx, c, w.selection); err != nil {
		return err
	}
	p := &playing{recording: from, tables: w.needs.tables}
	if p.query, err = w.query(); err != nil {
		return err
	}
	n := w.needed()
	p.query.From, p.query.To, p.query.Old = r.span.Since, r.span.Before, n.old
	if slices.ContainsFunc(w.conditions(), func(c flags.Condition) bool { return c.Needs().Now }) {
		p.query.Batch = 1 // so that the clock is that of each
	}
	w.now = func() time.Time { return p.now }
	w.print.Unmanaged = w.print.Template == nil && !w.kept
	tuneLong()
	if err := w.process(ctx, p); err != nil || p.proof == nil || ctx.Err() != nil {
		if p.proof != nil && fail.IsCoded(err) {
			_ = c.prove(p.proof, "") // what it ends with is the other
		}
		return err
	}
	nothing := ""
	if w.printed() == 0 {
		nothing = "nothing changed"
		if len(w.where) > 0 || len(w.filter.Types) > 0 {
			nothing = "nothing of that happened"
		}
	}
	return c.prove(p.proof, nothing)
}

// playing is a recording as the origin of events.
type playing struct {
	recording *recordingOf
	query     recording.Query
	tables    bool
	proof     *recording.Proof
	now       time.Time // of what was delivered last
}

// Run implements origin.
func (p *playing) Run(ctx context.Context, sink event.Sink) (err error) {
	p.proof, err = p.recording.Play(ctx, p.query, event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		p.now = batch[len(batch)-1].Time
		if p.tables {
			for i := range batch {
				if e := &batch[i]; !e.Type.IsMark() {
					e.Object = withRow(e.Object, e.Time)
				}
			}
		}
		return sink.Deliver(ctx, batch)
	}))
	return err
}

// pastList is a list of what was there at a time.
type pastList struct{ flags *listFlags }

func (l *pastList) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	ctx, cancel := bounded(ctx, l.flags.timeout)
	defer cancel()
	return ended(ctx, l.list(ctx, c), true)
}

func (p *pastList) list(ctx context.Context, c *console) error {
	l := p.flags
	from, err := c.openRecording(l.from)
	if err != nil {
		return err
	}
	s, err := from.session(ctx, c, l.selection)
	if err != nil {
		return err
	}
	q, err := s.query()
	if err != nil {
		return err
	}
	tuneLong()
	at := l.at
	if at.IsZero() {
		at = from.End()
	}
	objects, proof, err := from.At(ctx, q, at)
	if err != nil {
		return err
	}
	if flags.IsTable(l.print.Format) {
		for i := range objects {
			objects[i] = withRow(objects[i], at)
		}
	}
	l.print.Unmanaged = l.print.Template == nil && !l.kept
	missing := l.missing(s.plan.Targets, objects)
	if missing == nil || !proof.Complete() {
		err = l.printAll(s, objects)
	}
	return cmp.Or(err, c.prove(proof, ""), missing)
}

// missing is an error if a named object is not there.
func (l *listFlags) missing(targets []event.Target, objects []event.Object) error {
	for _, t := range targets {
		there := func(o event.Object) bool {
			return o.Name == t.Name && (t.Namespace == "" || o.Namespace == t.Namespace) && o.Kind == t.Mapping.GroupVersionKind.Kind
		}
		if t.Name != "" && !l.ignoreMissing && !slices.ContainsFunc(objects, there) {
			return fmt.Errorf("%s %q was not there", strings.ToLower(t.Mapping.GroupVersionKind.Kind), output.Line(t.Name))
		}
	}
	return nil
}
