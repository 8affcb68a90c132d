package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// recordingOf is a recording that is asked in place of a cluster, or of several: --from.
type recordingOf struct {
	where string          // as people are told
	parts []*recordedPart // one for each cluster that is asked for
	of    selection       // what is asked for
}

// recordedPart is the recording of one cluster.
type recordedPart struct {
	*recording.Recording
	*console        // says of which cluster it is, of several
	cluster  string // empty: there is but one
	where    string // as people are told
	store    recording.Store
	session  *session // nil: nothing of what is asked for was recorded
	query    recording.Query
	unknown  error // what is asked for was not recorded; nil: it was
}

// openRecording reads what there is to know of a recording, and says what of it can't be read. Of one of
// several clusters those are chosen that of asks for.
func (c *console) openRecording(ctx context.Context, from flags.From, of *cluster.Flags) (*recordingOf, error) {
	failed := func(err error) error { return failedFrom(from, err) }
	parts, err := partsOf(ctx, from)
	if err != nil {
		return nil, failed(err)
	}
	if parts[0].Cluster == "" && of.SelectsContexts() {
		return nil, fail.Usage(errors.New("--from asks a recording, and no cluster: it does not go with --context"))
	}
	if parts[0].Cluster != "" {
		if parts, err = chosenParts(parts, of); err != nil {
			return nil, failed(err)
		}
	}
	r := &recordingOf{where: from.String()}
	for _, p := range parts {
		one := &recordedPart{console: c, cluster: p.Cluster, where: r.where, store: p.Store}
		if one.cluster != "" {
			one.console, one.where = c.atCluster(p.Cluster), strings.TrimSuffix(r.where, "/")+"/"+recording.ClusterDirName(p.Cluster)
		}
		if err := one.read(ctx); err != nil {
			return nil, failed(atNamed(p.Cluster, err))
		}
		for _, note := range one.Warnings() {
			c.warn(one.where + "/" + note)
		}
		r.parts = append(r.parts, one)
	}
	return r, nil
}

// read reads what there is to know of the recording. One of several may have nothing yet: of that nothing is known.
func (r *recordedPart) read(ctx context.Context) (err error) {
	if r.Recording, err = recording.Read(ctx, r.store); r.cluster != "" && errors.Is(err, recording.ErrNoRecording) {
		return nil
	}
	return err
}

// plan finds out what is asked of the recording.
func (r *recordedPart) plan(ctx context.Context, of selection) error {
	if r.StartTime().IsZero() { // it has only begun, or is withheld
		return fail.WithExitCode(fail.ExitIncomplete, &unrecordedError{fmt.Sprintf("of what the recording %s has nothing is known", output.EscapeLine(r.where))})
	}
	s, err := r.open(ctx, of)
	if err != nil {
		return err
	}
	r.session = s
	r.query, err = r.asked(s)
	return err
}

// planAgain is plan for a recording that may have gone on, of which all was said at first. What was recorded
// at first is asked for in any case.
func (r *recordedPart) planAgain(ctx context.Context, of selection) error {
	now := *r
	now.console = r.console.mute()
	err := now.plan(ctx, of)
	switch _, isNone := errors.AsType[*unrecordedError](err); {
	case err == nil:
		r.session, r.query, r.unknown = now.session, now.query, nil
	case !isNone:
		return err
	case r.session != nil:
		r.query, err = r.asked(r.session)
		return err
	}
	return nil
}

