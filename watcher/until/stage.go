// Package until ends a run when a condition holds. A [Stage] is a Sink that wraps another one, and
// reports the decision as an error.
//
//	events -> Stage (evaluates every event, also initial ones) -> next
//	            |
//	            which objects exist, and for which the condition holds -> *Outcome
//
// The set of objects is complete when every target is synced. Before that, only a single object can
// decide, by the quantifier Any or by FailIf.
package until

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// Options says what ends a run.
type Options struct {
	// Until ends the run with success, and FailIf with a failure. FailIf is evaluated first and
	// holds if it does for any object. nil never holds.
	Until, FailIf *expression.Expression
	// Awaited are requested targets that the server does not serve yet. Unless the quantifier is
	// Any, Until can't be fulfilled before it does.
	Awaited    []AwaitedTarget
	Quantifier Quantifier         // of Until; empty means All
	Input      expression.Options // options for evaluating the expressions
	// Confirm is called before an existing object counts as one that Until holds for. If it returns
	// false, the object does not count, and is evaluated again later. nil confirms all objects.
	Confirm func(e *event.Event) bool
	// OnError is called with the first error of each expression. The expression counts as not
	// holding for that event. nil ignores errors.
	OnError func(x *expression.Expression, e event.Event, err error)
}

// AwaitedTarget is a resource that the server does not serve yet, optionally with the name of an
// object, or a cluster without a watched resource.
type AwaitedTarget struct {
	Name    string // for messages
	Cluster string // empty if the run has one cluster
	Reason  string // why it is missing
	// Matches reports whether the server now serves the awaited target as t.
	Matches func(event.Target) bool
}

// Outcome is the error with which Deliver ends a run.
type Outcome struct {
	Failed bool // FailIf holds
	// Event is the event that decided. It is a status event if the decision is about objects that
	// do not exist, or about a completed list.
	Event event.Event
	// ObjectCount is the number of objects for which Until holds. If it is 1, Object is a target
	// for that object.
	ObjectCount int
	Object      event.Target
	// Undelivered is the error of the next Sink for the batch with the deciding event, or nil.
	Undelivered error
}

func (o *Outcome) Error() string {
	if o.Failed {
		return "the failure condition holds"
	}
	return "the condition holds"
}

func (o *Outcome) Unwrap() error { return o.Undelivered }

// Stage is a Sink that evaluates the expressions for every event and passes it on. The deciding
// event is the last one that it passes on.
type Stage struct {
	Options
	next    event.Sink
	states  *event.WatchStates
	absent  map[event.Key]bool // true for targets without objects for which Until holds because of that
	results results
	// usesClock is true if an expression reads the clock.
	usesClock bool
	// timed contains the last event of each existing object whose result may change with time: of
	// all objects if an expression reads the clock, otherwise only of pods in a crash loop.
	timed  map[objectKey]event.Event
	failed map[*expression.Expression]bool // expressions whose error was reported
}

var _ event.Sink = (*Stage)(nil)

type objectKey struct {
	cluster string
	schema.GroupResource
	namespace, name string
}

func keyOf(e *event.Event) objectKey {
	return objectKey{e.Target.Cluster, e.Target.Resource().GroupResource(), e.Object.Namespace, e.Object.Name}
}

// New returns a Stage that wraps next. targets are watched from the start.
func New(next event.Sink, targets []event.Target, o Options) *Stage {
	s := &Stage{
		Options: o,
		next:    next,
		states:  event.NewWatchStates(targets),
		absent:  map[event.Key]bool{},
		results: newResults(),
		failed:  map[*expression.Expression]bool{},
		timed:   map[objectKey]event.Event{},
	}
	if o.Until != nil && o.Until.Requirements().Now || o.FailIf != nil && o.FailIf.Requirements().Now {
		s.usesClock = true
	}
	return s
}

// Deliver implements event.Sink. If the run is decided, Deliver passes on the events up to the
// deciding one and returns an *Outcome.
func (s *Stage) Deliver(ctx context.Context, batch []event.Event) error {
	for i := range batch {
		outcome := s.decide(&batch[i])
		if outcome == nil {
			continue
		}
		outcome.Undelivered = s.next.Deliver(ctx, batch[:i+1])
		return outcome
	}
	return s.next.Deliver(ctx, batch)
}

func (s *Stage) decide(e *event.Event) *Outcome {
	s.states.Observe(e)
	if e.Type.IsStatus() {
		s.observeStatus(e)
		return s.decideAll(e)
	}
	delete(s.timed, keyOf(e))
	if s.usesClock && e.Type != event.Deleted {
		s.timed[keyOf(e)] = *e
	}
	if o := s.evaluate(e, false); o != nil {
		return o
	}
	return s.decideAll(e)
}

// StopAwaiting removes the awaited targets that match, and returns the outcome if that decides. It
// must not be called during Deliver.
func (s *Stage) StopAwaiting(match func(AwaitedTarget) bool) *Outcome {
	s.Awaited = slices.DeleteFunc(s.Awaited, match)
	return s.decideAll(&event.Event{})
}

// DependsOnTime reports whether the passing of time alone may decide.
func (s *Stage) DependsOnTime() bool { return len(s.timed) > 0 }

