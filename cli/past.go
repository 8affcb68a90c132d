package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/history"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/object/owner"
)

// past is what happened before the watch began, as far as the cluster remembers it: --since and
// --before.
type past struct {
	span        flags.TimeRange
	unlisted    bool // of some targets nothing is known
	unevaluated int  // of what is reconstructed, by --where
}

func (p *past) isAsked() bool { return !p.span.Since.IsZero() || p.ends() }

// ends reports whether nothing is asked for but the past.
func (p *past) ends() bool { return !p.span.Before.IsZero() }

func (p *past) check(s *streamFlags) error {
	switch {
	case !p.isAsked():
		return nil
	case s.w.stateFile != "":
		return errors.New("--state carries on where the last run ended, whatever the cluster remembers: it does not go with --since and --before")
	case p.ends() && (s.w.ending.HasConditions() || s.w.ending.Count > 0):
		return errors.New("--before ends with what happened before: it does not go with --until, --fail-if and --count")
	case s.w.ending.Count > 0:
		return errors.New("--since comes as a whole, however much it is: it does not go with --count")
	}
	return nil
}

// before returns a stage before next that adds what happened before, when it is known what exists;
// without being asked for that, it is next. note takes what is said of it; nil: stderr does.
func (p *past) before(next event.Sink, w *watching, note func(time.Time, string)) event.Sink {
	switch {
	case !p.isAsked():
		return next
	case w.fleet != nil: // each member finds out its own
		return p.present(next)
	}
	if note == nil {
		note = func(_ time.Time, text string) { w.warn(text) }
	}
	return &pastStage{past: p, reconstructing: newReconstructing(w, w.session, w.plan.Targets), next: p.present(next), found: next, note: note}
}

// present is next, or a Sink that takes nothing, where only the past is asked for.
func (p *past) present(next event.Sink) event.Sink {
	if p.ends() {
		return event.SinkFunc(func(context.Context, []event.Event) error { return nil })
	}
	return next
}

// pastStage adds what happened before at one cluster.
type pastStage struct {
	*past
	*reconstructing
	next, found event.Sink // of what comes, and of what happened before
	note        func(time.Time, string)
	done        bool
}

// Deliver implements event.Sink.
func (s *pastStage) Deliver(ctx context.Context, batch []event.Event) error {
	if s.done {
		return s.next.Deliver(ctx, batch)
	}
	s.observe(batch)
	if err := s.next.Deliver(ctx, batch); err != nil || !s.isSynced() {
		return err
	}
	s.done = true
	known := s.known(ctx)
	s.unlisted = known.unlisted
	if err := s.tell(ctx, known, s.found, s.note); err != nil {
		return err
	}
	if s.ends() {
		return errEnough
	}
	return nil
}

// tell delivers what is known of before, and has note say what is not.
func (p *past) tell(ctx context.Context, known reconstructed, to event.Sink, note func(time.Time, string)) error {
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
	note(time.Now(), p.summary(known))
	return nil
}

// reconstructing finds out what happened before at one cluster. One goroutine uses it.
type reconstructing struct {
	*session
	cluster string // its name, where there are several
	print   *output.Options
	links   *event.WatchStates
	history history.History
	uids    map[types.UID]bool // of what exists, if not all of a resource is asked for
}

func newReconstructing(w *watching, s *session, targets []event.Target) *reconstructing {
	return &reconstructing{
		session: s, print: &w.print, links: event.NewWatchStates(targets),
		history: history.History{TimeRange: history.TimeRange(w.past.span)}, uids: map[types.UID]bool{},
	}
}

// reconstructed is what is known of before, and in words what is not.
type reconstructed struct {
	events   []event.Event // in the order of time
	missing  []string      // what could not be read
	undated  []string      // what was done at some time
	unlisted bool          // of some targets nothing is known
	whole    bool          // times are to be written whole
}