// open is what a command has in place of a session at a cluster: names stand for what was recorded.
func (r *recordedPart) open(ctx context.Context, of selection) (*session, error) {
	request := of.request
	about := r.LastRun()
	request.DefaultNamespace = about.DefaultNamespace
	if len(request.Namespaces) == 0 && !about.Selection.AllNamespaces {
		request.Namespaces = about.Selection.Namespaces
	}
	if of.recorded {
		has := r.arguments()
		request.Arguments = slices.DeleteFunc(slices.Clone(request.Arguments), func(a mapper.Argument) bool { return !slices.Contains(has, a) })
		request.AllNamespaces = request.AllNamespaces && about.Selection.AllNamespaces
		if len(request.Arguments) == 0 {
			return nil, fail.Usage(&unrecordedError{fmt.Sprintf("the recording %s has nothing that is asked for: it has %s", output.EscapeLine(r.where), r.names())})
		}
	}
	s := &session{console: r.console, scope: request, mapper: mapper.NewFixed(r.Resources())}
	s.planner = plan.New(request, s.mapper)
	var err error
	if s.plan, err = s.planner.InitialPlan(ctx); err != nil {
		if unknown, ok := errors.AsType[*mapper.UnknownError](err); ok {
			return nil, fail.Usage(&unrecordedError{fmt.Sprintf("the recording %s has no %q: it has %s", output.EscapeLine(r.where), output.EscapeLine(unknown.Name), r.names())})
		}
		return nil, err
	}
	for _, note := range s.plan.Notes {
		s.say(note)
	}
	for i := range s.plan.Targets {
		s.plan.Targets[i].Cluster = r.cluster
	}
	return s, r.check(s)
}

// arguments are all that was recorded, as they may be typed.
func (r *recordedPart) arguments() (all []mapper.Argument) {
	for _, k := range r.Targets() {
		all = append(all, mapper.Argument{Resource: k.Resource.String(), Name: k.Name})
	}
	return all
}

// unrecordedError says that nothing of what is asked for was recorded.
type unrecordedError struct{ text string }

func (e *unrecordedError) Error() string { return e.text }

// check finds what is asked for, and nothing of it was ever recorded. Where some of it was, the
// answer says that the rest is not known.
func (r *recordedPart) check(s *session) error {
	isKnown := func(t event.Target) bool {
		return slices.ContainsFunc(r.Targets(), func(k event.Key) bool { return overlap(k, t.Key()) })
	}
	if !slices.ContainsFunc(s.plan.Targets, isKnown) {
		return fail.Usage(&unrecordedError{fmt.Sprintf("the recording %s does not have %s: it has %s", output.EscapeLine(r.where), report.DescribeTargets(s.plan.Targets), r.names())})
	}
	if slices.ContainsFunc(s.plan.Targets, func(t event.Target) bool { return !r.HasTarget(t) }) {
		s.warn("recorded is only " + r.names())
	}
	return nil
}

// overlap reports whether some object may be one of both.
func overlap(a, b event.Key) bool {
	same := func(x, y string) bool { return x == "" || y == "" || x == y }
	return a.Resource == b.Resource && same(a.Namespace, b.Namespace) && same(a.Name, b.Name)
}

