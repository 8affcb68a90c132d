package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/cli/run"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// part is the recording of one cluster.
type part struct {
	*recording.Recording
	console     *console.Console // names the cluster, if there are several
	cluster     string           // empty if there is one cluster
	from        string           // as people read it
	store       recording.Store
	session     *run.Session // nil if none of the requested objects was recorded
	query       recording.Query
	notRecorded error // why session is nil
}

// read reads the index. One of several clusters may have no recording yet.
func (p *part) read(ctx context.Context) (err error) {
	if p.Recording, err = recording.Read(ctx, p.store); p.cluster != "" && errors.Is(err, recording.ErrNoRecording) {
		return nil
	}
	return err
}

// plan resolves the selection with the recorded resources, and makes the query.
func (p *part) plan(ctx context.Context, of run.Selection) error {
	if p.StartTime().IsZero() { // it has only begun, or is withheld
		return fail.WithExitCode(fail.ExitIncomplete, &notRecordedError{fmt.Sprintf("the recording %s does not cover any time", output.EscapeLine(p.from))})
	}
	s, err := p.openSession(ctx, of)
	if err != nil {
		return err
	}
	p.session = s
	p.query, err = p.newQuery(s)
	return err
}

// replan is plan for a recording that was read again. It reports nothing a second time. If the recording has none of the requested
// objects any more, it keeps the earlier session and only makes the query again.
func (p *part) replan(ctx context.Context, of run.Selection) error {
	now := *p
	now.console = p.console.Silent()
	err := now.plan(ctx, of)
	switch _, isNone := errors.AsType[*notRecordedError](err); {
	case err == nil:
		p.session, p.query, p.notRecorded = now.session, now.query, nil
	case !isNone:
		return err
	case p.session != nil:
		p.query, err = p.newQuery(p.session)
		return err
	}
	return nil
}

// openSession resolves names with the recorded resources.
func (p *part) openSession(ctx context.Context, of run.Selection) (*run.Session, error) {
	request := of.Request
	about := p.LastRun()
	request.DefaultNamespace = about.DefaultNamespace
	if len(request.Namespaces) == 0 && !about.Selection.AllNamespaces {
		request.Namespaces = about.Selection.Namespaces
	}
	if of.OnlyRecorded {
		has := p.arguments()
		request.Arguments = slices.DeleteFunc(slices.Clone(request.Arguments), func(a mapper.Argument) bool { return !slices.Contains(has, a) })
		request.AllNamespaces = request.AllNamespaces && about.Selection.AllNamespaces
		if len(request.Arguments) == 0 {
			return nil, fail.Usage(&notRecordedError{fmt.Sprintf("the recording %s has none of the requested resources: it has %s", output.EscapeLine(p.from), p.describe())})
		}
	}
	s := &run.Session{Console: p.console, Request: request, Mapper: mapper.NewFixed(p.Resources())}
	s.Planner = plan.New(request, s.Mapper)
	var err error
	if s.Plan, err = s.Planner.InitialPlan(ctx); err != nil {
		if unknown, ok := errors.AsType[*mapper.UnknownError](err); ok {
			return nil, fail.Usage(&notRecordedError{fmt.Sprintf("the recording %s has no %q: it has %s", output.EscapeLine(p.from), output.EscapeLine(unknown.Name), p.describe())})
		}
		return nil, err
	}
	for _, note := range s.Plan.Notes {
		s.Console.Say(note)
	}
	for i := range s.Plan.Targets {
		s.Plan.Targets[i].Cluster = p.cluster
	}
	return s, p.check(s)
}

// arguments are all resources and objects that were recorded, as they may be typed.
func (p *part) arguments() (all []mapper.Argument) {
	for _, k := range p.Targets() {
		all = append(all, mapper.Argument{Resource: k.Resource.String(), Name: k.Name})
	}
	return all
}

// notRecordedError says that none of the requested objects was recorded.
type notRecordedError struct{ text string }

func (e *notRecordedError) Error() string { return e.text }

// check returns an error if no planned target was recorded, and warns if only some were.
func (p *part) check(s *run.Session) error {
	isKnown := func(t event.Target) bool {
		return slices.ContainsFunc(p.Targets(), func(k event.Key) bool { return k.Overlaps(t.Key()) })
	}
	if !slices.ContainsFunc(s.Plan.Targets, isKnown) {
		return fail.Usage(&notRecordedError{fmt.Sprintf("the recording %s does not have %s: it has %s", output.EscapeLine(p.from), report.DescribeTargets(s.Plan.Targets), p.describe())})
	}
	if slices.ContainsFunc(s.Plan.Targets, func(t event.Target) bool { return !p.HasTarget(t) }) {
		s.Console.Warn(fmt.Sprintf("the recording %s has only %s", output.EscapeLine(p.from), p.describe()))
	}
	return nil
}