func (r *reconstructing) observe(batch []event.Event) {
	for i := range batch {
		e := &batch[i]
		r.links.Observe(e)
		if e.Type == event.Added && e.Initial {
			r.history.Add(e.Target, e.Object)
			if r.scope.IsFiltered() {
				r.uids[e.Object.UID] = true
			}
		}
	}
}

// isSynced reports whether it is known what exists, as far as it will be.
func (r *reconstructing) isSynced() bool { return !slices.ContainsFunc(r.links.All(), isAwaited) }

// isAwaited reports whether the server has not said yet what exists of a target. One that is lost
// may be for ever, and the others don't wait for it.
func isAwaited(l *event.WatchState) bool { return !l.Synced && l.Phase() == event.PhaseConnecting }

// ofNothing returns the run of a plan without targets: that there is nothing goes to the stage
// first, past those that leave out empty batches.
func ofNothing(first event.Sink) func(context.Context, event.Sink) error {
	return func(ctx context.Context, _ event.Sink) error { return blamed(first).Deliver(ctx, nil) }
}

// known asks what tells of before besides the objects, and returns what is known by then. It is called
// once.
func (r *reconstructing) known(ctx context.Context) (known reconstructed) {
	for _, l := range r.links.All() {
		if phase := l.Phase(); !l.Synced && (phase == event.PhaseLost || phase == event.PhaseDenied) {
			known.unlisted = true
			known.missing = append(known.missing, fmt.Sprintf("%s can't be listed, so what happened there is not known: %s", ofOne(l.Target).Text(), fail.ExplainDisconnect(l.Err)))
		}
	}
	for _, w := range r.witnesses() {
		if err := r.hear(ctx, w); err != nil && !apierrors.IsNotFound(err) {
			known.missing = append(known.missing, fmt.Sprintf("%s can't be listed, so %s missing: %s", w.resource.GroupResource(), w.tells, fail.ExplainDisconnect(err)))
		}
	}
	known.events, known.undated, known.whole = r.history.Events(), r.undated(r.history.Undated()), r.print.Timestamps
	r.history = history.History{}
	return known
}

// ofOne is a target without its cluster, for what is said of that.
func ofOne(t event.Target) event.Target {
	t.Cluster = ""
	return t
}

// maxUndated is how many writes are named that have no time.
const maxUndated = 5

// undated says who wrote through the subresource scale: that is asked for first, and the server
// notes no time of it.
func (r *reconstructing) undated(writes []event.Event) (texts []string) {
	for i, e := range writes {
		if i == maxUndated && len(writes) > i+1 {
			return append(texts, fmt.Sprintf("and %d objects more were scaled at times that the server has not noted", len(writes)-i))
		}
		var held []string
		for _, c := range change.Diff(e.Reconstructed.Base.Raw(), e.Object.Raw(), r.print.Compare).Changes {
			held = append(held, c.Path.String()+" = "+output.JSON(c.New))
		}
		writer := e.Reconstructed.Writers[0]
		if len(held) > 0 {
			texts = append(texts, fmt.Sprintf("at a time that the server has not noted: %s  %s, by %s (subresource %s)", r.subject(ofOne(e.Target), e.Object), strings.Join(held, ", "), writer.Manager, writer.Subresource))
		}
	}
	return texts
}

// hear lists what a witness knows.
func (r *reconstructing) hear(ctx context.Context, w witness) error {
	target := event.Target{Cluster: r.cluster, Mapping: event.NewMapping(w.resource, "Event", true), Namespace: w.namespace}
	return r.questions.ForEachObject(ctx, w.resource, w.namespace, func(o event.Object) {
		switch {
		case !o.IsEvent():
			r.history.AddRevision(o)
		case r.isAbout(kubeevent.Parse(o.Raw()).InvolvedObject):
			r.history.Add(target, o)
		}
	})
}

// isAbout reports whether an object is, or was, one of those that are asked for.
func (r *reconstructing) isAbout(o owner.Ref) bool {
	if r.scope.IsFiltered() {
		return r.uids[o.UID]
	}
	return slices.ContainsFunc(r.plan.Targets, func(t event.Target) bool {
		return t.Mapping.GroupVersionKind.GroupKind() == o.GroupKind() && (t.Name == "" || t.Name == o.Name) &&
			(t.Namespace == "" || t.Namespace == o.Namespace)
	})
}

