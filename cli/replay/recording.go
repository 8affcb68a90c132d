package replay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/plan"
	"dwatch/cli/run"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// Recording is what --from names: the recording of one cluster, or of several.
type Recording struct {
	from  string // as the command line names it
	parts []*part
	of    run.Selection // the request
}

// IsSeveral reports whether the recording is of several clusters.
func (r *Recording) IsSeveral() bool { return r.parts[0].cluster != "" }

// Parts is the number of clusters.
func (r *Recording) Parts() int { return len(r.parts) }

// Session resolves names with the recorded resources of all clusters. A resource that only some clusters have is read from these.
func (r *Recording) Session(ctx context.Context, c *console.Console, of run.Selection) (*run.Session, error) {
	of, err := of.WithShard()
	if err != nil {
		return nil, err
	}
	var failed []error
	r.of = of
	for _, p := range r.parts {
		err := p.plan(ctx, of)
		switch none, isNone := errors.AsType[*notRecordedError](err); {
		case err == nil:
		case !r.IsSeveral():
			return nil, err
		case isNone:
			p.session, p.notRecorded = nil, none
			failed = append(failed, run.PrefixError(p.cluster, err))
		default:
			return nil, run.PrefixError(p.cluster, err)
		}
	}
	if len(failed) == len(r.parts) {
		return nil, errors.Join(failed...)
	}
	for _, p := range r.parts {
		if p.notRecorded != nil {
			p.console.Warn(p.notRecorded.Error())
		}
	}
	if !r.IsSeveral() {
		return r.parts[0].session, nil
	}
	return r.joinSessions(c, of), nil
}

// asked are the parts that contain requested objects.
func (r *Recording) asked() []*part {
	return slices.DeleteFunc(slices.Clone(r.parts), func(p *part) bool { return p.session == nil })
}

