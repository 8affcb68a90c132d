// Package until ends a run when a condition holds: a [Stage] is a Sink around another one, and its
// error is what decided.
//
//	events, marks -> Stage (looks at every event, also an initial one) -> next
//	                   |
//	                   what exists, and what of it holds -> decided: *Outcome
//
// What exists is known when every target is synced. Before that, only one object can decide: by
// Any, or by what makes the run fail.
package until

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// Options say what ends a run.
type Options struct {
	// Until ends it well, and FailIf badly, which is looked at first; nil: it does not.
	// FailIf holds for any object.
	Until, FailIf *expression.Expression
	// Awaited is what was asked for and the server does not have yet: unless one object is
	// enough, nothing is decided well before it has.
	Awaited    []AwaitedTarget
	Quantifier Quantifier         // is about Until; empty means All
	Input      expression.Options // how the expressions look at events
	// Mistake is called with the first error of each expression, which then counts as not holding.
	OnError func(x *expression.Expression, e event.Event, err error)
}

// Awaited is a resource that the server does not have, and perhaps the name of an object; or a
// cluster of which no resource is watched yet.
type AwaitedTarget struct {
	Name    string // as people know it
	Cluster string // of a run of several; empty in a run of one
	Reason  string // it is not there
	// Is reports whether it is a target that the server has by now.
	Matches func(event.Target) bool
}

// Outcome is the error with which Deliver ends a run.
type Outcome struct {
	Failed bool // FailIf holds
	// Event is the one that decided: a mark if objects that did not exist did, or the last sync.
	Event event.Event
	// Objects is of how many Until holds. If it is one, Object is a target that names it.
	ObjectCount int
	Object      event.Target
	// Undelivered is the error of the next Sink, which did not take what decided.
	Undelivered error
}

func (o *Outcome) Error() string {
	if o.Failed {
		return "the condition of failure holds"
	}
	return "the condition holds"
}

func (o *Outcome) Unwrap() error { return o.Undelivered }