// summary says what the reconstructed part rests on, and what it can't know.
func (p *past) summary(known reconstructed) string {
	what := "reconstructed"
	if len(known.events) == 0 {
		what = "nothing to be reconstructed"
	}
	when, now := "", time.Now()
	if !p.span.Since.IsZero() {
		when = " since " + output.FormatTime(p.span.Since, now, known.whole)
	}
	if !p.span.Before.IsZero() {
		when += " before " + output.FormatTime(p.span.Before, now, known.whole)
	}
	text := fmt.Sprintf("%s%s. Not known: deletions, values before (but of templates), what was overwritten since, the order within a second", what, when)
	if p.unevaluated > 0 {
		text += fmt.Sprintf("; of %d changes more, whether --where held", p.unevaluated)
		p.unevaluated = 0
	}
	return text
}

// witness is a resource of which objects tell what happened to others.
type witness struct {
	resource  schema.GroupVersionResource
	namespace string // empty: all
	tells     string
}

// witnesses are those of what is planned, that are not in the plan themselves.
func (s *session) witnesses() (all []witness) {
	for _, t := range s.plan.Targets {
		kind := t.Mapping.GroupVersionKind
		if resource := history.RevisionResources[kind.Group+"/"+kind.Kind]; resource != "" {
			all = append(all, witness{schema.GroupVersionResource{Group: kind.Group, Version: "v1", Resource: resource}, t.Namespace,
				"the former templates of " + t.Resource().Resource + " are"})
		}
	}
	for _, t := range s.plan.Targets {
		if event.IsEvent(t.Mapping.GroupVersionKind.GroupKind()) {
			return s.unplanned(all) // they are asked for themselves
		}
		namespace := t.Namespace
		if !t.Namespaced() && !s.scope.AllNamespaces {
			namespace = "default" // where those about objects in no namespace are
		}
		all = append(all, witness{schema.GroupVersionResource{Version: "v1", Resource: "events"}, namespace, "Events are"})
	}
	return s.unplanned(all)
}

// unplanned has each of witnesses once, without those that are watched as a whole.
func (s *session) unplanned(all []witness) (rest []witness) {
	for _, w := range all {
		same := func(o witness) bool {
			return o.resource == w.resource && (o.namespace == w.namespace || o.namespace == "")
		}
		planned := func(t event.Target) bool {
			return t.Resource() == w.resource && t.Name == "" && (t.Namespace == w.namespace || t.Namespace == "") &&
				cmp.Or(s.scope.LabelSelector, s.scope.FieldSelector) == ""
		}
		wider := func(o witness) bool { return o.resource == w.resource && o.namespace == "" && w.namespace != "" }
		if !slices.ContainsFunc(rest, same) && !slices.ContainsFunc(all, wider) && !slices.ContainsFunc(s.plan.Targets, planned) {
			rest = append(rest, w)
		}
	}
	return rest
}

// revisionsOf asks for what keeps the former templates of a workload; nothing of another object.
func (s *session) revisionsOf(ctx context.Context, cluster string, o event.Object) (found []event.Object, err error) {
	resource := history.RevisionResources[o.GroupVersionKind().Group+"/"+o.Kind]
	if resource == "" {
		return nil, nil
	}
	asks := s.asks(cluster)
	if asks == nil {
		return nil, fmt.Errorf("%s has not answered", cluster)
	}
	// Those of others say nothing of it.
	err = asks.ForEachObject(ctx, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource}, o.Namespace, func(r event.Object) {
		if slices.ContainsFunc(owner.FromJSON(r.Raw()), func(by owner.Owner) bool { return by.UID == o.UID }) {
			found = append(found, r)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("the former templates are not known: %s of namespace %s can't be listed: %s", resource, o.Namespace, fail.ExplainDisconnect(err))
	}
	return found, nil
}