// names says what was recorded.
func (r *recordedPart) names() string {
	var targets []event.Target
	for _, k := range r.Targets() {
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
	return report.DescribeTargets(targets)
}

// query asks for what a session has planned. What the server has selected by at the recording is
// not looked at again.
func (r *recordedPart) asked(s *session) (q recording.Query, err error) {
	q.Targets, q.Shard = s.plan.Targets, s.scope.Shard
	q.CoverageGap = func(recorded event.Selection) string { return r.lacks(recorded, s.plan.Selection) }
	if q.LabelSelector, err = labels.Parse(s.scope.LabelSelector); err != nil {
		return q, err
	}
	asked, err := fields.ParseSelector(s.scope.FieldSelector)
	if err != nil {
		return q, err
	}
	recorded := fieldRequirements(r.LastRun().Selection.Fields)
	var here []fields.Selector
	for _, one := range asked.Requirements() {
		text := one.Field + string(one.Operator) + fields.EscapeValue(one.Value)
		switch {
		case slices.Contains([]string{"metadata.name", "metadata.namespace"}, one.Field):
			here = append(here, fields.ParseSelectorOrDie(text))
		case !slices.Contains(recorded, text):
			return q, fail.Usage(fmt.Errorf("--field-selector %s is known to the server alone: with --from say --where", one.Field))
		}
	}
	q.FieldSelector = fields.AndSelectors(here...)
	return q, nil
}

// lacks says why what was selected is less than what is asked for, besides by resource, name and
// namespace; empty: it is not.
func (r *recordedPart) lacks(recorded, asked event.Selection) string {
	isPart := func(all, some []string) bool {
		return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
	}
	switch {
	case !isPart(labelRequirements(asked.Labels), labelRequirements(recorded.Labels)):
		return "only what has labels " + recorded.Labels + " was recorded"
	case !isPart(fieldRequirements(asked.Fields), fieldRequirements(recorded.Fields)):
		return "only what has fields " + recorded.Fields + " was recorded"
	case recorded.Shard != event.Shard{} && recorded.Shard != asked.Shard:
		return "only what is in shard " + recorded.Shard.String() + " was recorded"
	}
	asksSet := false
	for _, one := range asked.Resources {
		isOne := slices.ContainsFunc(r.Resources(), func(a metav1.APIResource) bool {
			return one.Resource == schema.GroupResource{Group: a.Group, Resource: a.Name}.String()
		})
		asksSet = asksSet || !isOne
		if !isOne && !slices.Contains(recorded.Resources, one) && !slices.Contains(recorded.Resources, event.SelectedResource{Resource: mapper.AllResources}) {
			return fmt.Sprintf("not all of %q was recorded", one.Resource)
		}
	}
	for _, name := range recorded.Exclude {
		if asksSet && !slices.Contains(asked.Exclude, name) { // it may be one of the set
			return output.EscapeLine(name) + " was excluded from the recording"
		}
	}
	return ""
}

// labelRequirements are the parts of a selector, each in canonical form.
func labelRequirements(selector string) (all []string) {
	parsed, err := labels.ParseToRequirements(selector)
	if err != nil {
		return []string{selector} // of another version: it is the same as itself
	}
	for _, one := range parsed {
		all = append(all, one.String())
	}
	return all
}

func fieldRequirements(selector string) (all []string) {
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return []string{selector}
	}
	for _, one := range parsed.Requirements() {
		all = append(all, one.Field+string(one.Operator)+fields.EscapeValue(one.Value))
	}
	return all
}

// checkFrom finds flags that make no sense where a recording is asked. server are those of the
// connection, all those of the command.
func checkFrom(all, server *pflag.FlagSet, of selection) error {
	names := []string{"state", "listen", "verify", "wait", "heartbeat", "logs", "record", "keep", "max-size"}
	if of.object != nil { // of dwatch wait it is the condition
		names = append(names, "for")
	}
	given := func(name string) bool {
		return all.Changed(name) && (name != "max-size" || all.Lookup("keep") != nil) // else it is that of a file to be written
	}
	if name := slices.IndexFunc(names, given); name >= 0 {
		return fmt.Errorf("--from asks a recording, and no cluster: it does not go with --%s", names[name])
	}
	wrong := ""
	server.VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "context" && f.Name != "all-contexts" { // which are for recordings of several
			wrong = f.Name
		}
	})
	if wrong != "" {
		return fmt.Errorf("--from asks a recording, and no cluster: it does not go with --%s", wrong)
	}
	if of.request.SelectsNamespaces() {
		return errors.New("--from takes namespaces by their names")
	}
	_, err := fields.ParseSelector(of.request.FieldSelector)
	return err
}

// replay makes a run over a recording of one at a cluster.
// unread is what it means that --timeout passed before it was read.
func (f *watchFlags) replay(of flags.Replay, unread string) (runner, error) {
	for _, c := range f.w.ending.AllConditions() {
		if c.Requirements().Now {
			return nil, fmt.Errorf("%s looks at the time, and over a recording no condition is evaluated between two events: it does not go with --from", c.String())
		}
	}
	return &replayed{w: &f.w, from: of.From, span: of.Range, unread: unread}, checkFrom(f.all, f.server, f.w.selection)
}

