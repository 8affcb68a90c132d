package until

import (
	"context"

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
	Awaited []Awaited
	// For is about Until. Empty means All.
	For Quantifier
	// Input says how the expressions look at events.
	Input expression.Options
	// Mistake is called with the first error of each expression, which then counts as
	// not holding.
	Mistake func(x *expression.Expression, e event.Event, err error)
}

// Awaited is a resource that the server does not have, and perhaps the name of an object.
type Awaited struct {
	Name string // as people know it
	// Is reports whether it is a target that the server has by now.
	Is func(event.Target) bool
}

// Outcome is the error with which Deliver ends a run.
type Outcome struct {
	// Failed: FailIf holds.
	Failed bool
	// Event is the one that decided. It is a mark if objects that did not exist did, or
	// if it was decided when the last target was synced.
	Event event.Event
	// Objects is of how many Until holds. If it is one, Object is a target that names it.
	Objects int
	Object  event.Target
	// Undelivered is the error of the next Sink, which did not take what decided.
	Undelivered error
}

func (o *Outcome) Error() string {
	if o.Failed {
		return "the condition of failure holds"
	}
	return "the condition holds"
}

// Unwrap returns Undelivered.
func (o *Outcome) Unwrap() error { return o.Undelivered }

// Judge is a Sink that judges every event and passes it on. The one that decides is
// the last.
type Judge struct {
	Options
	next    event.Sink
	targets map[event.Key]*progress
	objects map[objectKey]*object
	// unmet is how many objects do not hold, kept of how many of those the last event
	// is, and unsettled how many targets are not.
	unmet, kept, unsettled int
	wrong                  map[*expression.Expression]bool
}

var _ event.Sink = (*Judge)(nil)

type objectKey struct {
	schema.GroupResource
	namespace, name string
}

// object is what is known of one.
type object struct {
	holds bool
	// last is its last event, of some of those that do not hold.
	last event.Event
}

// New returns a Judge before next. targets are watched from the start.
func New(next event.Sink, targets []event.Target, o Options) *Judge {
	j := &Judge{
		Options: o,
		next:    next,
		targets: map[event.Key]*progress{},
		objects: map[objectKey]*object{},
		wrong:   map[*expression.Expression]bool{},
	}
	for _, t := range targets {
		j.target(t)
	}
	return j
}

// Deliver implements event.Sink. Its error is an *Outcome once it is decided; what
// decided has been delivered then, if the next Sink took it, and nothing after that.
func (j *Judge) Deliver(ctx context.Context, batch []event.Event) error {
	for i := range batch {
		outcome := j.judge(&batch[i])
		if outcome == nil {
			continue
		}
		outcome.Undelivered = j.next.Deliver(ctx, batch[:i+1])
		return outcome
	}
	return j.next.Deliver(ctx, batch)
}

// judge returns the outcome if e decides.
func (j *Judge) judge(e *event.Event) *Outcome {
	if e.Type.IsMark() {
		j.mark(e)
		return j.decide(e)
	}
	in := expression.NewInput(*e, j.Input)
	if j.holds(j.FailIf, in, e) {
		return &Outcome{Failed: true, Event: *e, Objects: 1, Object: named(e)}
	}
	if j.Until == nil {
		return nil
	}
	holds := j.holds(j.Until, in, e)
	j.note(e, holds)
	if holds && j.For == Any {
		return &Outcome{Event: *e, Objects: 1, Object: named(e)}
	}
	return j.decide(e)
}

// named returns the target that names the object of an event.
func named(e *event.Event) event.Target {
	return event.Target{Mapping: e.Target.Mapping, Namespace: e.Object.Namespace, Name: e.Object.Name}
}

// holds reports whether an expression holds; a nil one does not.
func (j *Judge) holds(x *expression.Expression, in *expression.Input, e *event.Event) bool {
	if x == nil {
		return false
	}
	holds, err := x.Holds(in)
	if err != nil && !j.wrong[x] {
		j.wrong[x] = true
		if j.Mistake != nil {
			j.Mistake(x, *e, err)
		}
	}
	return holds && err == nil
}

// note remembers of an object whether Until holds.
func (j *Judge) note(e *event.Event, holds bool) {
	if t := j.targets[e.Target.Key()]; t != nil {
		t.absent = false
		if e.Listed { // of one object that is all there is to know
			j.settle(t, t.synced && t.single())
		}
	}
	key := objectKey{e.Target.Resource().GroupResource(), e.Object.Namespace, e.Object.Name}
	before := j.objects[key]
	if j.For == Each && before != nil && before.holds && e.Type != event.Added {
		return // it has held once
	}
	j.drop(key)
	if holds || e.Type != event.Deleted {
		j.keep(key, e, holds)
	}
}

func (j *Judge) drop(key objectKey) {
	o := j.objects[key]
	delete(j.objects, key)
	if o == nil || o.holds {
		return
	}
	j.unmet--
	if !o.last.Object.IsZero() {
		j.kept--
	}
}

func (j *Judge) keep(key objectKey, e *event.Event, holds bool) {
	o := &object{holds: holds}
	j.objects[key] = o
	if holds {
		return
	}
	j.unmet++
	if j.kept < maxPending {
		o.last = *e
		j.kept++
	}
}

// decide returns the outcome if Until holds of all that it has to.
func (j *Judge) decide(e *event.Event) *Outcome {
	switch {
	case j.Until == nil:
		return nil
	case j.For == Any:
		return j.decideAbsent(e)
	case j.unmet > 0, j.unsettled > 0, len(j.Awaited) > 0:
		return nil
	}
	o := &Outcome{Event: *e, Objects: len(j.objects)}
	for _, t := range j.targets {
		switch {
		case t.absent:
			o.Objects++
			o.Object = t.Target
		case t.Name != "" && !j.knows(t):
			return nil
		}
	}
	for key := range j.objects {
		if o.Objects == 1 {
			o.Object = j.targetOf(key)
		}
		break
	}
	if o.Objects == 0 {
		return nil
	}
	return o
}

// decideAbsent returns the outcome if it is enough that nothing exists of one target.
func (j *Judge) decideAbsent(e *event.Event) *Outcome {
	for _, t := range j.targets {
		if t.absent {
			return &Outcome{Event: *e, Objects: 1, Object: t.Target}
		}
	}
	return nil
}

// targetOf returns the target that names an object.
func (j *Judge) targetOf(key objectKey) event.Target {
	for _, t := range j.targets {
		if t.Resource().GroupResource() == key.GroupResource {
			return event.Target{Mapping: t.Mapping, Namespace: key.namespace, Name: key.name}
		}
	}
	return event.Target{}
}
