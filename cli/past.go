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
	span     flags.Span
	unjudged int // of what is reconstructed, by --where
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
	case p.ends() && (s.w.ending.Conditions() || s.w.ending.Count > 0):
		return errors.New("--before ends with what happened before: it does not go with --until, --fail-if and --count")
	case s.w.ending.Count > 0:
		return errors.New("--since comes as a whole, however much it is: it does not go with --count")
	}
	return p.span.Check()
}

// before returns a stage before next that adds what happened before, when it is known what exists;
// without being asked for that, it is next. note takes what is said of it; nil: stderr does.
func (p *past) before(next event.Sink, w *watching, note func(time.Time, string)) event.Sink {
	if !p.isAsked() {
		return next
	}
	if note == nil {
		note = func(_ time.Time, text string) { w.warn(text) }
	}
	return &pastStage{
		watching: w, next: next, note: note, links: event.NewLinks(w.plan.Targets),
		history: history.History{Span: history.Span(p.span)}, uids: map[types.UID]bool{},
	}
}

type pastStage struct {
	*watching
	next    event.Sink
	note    func(time.Time, string)
	links   *event.Links
	history history.History
	uids    map[types.UID]bool // of what exists, if not all of a resource is asked for
	done    bool
}

// Deliver implements event.Sink.
func (s *pastStage) Deliver(ctx context.Context, batch []event.Event) error {
	if s.done {
		return s.next.Deliver(ctx, batch)
	}
	for i := range batch {
		e := &batch[i]
		s.links.Observe(e)
		if e.Type == event.Added && e.Initial {
			s.history.Add(e.Target, e.Object)
			if s.selects() {
				s.uids[e.Object.UID] = true
			}
		}
	}
	if !s.past.ends() {
		if err := s.next.Deliver(ctx, batch); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(s.links.All(), isAwaited) {
		return nil
	}
	s.done = true
	return s.tell(ctx)
}

// isAwaited reports whether the server has not said yet what exists of a target. One that is lost
// may be for ever, and the others don't wait for it.
func isAwaited(l *event.Link) bool { return !l.Synced && l.Phase() == event.PhaseConnecting }

// ofNothing returns the run of a plan without targets: that there is nothing goes to the stage
// first, past those that leave out empty batches.
func ofNothing(first event.Sink) func(context.Context, event.Sink) error {
	return func(ctx context.Context, _ event.Sink) error { return blamed(first).Deliver(ctx, nil) }
}

// noteUnlisted says of which targets nothing is known.
func (s *pastStage) noteUnlisted() {
	for _, l := range s.links.All() {
		if phase := l.Phase(); !l.Synced && (phase == event.PhaseLost || phase == event.PhaseDenied) {
			s.note(time.Now(), fmt.Sprintf("%s can't be listed, so what happened there is not known: %s", l.Target.Text(), fail.Loss(l.Err)))
		}
	}
}

// selects reports whether not all objects of a target are asked for, besides by name.
func (s *pastStage) selects() bool { return s.scope.LabelSelector != "" || s.scope.FieldSelector != "" }

// tell delivers what happened, and says what is not known.
func (s *pastStage) tell(ctx context.Context) error {
	s.noteUnlisted()
	for _, w := range s.witnesses() {
		if err := s.hear(ctx, w); err != nil && !apierrors.IsNotFound(err) {
			s.note(time.Now(), fmt.Sprintf("%s can't be listed, so %s missing: %s", w.resource.GroupResource(), w.tells, fail.Loss(err)))
		}
	}
	events, undated := s.history.Events(), s.history.Undated()
	s.history = history.History{}
	for part := range slices.Chunk(events, 1<<10) {
		if err := s.next.Deliver(ctx, part); err != nil {
			return err
		}
	}
	s.noteUndated(undated)
	s.note(time.Now(), s.summary(len(events) == 0))
	if s.past.ends() {
		return errEnough
	}
	return nil
}

// maxUndated is how many writes are named that have no time.
const maxUndated = 5

// noteUndated says who wrote through the subresource scale: that is asked for first, and the server
// notes no time of it.
func (s *pastStage) noteUndated(undated []event.Event) {
	for i, e := range undated {
		if i == maxUndated && len(undated) > i+1 {
			s.note(time.Now(), fmt.Sprintf("and %d objects more were scaled at times that the server has not noted", len(undated)-i))
			return
		}
		var held []string
		for _, c := range change.Between(e.Reconstructed.Around.Raw(), e.Object.Raw(), s.print.Compare).Changes {
			held = append(held, c.Path.String()+" = "+output.JSON(c.New))
		}
		writer := e.Reconstructed.Writers[0]
		if len(held) > 0 {
			s.note(time.Now(), fmt.Sprintf("at a time that the server has not noted: %s  %s, by %s (subresource %s)", s.subject(e.Target, e.Object), strings.Join(held, ", "), writer.Manager, writer.Subresource))
		}
	}
}

// hear lists what a witness knows.
func (s *pastStage) hear(ctx context.Context, w witness) error {
	target := event.Target{Mapping: event.NewMapping(w.resource, "Event", true), Namespace: w.namespace}
	return s.questions.Each(ctx, w.resource, w.namespace, func(o event.Object) {
		switch {
		case !o.IsEvent():
			s.history.AddRevision(o)
		case s.isAbout(kubeevent.Parse(o.Raw()).About):
			s.history.Add(target, o)
		}
	})
}

// isAbout reports whether an object is, or was, one of those that are asked for.
func (s *pastStage) isAbout(o owner.Ref) bool {
	if s.selects() {
		return s.uids[o.UID]
	}
	return slices.ContainsFunc(s.plan.Targets, func(t event.Target) bool {
		return t.Mapping.GroupVersionKind.GroupKind() == o.GroupKind() && (t.Name == "" || t.Name == o.Name) &&
			(t.Namespace == "" || t.Namespace == o.Namespace)
	})
}

// summary says what the reconstructed part rests on, and what it can't know.
func (s *pastStage) summary(isEmpty bool) string {
	what := "reconstructed"
	if isEmpty {
		what = "nothing to be reconstructed"
	}
	when, span := "", s.past.span
	if !span.Since.IsZero() {
		when = " since " + clockOf(span.Since)
	}
	if !span.Before.IsZero() {
		when += " before " + clockOf(span.Before)
	}
	text := fmt.Sprintf("%s%s. Not known: deletions, values before (but of templates), what was overwritten since, the order within a second", what, when)
	if s.past.unjudged > 0 {
		text += fmt.Sprintf("; of %d changes more, whether --where held", s.past.unjudged)
	}
	return text
}

// clockOf is a time as a clock shows it here, with the date if it has shown that again since.
func clockOf(at time.Time) string {
	if time.Since(at) >= 24*time.Hour {
		return at.Local().Format(time.DateTime)
	}
	return at.Local().Format(time.TimeOnly)
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
		if resource := history.RevisionsOf[kind.Group+"/"+kind.Kind]; resource != "" {
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
