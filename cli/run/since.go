package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/output/text"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/history"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// --since and --before show changes from before the watch began, as far as the cluster remembers them: a reconstruction observes the
// existing objects, and then reads Events and former templates.

// sinceStage adds the reconstructed past of the only cluster to its events, once all targets are synced.
type sinceStage struct {
	run            *Run
	reconstruction *reconstruction
	next           event.Sink // gets the events of the watch
	past           event.Sink // gets the reconstructed events
	note           func(time.Time, string)
	done           bool
}

// newSinceStage returns a sinceStage before next.
func (r *Run) newSinceStage(next event.Sink) event.Sink {
	note := r.note
	if note == nil {
		note = func(_ time.Time, text string) { r.scope.Console.Warn(text) }
	}
	return &sinceStage{run: r, reconstruction: r.newReconstruction(r.session, r.scope.Targets), next: r.dropPresent(next), past: next, note: note}
}

// dropPresent returns next, or with --before a Sink that drops everything: only the past is asked for.
func (r *Run) dropPresent(next event.Sink) event.Sink {
	if r.cfg.OnlyPast() {
		return event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	}
	return next
}

// Deliver implements event.Sink.
func (s *sinceStage) Deliver(ctx context.Context, batch []event.Event) error {
	if s.done {
		return s.next.Deliver(ctx, batch)
	}
	s.reconstruction.observe(batch)
	if err := s.next.Deliver(ctx, batch); err != nil || !s.reconstruction.isSynced() {
		return err
	}
	s.done = true
	known := s.reconstruction.finish(ctx)
	s.run.pastIncomplete = known.unlisted
	if err := s.run.deliverPast(ctx, known, s.past, s.note); err != nil {
		return err
	}
	if s.run.cfg.OnlyPast() {
		return ErrEnough
	}
	return nil
}

// deliverPast delivers what was reconstructed, and notes what could not be.
func (r *Run) deliverPast(ctx context.Context, known reconstructed, to event.Sink, note func(time.Time, string)) error {
	for _, text := range known.missing {
		note(time.Now(), text)
	}
	for part := range slices.Chunk(known.events, 1<<10) {
		if err := to.Deliver(ctx, part); err != nil {
			return err
		}
	}
	for _, text := range known.undated {
		note(time.Now(), text)
	}
	note(time.Now(), r.summarizePast(known))
	return nil
}

// summarizePast says which time the reconstruction covers, and its limits.
func (r *Run) summarizePast(known reconstructed) string {
	what := "reconstructed"
	if len(known.events) == 0 {
		what = "no changes reconstructed"
	}
	when, now := "", time.Now()
	if !r.cfg.Past.Since.IsZero() {
		when = " since " + output.FormatTime(r.cfg.Past.Since, now, r.cfg.Print.Timestamps)
	}
	if !r.cfg.Past.Before.IsZero() {
		when += " before " + output.FormatTime(r.cfg.Past.Before, now, r.cfg.Print.Timestamps)
	}
	summary := fmt.Sprintf("%s%s. Not known: deletions, earlier values (except of templates), overwritten changes, and the order within a second", what, when)
	if r.unevaluatedPast > 0 {
		summary += fmt.Sprintf("; --where could not be evaluated for %d more %s", r.unevaluatedPast, text.Plural(r.unevaluatedPast, "change"))
		r.unevaluatedPast = 0
	}
	return summary
}

// reconstruction finds out what happened at one cluster before the watch began. One goroutine uses it.
type reconstruction struct {
	session *Session
	cluster string // the name of one of several clusters, or empty
	compare change.Options
	// timestamps writes times in messages with date, milliseconds and zone.
	timestamps bool
	links      *event.WatchStates
	history    history.History
	scaled     scalings
	uids       map[types.UID]bool // of the selected objects, if selectors are given
}

func (r *Run) newReconstruction(s *Session, targets []event.Target) *reconstruction {
	return &reconstruction{
		session: s, compare: r.cfg.Print.Compare, timestamps: r.cfg.Print.Timestamps, links: event.NewWatchStates(targets),
		history: history.History{TimeRange: history.TimeRange(r.cfg.Past)}, uids: map[types.UID]bool{},
	}
}