// Reevaluate evaluates the objects that depend on time and are current again, and returns the
// outcome if that decides. It must not be called during Deliver.
func (s *Stage) Reevaluate() (decided *Outcome) {
	var last event.Event
	wasTimed := s.DependsOnTime() // an evaluation may remove the last object from s.timed
	for _, last = range s.timed {
		if l := s.states.Get(last.Target); !isCurrent(&l) {
			continue
		}
		if o := s.evaluate(&last, true); o != nil && (decided == nil || o.Failed) {
			decided = o
		}
	}
	if decided == nil && wasTimed {
		decided = s.decideAll(&last)
	}
	return decided
}

// evaluate evaluates the last event of an object. again is true if it has been evaluated before. It
// returns the outcome if that object decides.
func (s *Stage) evaluate(e *event.Event, again bool) *Outcome {
	in := expression.NewInput(*e, s.Input)
	confirmed := true
	defer func() { s.observeTime(e, in.DependsOnTime() || !confirmed) }()
	if s.holds(s.FailIf, in, e) {
		return &Outcome{Failed: true, Event: *e, ObjectCount: 1, Object: objectTarget(e)}
	}
	if s.Until == nil {
		return nil
	}
	holds := s.holds(s.Until, in, e)
	if holds && s.Confirm != nil && e.Type != event.Deleted {
		confirmed = s.Confirm(e)
		holds = confirmed
	}
	s.record(e, holds, again)
	if holds && s.Quantifier == Any {
		return &Outcome{Event: *e, ObjectCount: 1, Object: objectTarget(e)}
	}
	return nil
}

// observeTime retains an event whose result may change with time, to evaluate it again later.
func (s *Stage) observeTime(e *event.Event, dependsOnTime bool) {
	switch {
	case s.usesClock || e.Type == event.Deleted:
	case dependsOnTime:
		s.timed[keyOf(e)] = *e
	default:
		delete(s.timed, keyOf(e))
	}
}

func objectTarget(e *event.Event) event.Target {
	return event.Target{Cluster: e.Target.Cluster, Mapping: e.Target.Mapping, Namespace: e.Object.Namespace, Name: e.Object.Name}
}

// holds reports whether x holds. A nil expression does not.
func (s *Stage) holds(x *expression.Expression, in *expression.Input, e *event.Event) bool {
	if x == nil {
		return false
	}
	holds, err := x.Matches(in)
	if err != nil && !s.failed[x] {
		s.failed[x] = true
		if s.OnError != nil {
			s.OnError(x, *e, err)
		}
	}
	return holds && err == nil
}

func (s *Stage) record(e *event.Event, holds, again bool) {
	delete(s.absent, e.Target.Key())
	key := keyOf(e)
	if s.Quantifier == Each && s.results.holds[key] && (again || e.Type != event.Added) {
		return // it has held before
	}
	if e.Type == event.Deleted && !holds {
		s.results.remove(key)
		return
	}
	s.results.set(key, e, holds)
}

// decideAll returns the outcome if Until holds for all required objects.
func (s *Stage) decideAll(e *event.Event) *Outcome {
	if s.Until == nil || s.Quantifier != Any && (s.results.unmet > 0 || len(s.Awaited) > 0) {
		return nil
	}
	o := &Outcome{Event: *e, ObjectCount: len(s.results.holds)}
	for _, l := range s.states.All() {
		absent := s.absent[l.Target.Key()]
		switch {
		case s.Quantifier == Any && absent:
			return &Outcome{Event: *e, ObjectCount: 1, Object: l.Target}
		case s.Quantifier == Any:
		case !isCurrent(l), !absent && l.Target.Name != "" && !s.results.hasObjects(l.Target):
			return nil
		case absent:
			o.ObjectCount++
			o.Object = l.Target
		}
	}
	for key := range s.results.holds {
		if o.ObjectCount == 1 {
			o.Object = s.targetOf(key)
		}
		break
	}
	if o.ObjectCount == 0 || s.Quantifier == Any {
		return nil
	}
	return o
}

func (s *Stage) targetOf(key objectKey) event.Target {
	for _, l := range s.states.All() {
		if l.Target.Cluster == key.cluster && l.Target.Resource().GroupResource() == key.GroupResource {
			return event.Target{Cluster: key.cluster, Mapping: l.Target.Mapping, Namespace: key.namespace, Name: key.name}
		}
	}
	return event.Target{}
}

// Quantifier says for how many objects a condition has to hold.
type Quantifier string

const (
	// All requires that the condition holds for all existing objects at the same time, for at least
	// one object, and that each named object exists. If the condition held for the deletion of an
	// object, that object counts as fulfilled.
	All Quantifier = "all"
	Any Quantifier = "any"
	// Each requires that the condition has held once for each existing object, at any time.
	Each Quantifier = "each"
)

// Quantifiers lists all quantifiers.
var Quantifiers = []string{string(All), string(Any), string(Each)}

func ParseQuantifier(word string) (Quantifier, error) {
	if slices.Contains(Quantifiers, word) {
		return Quantifier(word), nil
	}
	return "", errors.New("must be all, any or each")
}