// Stage is a Sink around another one that evaluates the expressions for every event and passes it
// on. The one that decides is the last.
type Stage struct {
	Options
	next   event.Sink
	links  *event.WatchStates
	absent map[event.Key]bool // the targets of which nothing exists, where that is enough
	// objects are those that exist, and whether Until holds of each. Of unmet it does not; of
	// some of these, pending is the last event.
	objects map[objectKey]bool
	unmet   int
	pending map[objectKey]event.Event
	// usesClock is true if an expression reads the clock.
	usesClock bool
	// timed holds the last event of each existing object whose answer may change with time: of all objects if an
	// expression reads the clock, and otherwise of pods in a crash loop.
	timed map[objectKey]event.Event
	wrong map[*expression.Expression]bool
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

// New returns a Stage before next. targets are watched from the start.
func New(next event.Sink, targets []event.Target, o Options) *Stage {
	s := &Stage{
		Options: o,
		next:    next,
		links:   event.NewWatchStates(targets),
		absent:  map[event.Key]bool{},
		objects: map[objectKey]bool{},
		pending: map[objectKey]event.Event{},
		wrong:   map[*expression.Expression]bool{},
		timed:   map[objectKey]event.Event{},
	}
	if o.Until != nil && o.Until.Requirements().Now || o.FailIf != nil && o.FailIf.Requirements().Now {
		s.usesClock = true
	}
	return s
}

// Deliver implements event.Sink. Its error is an *Outcome once it is decided; what decided has been
// delivered then, if the next Sink took it, and nothing after that.
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
	s.links.Observe(e)
	if e.Type.IsStatus() {
		s.mark(e)
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

// Settle has what is said no longer be awaited, and returns the outcome if that decides. It may be
// called when no Deliver is under way.
func (s *Stage) StopAwaiting(is func(AwaitedTarget) bool) *Outcome {
	s.Awaited = slices.DeleteFunc(s.Awaited, is)
	return s.decideAll(&event.Event{})
}

// IsTimed reports whether anything can be decided by time alone.
func (s *Stage) DependsOnTime() bool { return len(s.timed) > 0 }

// Again evaluates again, at the present, what exists and is not out of date. It returns the outcome if
// that decides. It may be called when no Deliver is under way.
func (s *Stage) Reevaluate() (decided *Outcome) {
	var last event.Event
	for _, last = range s.timed {
		if l := s.links.Get(last.Target); !isSettled(&l) {
			continue
		}
		if o := s.evaluate(&last, true); o != nil && (decided == nil || o.Failed) {
			decided = o
		}
	}
	if decided == nil && s.DependsOnTime() {
		decided = s.decideAll(&last)
	}
	return decided
}

// evaluate looks at the last event of an object, for the first time or again. It returns the outcome
// if that object decides.
func (s *Stage) evaluate(e *event.Event, again bool) *Outcome {
	in := expression.NewInput(*e, s.Input)
	defer s.observeTime(in, e)
	if s.holds(s.FailIf, in, e) {
		return &Outcome{Failed: true, Event: *e, ObjectCount: 1, Object: named(e)}
	}
	if s.Until == nil {
		return nil
	}
	holds := s.holds(s.Until, in, e)
	s.record(e, holds, again)
	if holds && s.Quantifier == Any {
		return &Outcome{Event: *e, ObjectCount: 1, Object: named(e)}
	}
	return nil
}

// observeTime keeps an event to evaluate it again later, if what was decided about its object ends by itself.
func (s *Stage) observeTime(in *expression.Input, e *event.Event) {
	switch {
	case s.usesClock || e.Type == event.Deleted:
	case in.DependsOnTime():
		s.timed[keyOf(e)] = *e
	default:
		delete(s.timed, keyOf(e))
	}
}

func named(e *event.Event) event.Target {
	return event.Target{Cluster: e.Target.Cluster, Mapping: e.Target.Mapping, Namespace: e.Object.Namespace, Name: e.Object.Name}
}

// holds reports whether an expression holds; a nil one does not.
func (s *Stage) holds(x *expression.Expression, in *expression.Input, e *event.Event) bool {
	if x == nil {
		return false
	}
	holds, err := x.Matches(in)
	if err != nil && !s.wrong[x] {
		s.wrong[x] = true
		if s.OnError != nil {
			s.OnError(x, *e, err)
		}
	}
	return holds && err == nil
}

func (s *Stage) record(e *event.Event, holds, again bool) {
	delete(s.absent, e.Target.Key())
	key := keyOf(e)
	held, known := s.objects[key]
	if s.Quantifier == Each && held && (again || e.Type != event.Added) {
		return // it has held once
	}
	if known && !held {
		s.unmet--
	}
	delete(s.objects, key)
	delete(s.pending, key)
	if holds || e.Type != event.Deleted {
		s.objects[key] = holds
	}
	if !holds && e.Type != event.Deleted {
		s.unmet++
		if len(s.pending) < maxPending {
			s.pending[key] = *e
		}
	}
}

// decideAll returns the outcome if Until holds of all that it has to.
func (s *Stage) decideAll(e *event.Event) *Outcome {
	if s.Until == nil || s.Quantifier != Any && (s.unmet > 0 || len(s.Awaited) > 0) {
		return nil
	}
	o := &Outcome{Event: *e, ObjectCount: len(s.objects)}
	for _, l := range s.links.All() {
		absent := s.absent[l.Target.Key()]
		switch {
		case s.Quantifier == Any && absent: // which is enough
			return &Outcome{Event: *e, ObjectCount: 1, Object: l.Target}
		case s.Quantifier == Any:
		case !isSettled(l), !absent && l.Target.Name != "" && !s.knows(l.Target):
			return nil
		case absent:
			o.ObjectCount++
			o.Object = l.Target
		}
	}
	for key := range s.objects {
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
	for _, l := range s.links.All() {
		if l.Target.Cluster == key.cluster && l.Target.Resource().GroupResource() == key.GroupResource {
			return event.Target{Cluster: key.cluster, Mapping: l.Target.Mapping, Namespace: key.namespace, Name: key.name}
		}
	}
	return event.Target{}
}

// Quantifier says of how many objects a condition has to hold.
type Quantifier string

const (
	// All that exist, at the same time, and at least one. Each object that is named has to exist. An
	// object of whose deletion the condition holds has done its part.
	All Quantifier = "all"
	Any Quantifier = "any"
	// Each that exists has held once, at whatever time.
	Each Quantifier = "each"
)

// Quantifiers are all of them, as words.
var Quantifiers = []string{string(All), string(Any), string(Each)}

func ParseQuantifier(word string) (Quantifier, error) {
	if slices.Contains(Quantifiers, word) {
		return Quantifier(word), nil
	}
	return "", errors.New("it takes all, any or each")
}