// reconstructed is the reconstructed past, and messages about its gaps.
type reconstructed struct {
	events   []event.Event // in the order of time
	missing  []string      // what could not be read
	undated  []string      // changes without a time
	unlisted bool          // some targets could not be listed
}

func (r *reconstruction) observe(batch []event.Event) {
	for i := range batch {
		e := &batch[i]
		r.links.Observe(e)
		if e.Type == event.Added && e.Initial {
			r.history.Add(e.Target, e.Object)
			r.scaled.addReplicaSet(e.Object)
			if r.session.Request.IsFiltered() {
				r.uids[e.Object.UID] = true
			}
		}
	}
}

// isSynced reports whether the server has listed all targets. It ignores targets whose connection is lost, which may last for ever.
func (r *reconstruction) isSynced() bool {
	return !slices.ContainsFunc(r.links.All(), func(l *event.WatchState) bool { return !l.Synced && l.Phase() == event.PhaseConnecting })
}

// finish reads Events and former templates, and returns the past. It is called once.
func (r *reconstruction) finish(ctx context.Context) (known reconstructed) {
	for _, l := range r.links.All() {
		if phase := l.Phase(); !l.Synced && (phase == event.PhaseLost || phase == event.PhaseDenied) {
			known.unlisted = true
			known.missing = append(known.missing, describeUnlisted(l))
		}
	}
	for _, source := range r.session.historySources() {
		if err := r.read(ctx, source); err != nil && !apierrors.IsNotFound(err) {
			known.missing = append(known.missing, fmt.Sprintf("cannot list %s, so %s missing: %s", source.resource.GroupResource(), source.contains, fail.ExplainDisconnect(err)))
		}
	}
	known.events = r.history.Events()
	r.scaled.addEvents(known.events)
	known.undated = r.describeUndated(r.history.Undated())
	r.history = history.History{}
	return known
}

// describeUnlisted says why a target cannot be listed. The caller adds the name of the cluster.
func describeUnlisted(l *event.WatchState) string {
	err := l.Err
	if of, ok := errors.AsType[*event.TargetError](err); ok {
		err = of.Err // the message already names the target
	}
	return fmt.Sprintf("cannot list %s, so past changes are unknown: %s", withoutClusterName(l.Target).Text(), fail.ExplainDisconnect(err))
}

// withoutClusterName returns t for a message that names the cluster by itself.
func withoutClusterName(t event.Target) event.Target {
	t.Cluster = ""
	return t
}

// maxUndated is how many writes without a time are named. If there is one more, it is named, too.
const maxUndated = 5

// describeUndated names writes through the subresource scale, for which the server records no time. If an Event of the Deployment
// controller followed from the write, it names the Event and its time. Events are no proof: tenants can create them, too.
func (r *reconstruction) describeUndated(writes []event.Event) (texts []string) {
	scope := r.session.Scope()
	for i, e := range writes {
		if i == maxUndated && len(writes) > i+1 {
			return append(texts, fmt.Sprintf("and %d objects more were scaled at times that the server has not recorded", len(writes)-i))
		}
		var values []string
		for _, c := range change.Diff(e.Reconstructed.Base.Raw(), e.Object.Raw(), r.compare).Changes {
			values = append(values, c.Path.String()+" = "+output.JSON(c.New))
		}
		writer := e.Reconstructed.Writers[0]
		if len(values) > 0 {
			texts = append(texts, fmt.Sprintf("%s: %s  %s, by %s (subresource %s)", r.describeScaleTime(e.Object),
				scope.Subject(withoutClusterName(e.Target), e.Object), strings.Join(values, ", "), writer.Manager, writer.Subresource))
		}
	}
	return texts
}

// describeScaleTime returns the time of the Event that a scaling caused, or says that the server did not record the time.
func (r *reconstruction) describeScaleTime(o event.Object) string {
	replicas := gjson.Get(o.Raw(), "spec.replicas")
	if s, found := r.scaled.find(o, replicas.Int()); found && replicas.Exists() {
		return fmt.Sprintf("at %s according to the Event %s, as the server records no time of the write", output.FormatTime(s.at, time.Now(), r.timestamps), strconv.Quote(s.message))
	}
	return "at a time that the server has not recorded"
}

