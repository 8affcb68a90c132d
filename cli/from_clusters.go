package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// chosenParts are the recordings of the clusters that are asked for, in the order in which they are named.
func chosenParts(parts []recording.ClusterRecording, of *cluster.Flags) (chosen []recording.ClusterRecording, err error) {
	var names []string
	for _, p := range parts {
		names = append(names, p.Cluster)
	}
	if names, err = of.SelectFrom(names); err != nil {
		return nil, err
	}
	for _, name := range names {
		chosen = append(chosen, parts[slices.IndexFunc(parts, func(p recording.ClusterRecording) bool { return p.Cluster == name })])
	}
	return chosen, nil
}

// isSeveral reports whether it is of several clusters.
func (r *recordingOf) isSeveral() bool { return r != nil && r.parts[0].cluster != "" }

// session is what a command has in place of one at a cluster, or at several. What was recorded of some
// of them only is asked of these.
func (r *recordingOf) session(ctx context.Context, c *console, of selection) (*session, error) {
	if err := of.findShard(); err != nil {
		return nil, err
	}
	var failed []error
	r.of = of
	for _, p := range r.parts {
		err := p.plan(ctx, of)
		switch none, isNone := errors.AsType[*unrecordedError](err); {
		case err == nil:
		case !r.isSeveral():
			return nil, err
		case isNone:
			p.session, p.unknown = nil, none
			failed = append(failed, errorOf(p.cluster, err))
		default:
			return nil, errorOf(p.cluster, err)
		}
	}
	if len(failed) == len(r.parts) {
		return nil, errors.Join(failed...)
	}
	for _, p := range r.parts {
		if p.unknown != nil {
			p.warn(p.unknown.Error())
		}
	}
	if !r.isSeveral() {
		return r.parts[0].session, nil
	}
	return r.together(c, of), nil
}

// known are the parts that have something of what is asked for.
func (r *recordingOf) known() []*recordedPart {
	return slices.DeleteFunc(slices.Clone(r.parts), func(p *recordedPart) bool { return p.session == nil })
}

// together is the session of all.
func (r *recordingOf) together(c *console, of selection) *session {
	s := &session{console: c, scope: of.request, plan: &plan.Plan{}}
	var resources []metav1.APIResource
	for _, p := range r.known() {
		resources = append(resources, p.Resources()...)
		s.plan.Targets = append(s.plan.Targets, p.session.plan.Targets...)
		s.plan.DynamicResources = s.plan.DynamicResources || p.session.plan.DynamicResources
		for _, n := range p.session.scope.Namespaces {
			if !s.scope.AllNamespaces && !slices.Contains(s.scope.Namespaces, n) {
				s.scope.Namespaces = append(slices.Clip(s.scope.Namespaces), n)
			}
		}
	}
	s.mapper = mapper.NewFixed(unique(resources))
	s.planner = plan.New(s.scope, s.mapper)
	return s
}

func unique(all []metav1.APIResource) (once []metav1.APIResource) {
	for _, a := range all {
		same := func(b metav1.APIResource) bool {
			return a.Group == b.Group && a.Version == b.Version && a.Name == b.Name
		}
		if !slices.ContainsFunc(once, same) {
			once = append(once, a)
		}
	}
	return once
}

// begin is when the first of them begins, and end when the last ends.
func (r *recordingOf) begin() time.Time {
	var begin time.Time
	for _, p := range r.parts {
		if at := p.StartTime(); begin.IsZero() || at.Before(begin) && !at.IsZero() { // of one that is withheld nothing is known
			begin = at
		}
	}
	return begin
}

func (r *recordingOf) end() time.Time {
	return slices.MaxFunc(r.parts, func(a, b *recordedPart) int { return a.EndTime().Compare(b.EndTime()) }).EndTime()
}

// members are the clusters that are asked for, of several.
func (r *recordingOf) members() (all []event.Cluster) {
	for _, p := range r.parts {
		all = append(all, event.Cluster{Name: p.cluster, Started: true})
	}
	return all
}

// again is the recording as it is by now: it may go on, with what was not recorded before.
func (r *recordingOf) again(ctx context.Context) (*recordingOf, error) {
	now := &recordingOf{where: r.where, of: r.of}
	for _, p := range r.parts {
		one := *p
		err := one.read(ctx)
		if err == nil {
			err = one.planAgain(ctx, r.of)
		}
		if err != nil {
			return nil, atNamed(p.cluster, err)
		}
		now.parts = append(now.parts, &one)
	}
	return now, nil
}

// about is what was recorded of a cluster; an empty name: of the only one.
func (r *recordingOf) about(cluster string) recording.RunInfo {
	for _, p := range r.parts {
		if p.cluster == cluster {
			return p.LastRun()
		}
	}
	return recording.RunInfo{}
}

// proven is what the answer of one part rests on.
type proven struct {
	*recordedPart
	before    *recording.Proof // of the first of two times; nil: it is about one
	proof     *recording.Proof // nil: it ended before there was anything to be known
	different int              // so many events are, between the two times
}

// proofs are those of all parts.
type proofs []*proven

// isKnown reports whether there is anything to be said of what is known.
func (a proofs) isKnown() bool {
	return slices.ContainsFunc(a, func(one *proven) bool { return one.proof != nil })
}

// to is up to when all is about.
func (a proofs) to() (to time.Time) {
	for _, one := range a {
		if one.proof != nil && one.proof.To.After(to) {
			to = one.proof.To
		}
	}
	return to
}

// provenWithin is how long it takes at most until it is proven what there was at a time, of a recording that goes on.
const provenWithin = 2 * time.Minute