// joinSessions joins the sessions of all parts.
func (r *Recording) joinSessions(c *console.Console, of run.Selection) *run.Session {
	s := &run.Session{Console: c, Request: of.Request, Plan: &plan.Plan{}}
	var resources []metav1.APIResource
	for _, p := range r.asked() {
		resources = append(resources, p.Resources()...)
		s.Plan.Targets = append(s.Plan.Targets, p.session.Plan.Targets...)
		s.Plan.DynamicResources = s.Plan.DynamicResources || p.session.Plan.DynamicResources
		for _, n := range p.session.Request.Namespaces {
			if !s.Request.AllNamespaces && !slices.Contains(s.Request.Namespaces, n) {
				s.Request.Namespaces = append(slices.Clip(s.Request.Namespaces), n)
			}
		}
	}
	s.Mapper = mapper.NewFixed(unique(resources))
	s.Planner = plan.New(s.Request, s.Mapper)
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

// Scope describes a run over the recording. now is the time of the event that was delivered last.
func (r *Recording) Scope(s *run.Session, now func() time.Time) *run.Scope {
	scope := s.Scope()
	scope.Cluster, scope.Server = "recording "+output.EscapeLine(r.from), r.About("").Server
	scope.Recorded = &run.Recorded{Now: now, Begin: r.begin()}
	if r.IsSeveral() {
		scope.Clusters = r.clusters
	}
	scope.Origin = func(_ context.Context, cluster string) (string, error) {
		about := r.About(cluster)
		return run.CloudEventSource(about.ClusterUID, about.Server), nil
	}
	return scope
}

// ClusterNames are the names of several clusters, or nil.
func (r *Recording) ClusterNames() []string {
	if !r.IsSeveral() {
		return nil
	}
	return event.ClusterNames(r.clusters())
}

func (r *Recording) clusters() (all []event.Cluster) {
	for _, p := range r.parts {
		all = append(all, event.Cluster{Name: p.cluster, Started: true})
	}
	return all
}

// FirstCluster is the name of the cluster that is named first.
func (r *Recording) FirstCluster() string { return r.parts[0].cluster }

// begin is when the first part begins.
func (r *Recording) begin() time.Time {
	var begin time.Time
	for _, p := range r.parts {
		if at := p.StartTime(); begin.IsZero() || at.Before(begin) && !at.IsZero() { // a withheld part has no begin
			begin = at
		}
	}
	return begin
}

// end is when the last part ends.
func (r *Recording) end() time.Time {
	return slices.MaxFunc(r.parts, func(a, b *part) int { return a.EndTime().Compare(b.EndTime()) }).EndTime()
}

// reread returns the present state of the recording, which may have grown.
func (r *Recording) reread(ctx context.Context) (*Recording, error) {
	now := &Recording{from: r.from, of: r.of}
	for _, p := range r.parts {
		one := *p
		err := one.read(ctx)
		if err == nil {
			err = one.replan(ctx, r.of)
		}
		if err != nil {
			return nil, prefix(p.cluster, err)
		}
		now.parts = append(now.parts, &one)
	}
	return now, nil
}

// About describes the recording of a cluster. The name is empty if there is one cluster.
func (r *Recording) About(cluster string) recording.RunInfo {
	for _, p := range r.parts {
		if p.cluster == cluster {
			return p.LastRun()
		}
	}
	return recording.RunInfo{}
}

// SelectAll selects everything that was recorded except what of excludes, of each of several clusters what was recorded there.
func (r *Recording) SelectAll(ctx context.Context, of run.Selection) (run.Selection, error) {
	request := of.Request
	request.Arguments, of.OnlyRecorded = nil, r.IsSeveral()
	for _, p := range r.parts {
		excluded := map[schema.GroupResource]bool{}
		for _, name := range request.Exclude {
			answer, err := mapper.NewFixed(p.Resources()).Resolve(ctx, name)
			if err != nil && !mapper.IsUnknown(err) {
				return of, err
			}
			for _, m := range answer.Mappings {
				excluded[m.Resource.GroupResource()] = true
			}
		}
		for _, one := range p.arguments() {
			if !excluded[schema.ParseGroupResource(one.Resource)] && !slices.Contains(request.Arguments, one) {
				request.Arguments = append(request.Arguments, one)
			}
		}
		if len(request.Namespaces) == 0 && p.LastRun().Selection.AllNamespaces {
			request.AllNamespaces = true
		}
	}
	if len(request.Arguments) == 0 {
		return of, fail.Usage(errors.New("nothing else was recorded: --exclude leaves nothing"))
	}
	of.Request = request
	return of, nil
}

var errNotRecorded = errors.New("none of the requested resources was recorded")

// CheckRecorded returns an error if a cluster has none of the requested objects.
func (r *Recording) CheckRecorded() error {
	var failed []error
	for _, p := range r.parts {
		if p.notRecorded != nil {
			failed = append(failed, prefix(p.cluster, errNotRecorded))
		}
	}
	return incomplete(failed)
}

// prefix puts the name of one of several clusters before an error.
func prefix(cluster string, err error) error {
	if cluster == "" {
		return err
	}
	return fmt.Errorf("%s: %w", output.EscapeLine(cluster), err)
}

// State is what existed in one cluster at a time.
type State struct {
	Cluster string // empty if there is one cluster
	Objects []event.Object
	Session *run.Session
	Proof   *recording.Proof
}

// At returns what existed at a time in each cluster. The zero time is the end of the recording.
func (r *Recording) At(ctx context.Context, at time.Time) (all []State, found Proofs, err error) {
	for _, p := range r.asked() {
		objects, proof, err := p.ObjectsAt(ctx, p.query, at)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, State{p.cluster, objects, p.session, proof})
		found = append(found, &partProof{part: p, proof: proof})
	}
	return all, found, nil
}

// play delivers what happened, of several clusters in one order of time.
func (r *Recording) play(ctx context.Context, q recording.Query, sink event.Sink) (Proofs, error) {
	var all []recording.ClusterQuery
	var found Proofs
	for _, p := range r.asked() {
		all = append(all, recording.ClusterQuery{Recording: p.Recording, Query: p.withTimes(q)})
		found = append(found, &partProof{part: p})
	}
	if !r.IsSeveral() {
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

// compare delivers what is different between the two times of q.
func (r *Recording) compare(ctx context.Context, q recording.Query, sink event.Sink) (found Proofs, err error) {
	var events []event.Event
	for _, p := range r.asked() {
		c, err := p.Compare(ctx, p.withTimes(q), q.From, q.To)
		found = append(found, &partProof{part: p, before: c.BeforeProof, proof: c.AfterProof, different: len(c.Events)})
		if err != nil {
			return found, err
		}
		events = append(events, c.Events...)
	}
	if len(events) == 0 {
		return found, nil
	}
	return found, sink.Deliver(ctx, events)
}