// prove says what an answer rests on, and returns an error if that is not all. nil: it ended before
// there was anything to be known. timestamps says whether times are whole.
func (c *console) prove(p *recording.Proof, timestamps bool, nothing string) error {
	if p == nil {
		return nil
	}
	exactly := func(t time.Time) string { return output.FormatTimeMillis(t, time.Now(), timestamps) }
	for _, d := range p.Damage {
		c.warn("damaged: " + d)
	}
	if span := exactly(p.From) + " to " + exactly(p.To); p.IsComplete() {
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
		c.warn(g.Describe(exactly))
	}
	text := fmt.Sprintf("of %s to %s not all is known", exactly(p.From), exactly(p.To))
	switch {
	case p.IsInstant:
		text = "what was there at " + exactly(p.From) + " is not known"
	case p.From.Equal(p.To):
		text = "what happened from " + exactly(p.From) + " on is not known"
	}
	return fail.WithExitCode(fail.ExitIncomplete, errors.New(text))
}

// printedInPart is what it means for what is printed as it is read.
const printedInPart = "what was printed may not be all"

// replayed is a stream of what was recorded.
type replayed struct {
	w    *watching
	from flags.From
	span flags.TimeRange
	net  bool // what is different between the two times
	// unread is what it means that --timeout passed before it was read.
	unread string
	// looks is who looks around in it; nil: it is printed.
	looks *rewound
}

// goesOn: it is a stream, but for what is different between two times.
func (r *replayed) goesOn() bool { return !r.net }

func (r *replayed) run(ctx context.Context, c *console) error {
	reading, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	bound, cancel := bounded(reading, r.w.ending.Timeout)
	defer cancel()
	return unreadRecording(ended(bound, r.play(bound, c), false), r.unread)
}

// unreadRecording says what it means that --timeout passed before a recording was read.
func unreadRecording(err error, meaning string) error {
	if errors.Is(err, errTimeout) {
		return fail.WithExitCode(fail.ExitIncomplete, errors.New("--timeout passed before the recording had been read: "+meaning))
	}
	return err
}

func (r *replayed) play(ctx context.Context, c *console) error {
	w := r.w
	if err := w.to.prepare(c); err != nil {
		return err
	}
	defer w.to.close()
	from, err := c.openRecording(ctx, r.from, w.connection)
	if err != nil {
		return err
	}
	if w.session, err = from.session(ctx, c, w.selection); err != nil {
		return err
	}
	p := &playing{recording: from, tables: w.needs.tables, net: r.net}
	if r.looks != nil {
		r.span, r.looks.playing = r.looks.aim(from), p
		p.query.ReconcileGaps = true
	}
	n := w.needed()
	p.query.From, p.query.To, p.query.IncludeOld = r.span.Since, r.span.Before, n.old
	if w.ending.Count > 0 || len(w.conditions()) > 0 {
		p.query.BatchSize = 1 // so that the clock is that of each, and it ends with the one that is enough
	}
	w.recorded, w.now, w.print.MultiCluster = from, p.clock, from.isSeveral()
	tuneLong()
	if r.looks != nil {
		return w.process(ctx, p)
	}
	if err := w.process(ctx, p); w.held || err != nil || !p.found.isKnown() || ctx.Err() != nil {
		if w.held || fail.HasExitCode(err) {
			_ = p.found.prove(w.print.Timestamps, nil) // what it ends with is the other
		}
		return err
	}
	return cmp.Or(p.found.prove(w.print.Timestamps, r.nothing), from.unrecorded(), r.unmet())
}

// unmet is the error of a condition that has not held up to the end.
func (r *replayed) unmet() error {
	if !r.w.ending.Until.IsSet() {
		return nil
	}
	return fail.WithExitCode(fail.ExitTimeout, fmt.Errorf("%s never holds in that time", r.w.ending.Until))
}