// read lists a source and adds what it knows.
func (r *reconstruction) read(ctx context.Context, source historySource) error {
	target := event.Target{Cluster: r.cluster, Mapping: event.NewMapping(source.resource, "Event", true), Namespace: source.namespace}
	return r.session.Lookup.ForEachObject(ctx, source.resource, source.namespace, func(o event.Object) {
		switch {
		case !o.IsEvent():
			r.history.AddRevision(o)
			r.scaled.addReplicaSet(o)
		case r.isSelected(kubeevent.Parse(o.Raw()).InvolvedObject):
			r.history.Add(target, o)
		}
	})
}

// isSelected reports whether an object is, or was, one of the requested ones.
func (r *reconstruction) isSelected(o owner.Ref) bool {
	if r.session.Request.IsFiltered() {
		return r.uids[o.UID]
	}
	return slices.ContainsFunc(r.session.Plan.Targets, func(t event.Target) bool {
		return t.Mapping.GroupVersionKind.GroupKind() == o.GroupKind() && (t.Name == "" || t.Name == o.Name) &&
			(t.Namespace == "" || t.Namespace == o.Namespace)
	})
}

// historySource is a resource that contains the history of other objects: Events, ReplicaSets, ControllerRevisions.
type historySource struct {
	resource  schema.GroupVersionResource
	namespace string // if empty, all namespaces
	contains  string // the subject of the message if it cannot be read
}

// historySources are the sources for the planned targets, except the ones that are watched themselves.
func (s *Session) historySources() (all []historySource) {
	for _, t := range s.Plan.Targets {
		kind := t.Mapping.GroupVersionKind
		if resource := history.RevisionResources[kind.Group+"/"+kind.Kind]; resource != "" {
			all = append(all, historySource{schema.GroupVersionResource{Group: kind.Group, Version: "v1", Resource: resource}, t.Namespace,
				"the former templates of " + t.Resource().Resource + " are"})
		}
	}
	for _, t := range s.Plan.Targets {
		if event.IsEvent(t.Mapping.GroupVersionKind.GroupKind()) {
			return s.withoutPlanned(all) // Events are asked for themselves
		}
		namespace := t.Namespace
		if !t.Namespaced() && !s.Request.AllNamespaces {
			namespace = "default" // which has the Events about objects without a namespace
		}
		all = append(all, historySource{schema.GroupVersionResource{Version: "v1", Resource: "events"}, namespace, "Events are"})
	}
	return s.withoutPlanned(all)
}

// withoutPlanned removes duplicates and resources that are watched completely.
func (s *Session) withoutPlanned(all []historySource) (rest []historySource) {
	for _, w := range all {
		same := func(o historySource) bool {
			return o.resource == w.resource && (o.namespace == w.namespace || o.namespace == "")
		}
		planned := func(t event.Target) bool {
			return t.Resource() == w.resource && t.Name == "" && (t.Namespace == w.namespace || t.Namespace == "") &&
				cmp.Or(s.Request.LabelSelector, s.Request.FieldSelector) == ""
		}
		wider := func(o historySource) bool {
			return o.resource == w.resource && o.namespace == "" && w.namespace != ""
		}
		if !slices.ContainsFunc(rest, same) && !slices.ContainsFunc(all, wider) && !slices.ContainsFunc(s.Plan.Targets, planned) {
			rest = append(rest, w)
		}
	}
	return rest
}

// Revisions returns the objects that contain the former templates of a workload. Other objects have none.
func (s *Scope) Revisions(ctx context.Context, cluster string, o event.Object) (found []event.Object, err error) {
	resource := history.RevisionResources[o.GroupVersionKind().Group+"/"+o.Kind]
	if resource == "" {
		return nil, nil
	}
	client := s.Lookup(cluster)
	if client == nil {
		return nil, fmt.Errorf("%s has not answered", cluster)
	}
	err = client.ForEachObject(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}, o.Namespace, func(r event.Object) {
		if slices.ContainsFunc(owner.FromJSON(r.Raw()), func(by owner.Owner) bool { return by.UID == o.UID }) {
			found = append(found, r)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("the former templates are not known: %s of namespace %s can't be listed: %s", resource, o.Namespace, fail.ExplainDisconnect(err))
	}
	return found, nil
}