// describe lists the recorded resources.
func (p *part) describe() string {
	var targets []event.Target
	for _, k := range p.Targets() {
		for _, a := range p.Resources() {
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

// newQuery returns the query for what a session has planned. What the server has selected while it was recorded is not selected again.
func (p *part) newQuery(s *run.Session) (q recording.Query, err error) {
	q.Targets, q.Shard = s.Plan.Targets, s.Request.Shard
	q.CoverageGap = func(recorded event.Selection) string { return p.lacks(recorded, s.Plan.Selection) }
	if q.LabelSelector, err = labels.Parse(s.Request.LabelSelector); err != nil {
		return q, err
	}
	asked, err := fields.ParseSelector(s.Request.FieldSelector)
	if err != nil {
		return q, err
	}
	recorded := fieldRequirements(p.LastRun().Selection.Fields)
	var here []fields.Selector
	for _, one := range asked.Requirements() {
		text := one.Field + string(one.Operator) + fields.EscapeValue(one.Value)
		switch {
		case slices.Contains([]string{"metadata.name", "metadata.namespace"}, one.Field):
			here = append(here, fields.ParseSelectorOrDie(text))
		case !slices.Contains(recorded, text):
			return q, fail.Usage(fmt.Errorf("--field-selector %s can only be evaluated by the server: with --from, use --where", one.Field))
		}
	}
	q.FieldSelector = fields.AndSelectors(here...)
	return q, nil
}

// withTimes returns the query of the part with the times and the form of q.
func (p *part) withTimes(q recording.Query) recording.Query {
	own := p.query
	own.From, own.To, own.IncludeOld, own.ReconcileGaps, own.BatchSize = q.From, q.To, q.IncludeOld, q.ReconcileGaps, q.BatchSize
	return own
}

// lacks says why a recorded selection contains less than the request. It does not compare resources, names and namespaces. It returns ""
// if nothing is missing.
func (p *part) lacks(recorded, asked event.Selection) string {
	isPart := func(all, some []string) bool {
		return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
	}
	switch {
	case !isPart(labelRequirements(asked.Labels), labelRequirements(recorded.Labels)):
		return "only objects with labels " + recorded.Labels + " were recorded"
	case !isPart(fieldRequirements(asked.Fields), fieldRequirements(recorded.Fields)):
		return "only objects with fields " + recorded.Fields + " were recorded"
	case recorded.Shard != event.Shard{} && recorded.Shard != asked.Shard:
		return "only objects in shard " + recorded.Shard.String() + " were recorded"
	}
	asksSet := false
	for _, one := range asked.Resources {
		isOne := slices.ContainsFunc(p.Resources(), func(a metav1.APIResource) bool {
			return one.Resource == schema.GroupResource{Group: a.Group, Resource: a.Name}.String()
		})
		asksSet = asksSet || !isOne
		if !isOne && !slices.Contains(recorded.Resources, one) && !slices.Contains(recorded.Resources, event.SelectedResource{Resource: mapper.AllResources}) {
			return fmt.Sprintf("not all of %q was recorded", one.Resource)
		}
	}
	for _, name := range recorded.Exclude {
		if asksSet && !slices.Contains(asked.Exclude, name) { // the name may be one of the set
			return output.EscapeLine(name) + " was excluded from the recording"
		}
	}
	return ""
}

// labelRequirements returns the requirements of a selector, each in canonical form.
func labelRequirements(selector string) (all []string) {
	parsed, err := labels.ParseToRequirements(selector)
	if err != nil {
		return []string{selector} // written by another version: it is equal only to itself
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

// CheckFlags finds flags that make no sense with --from. server are the flags of the connection, all are the flags of the command.
func CheckFlags(all, server *pflag.FlagSet, of run.Selection) error {
	names := []string{"state", "listen", "verify", "wait", "heartbeat", "logs", "record", "keep", "max-size"}
	if of.Object != nil { // for dwatch wait, --for is the condition
		names = append(names, "for")
	}
	given := func(name string) bool {
		return all.Changed(name) && (name != "max-size" || all.Lookup("keep") != nil) // otherwise it limits a file that is written
	}
	if name := slices.IndexFunc(names, given); name >= 0 {
		return fmt.Errorf("--from reads a recording instead of a cluster: it cannot be combined with --%s", names[name])
	}
	wrong := ""
	server.VisitAll(func(f *pflag.Flag) {
		if f.Changed && f.Name != "context" && f.Name != "all-contexts" { // these select recorded clusters
			wrong = f.Name
		}
	})
	if wrong != "" {
		return fmt.Errorf("--from reads a recording instead of a cluster: it cannot be combined with --%s", wrong)
	}
	if err := of.CheckFixedNamespaces("--from"); err != nil {
		return err
	}
	_, err := fields.ParseSelector(of.Request.FieldSelector)
	return err
}