// nothing says that there was nothing to print; empty if there was, or that is not known.
func (r *replayed) nothing(a *proven) string {
	switch w := r.w; {
	case w.printed() > 0, a.proof == nil, a.before != nil && !a.before.IsComplete():
		return ""
	case r.net && a.different > 0:
		return "nothing but noise is different"
	case r.net:
		return "nothing is different"
	case len(w.where) > 0 || len(w.filter.Types) > 0 || len(w.print.Compare.Only) > 0:
		return "nothing of that happened"
	case a.proof.ChangeCount > 0:
		return "nothing but noise changed"
	}
	return "nothing changed"
}

// playing is a recording as the origin of events.
type playing struct {
	recording *recordingOf
	query     recording.Query
	tables    bool
	net       bool // what is different between the two times of the query
	found     proofs
	now       time.Time // of what was delivered last
}

// Run implements origin.
func (p *playing) Run(ctx context.Context, sink event.Sink) (err error) {
	if sink = p.shown(sink); p.net {
		p.found, err = p.recording.compare(ctx, p.query, sink)
	} else {
		p.found, err = p.recording.play(ctx, p.query, sink)
	}
	return err
}

// clock is the time of what was delivered last, and in the end up to when it was asked for.
func (p *playing) clock() time.Time {
	if p.found.isKnown() {
		return p.found.to()
	}
	return p.now
}

// shown is a Sink before next for what is to be shown.
func (p *playing) shown(next event.Sink) event.Sink {
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		p.now = batch[len(batch)-1].Time
		if p.tables {
			for i := range batch {
				if e := &batch[i]; !e.Type.IsStatus() {
					e.Object = withRow(e.Object, e.Time)
				}
			}
		}
		return next.Deliver(ctx, batch)
	})
}

// pastList is a list of what was there at a time.
type pastList struct{ flags *listFlags }

func (l *pastList) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	ctx, cancel := bounded(ctx, l.flags.timeout)
	defer cancel()
	return unreadRecording(ended(ctx, l.list(ctx, c), true), "nothing was printed")
}

func (p *pastList) list(ctx context.Context, c *console) error {
	l := p.flags
	from, err := c.openRecording(ctx, l.from, &l.common.connection)
	if err != nil {
		return err
	}
	s, err := from.session(ctx, c, l.selection)
	if err != nil {
		return err
	}
	tuneLong()
	all, found, err := from.at(ctx, l.at)
	if err != nil {
		return err
	}
	var missing error
	for i, o := range all {
		none := l.missing(found[i].session.plan.Targets, o.is)
		if none != nil && found[i].proof.IsComplete() {
			missing = cmp.Or(missing, atNamed(o.cluster, none))
		}
		for j := range o.is {
			if flags.IsTable(l.print.Format) {
				o.is[j] = withRow(o.is[j], found[i].proof.To)
			}
		}
	}
	if missing == nil || from.isSeveral() {
		l.fillTable(s)
		if l.print.MultiCluster = from.isSeveral(); l.print.MultiCluster {
			l.print.ClusterNames = event.ClusterNames(from.members())
		}
		l.print.SingleObject = isSingleObject(s.plan.Targets) && !l.print.MultiCluster
		if err := l.printAll(c, from.listed(all), s.nothingFound()); err != nil {
			return err // and nothing of what an answer rests on that nobody has got
		}
	}
	return cmp.Or(found.prove(l.print.Timestamps, nil), from.unrecorded(), missing)
}

// missing is an error if a named object is not there.
func (l *listFlags) missing(targets []event.Target, objects []event.Object) error {
	for _, t := range targets {
		there := func(o event.Object) bool {
			return o.Name == t.Name && (t.Namespace == "" || o.Namespace == t.Namespace) && o.Kind == t.Mapping.GroupVersionKind.Kind
		}
		if t.Name != "" && !l.ignoreMissing && !slices.ContainsFunc(objects, there) {
			return fmt.Errorf("%s %q was not there", strings.ToLower(t.Mapping.GroupVersionKind.Kind), output.EscapeLine(t.Name))
		}
	}
	return nil
}