// settled is the last time of which all is known: but of those whose recording had ended long before the others, or
// goes on and is not proven since another one has begun.
func (a proofs) settled() time.Time {
	return a.settledBy(func(one *proven) time.Time { return one.proof.To })
}

// settledBy is settled where known says up to when all of a part is known.
func (a proofs) settledBy(known func(*proven) time.Time) time.Time {
	var last time.Time
	begin := slices.MaxFunc(a, func(a, b *proven) int { return a.StartTime().Compare(b.StartTime()) }).StartTime()
	proven := slices.DeleteFunc(slices.Clone(a), func(one *proven) bool { return one.proof == nil })
	for _, one := range proven {
		if to := known(one); to.After(last) {
			last = to
		}
	}
	at := last
	for _, one := range proven {
		if to := known(one); to.Before(at) && to.After(begin) && last.Sub(to) <= provenWithin && a.areKnown(to) {
			at = to
		}
	}
	return at
}

// areKnown reports whether all was known at a time of those of which something is proven later: a watch may have been
// read long after its recording began.
func (a proofs) areKnown(at time.Time) bool {
	return !slices.ContainsFunc(a, func(one *proven) bool {
		return one.proof != nil && !at.After(one.proof.To) && !one.proof.AtInstant(at).IsComplete()
	})
}

// prove says of each part what its answer rests on, and returns an error if that is not all, of any.
// nothing says what there was none of; nil: that is not asked.
func (a proofs) prove(timestamps bool, nothing func(*proven) string) error {
	var failed []error
	for _, one := range a {
		text := ""
		if nothing != nil {
			text = nothing(one)
		}
		for _, p := range []*recording.Proof{one.before, one.proof} {
			said := ""
			if p == one.proof {
				said = text
			}
			if err := one.console.prove(p, timestamps, said); err != nil {
				failed = append(failed, atNamed(one.cluster, err))
				break
			}
		}
	}
	return unknown(failed)
}

// unknown is the error of what is not known.
func unknown(failed []error) error {
	if len(failed) == 0 {
		return nil
	}
	return fail.WithExitCode(fail.ExitIncomplete, errors.Join(failed...))
}

var errUnrecorded = errors.New("of what is asked for nothing was recorded")

// unrecorded is an error if nothing of what is asked for was recorded of some cluster.
func (r *recordingOf) unrecorded() error {
	var failed []error
	for _, p := range r.parts {
		if p.unknown != nil {
			failed = append(failed, atNamed(p.cluster, errUnrecorded))
		}
	}
	return unknown(failed)
}

// atNamed says of an error of which cluster it is, of several.
func atNamed(cluster string, err error) error {
	if cluster == "" {
		return err
	}
	return fmt.Errorf("%s: %w", output.EscapeLine(cluster), err)
}

// play delivers what happened, of several clusters as one.
func (r *recordingOf) play(ctx context.Context, q recording.Query, sink event.Sink) (proofs, error) {
	var all []recording.ClusterQuery
	var found proofs
	for _, p := range r.known() {
		all = append(all, recording.ClusterQuery{Recording: p.Recording, Query: p.asking(q)})
		found = append(found, &proven{recordedPart: p})
	}
	if !r.isSeveral() {
		var err error
		found[0].proof, err = all[0].Replay(ctx, all[0].Query, sink)
		return found, err
	}
	each, err := recording.ReplayMerged(ctx, all, sink)
	for i, p := range each {
		found[i].proof = p
	}
	return found, err
}

// compare delivers what is different between two times.
func (r *recordingOf) compare(ctx context.Context, q recording.Query, sink event.Sink) (found proofs, err error) {
	var events []event.Event
	for _, p := range r.known() {
		c, err := p.Compare(ctx, p.asking(q), q.From, q.To)
		found = append(found, &proven{recordedPart: p, before: c.BeforeProof, proof: c.AfterProof, different: len(c.Events)})
		if err != nil {
			return found, err
		}
		events = append(events, c.Events...)
	}
	return found, delivered(events).Run(ctx, sink)
}

// asking is what a part is asked, between times and in the way that q says.
func (p *recordedPart) asking(q recording.Query) recording.Query {
	own := p.query
	own.From, own.To, own.IncludeOld, own.ReconcileGaps, own.BatchSize = q.From, q.To, q.IncludeOld, q.ReconcileGaps, q.BatchSize
	return own
}

// at is what was there at a time in each of them, and at how it is known.
func (r *recordingOf) at(ctx context.Context, at time.Time) (all []outcome[[]event.Object], found proofs, err error) {
	for _, p := range r.known() {
		objects, proof, err := p.ObjectsAt(ctx, p.query, at)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, outcome[[]event.Object]{cluster: p.cluster, is: objects})
		found = append(found, &proven{recordedPart: p, proof: proof})
	}
	return all, found, nil
}

// listed are all objects, of several clusters with their names.
func (r *recordingOf) listed(all []outcome[[]event.Object]) []event.Object {
	if !r.isSeveral() {
		return all[0].is
	}
	return merged(all)
}

// from is from when on the first of them is about.
func (a proofs) from() (from time.Time) {
	for _, one := range a {
		if one.proof != nil && (from.IsZero() || one.proof.From.Before(from)) {
			from = one.proof.From
		}
	}
	return from
}

// sourceOf is what CloudEvents of a cluster had as their source.
func (r *recordingOf) sourceOf(cluster string) string {
	about := r.about(cluster)
	return sourceOf(about.ClusterUID, about.Server)
}
