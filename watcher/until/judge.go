package until

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/expression"
)

// Quantifier says of how many objects a condition has to hold.
type Quantifier string

const (
	// All that exist, at the same time, and at least one. Each object that is named has
	// to exist. An object of whose deletion the condition holds has done its part.
	All Quantifier = "all"
	// Any one.
	Any Quantifier = "any"
	// Each that exists has held once, at whatever time.
	Each Quantifier = "each"
)

// Quantifiers are all of them, as words.
var Quantifiers = []string{string(All), string(Any), string(Each)}

// Options say what ends a run.
type Options struct {
	// Until ends it well, and FailIf badly, which is looked at first; nil: it does not.
	// FailIf holds for any object.
	Until, FailIf *expression.Expression
	// For is about Until. Empty means All.
	For Quantifier
	// Input says how the expressions look at events.
	Input expression.Options
	// Mistake is called with the first error of each expression, which then counts as
	// not holding.
	Mistake func(x *expression.Expression, e event.Event, err error)
}

// Outcome is the error with which Deliver ends a run.
type Outcome struct {
	// Failed: FailIf holds.
	Failed bool
	// Event is the one that decided. It is a mark if objects that did not exist did, or
	// if it was decided when the last target was synced.
	Event event.Event
	// Objects is of how many Until holds.
	Objects int
}

func (o *Outcome) Error() string {
	if o.Failed {
		return "the condition of failure holds"
	}
	return "the condition holds"
}

// Judge is a Sink that judges every event and passes it on. The one that decides is
// the last.
type Judge struct {
	Options
	next    event.Sink
	targets map[event.Key]*progress
	objects map[objectKey]*object
	// unmet is how many objects do not hold, kept of how many of those the last event
	// is, and unsynced how many targets are not.
	unmet, kept, unsynced int
	wrong                 map[*expression.Expression]bool
}

var _ event.Sink = (*Judge)(nil)

// progress is how far a target is.
type progress struct {
	event.Target
	synced bool
	// absent: nothing existed, and that is enough.
	absent bool
}

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
// decided has been delivered then, and nothing after that.
func (j *Judge) Deliver(ctx context.Context, batch []event.Event) error {
	for i := range batch {
		outcome := j.judge(&batch[i])
		if outcome == nil {
			continue
		}
		if err := j.next.Deliver(ctx, batch[:i+1]); err != nil {
			return err
		}
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
		return &Outcome{Failed: true, Event: *e}
	}
	if j.Until == nil {
		return nil
	}
	holds := j.holds(j.Until, in, e)
	j.note(e, holds)
	if holds && j.For == Any {
		return &Outcome{Event: *e, Objects: 1}
	}
	return j.decide(e)
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
	if j.Until == nil || j.For == Any && !j.anyAbsent() || j.For != Any && (j.unmet > 0 || j.unsynced > 0) {
		return nil
	}
	met := len(j.objects)
	for _, t := range j.targets {
		switch {
		case t.absent:
			met++
		case t.Name != "" && j.For != Any && j.objects[t.object()] == nil:
			return nil
		}
	}
	if met == 0 {
		return nil
	}
	return &Outcome{Event: *e, Objects: met}
}

func (j *Judge) anyAbsent() bool {
	for _, t := range j.targets {
		if t.absent {
			return true
		}
	}
	return false
}

// object is the key of the object that a target names.
func (p *progress) object() objectKey {
	return objectKey{p.Resource().GroupResource(), p.Namespace, p.Name}
}

// mark follows the targets.
func (j *Judge) mark(e *event.Event) {
	switch e.Type {
	case event.Arrived:
		j.target(e.Target)
	case event.Gone:
		j.forget(e.Target.Key())
	case event.Synced:
		t := j.target(e.Target)
		if !t.synced {
			j.unsynced--
		}
		t.synced = true
		t.absent = e.Count == 0 && j.holdsOfNothing(e)
	}
}

// holdsOfNothing reports whether Until holds where nothing exists at the start. To an
// expression that is a deletion, of which no object is known.
func (j *Judge) holdsOfNothing(e *event.Event) bool {
	nothing := event.Event{Type: event.Deleted, Target: e.Target, Time: e.Time, Initial: true}
	return j.holds(j.Until, expression.NewInput(nothing, j.Input), e)
}

// target returns the progress of a target, which takes the place of those that it
// covers.
func (j *Judge) target(t event.Target) *progress {
	key := t.Key()
	for other := range j.targets {
		if key.Covers(other) {
			j.forget(other)
		}
	}
	if j.targets[key] == nil {
		j.targets[key] = &progress{Target: t}
		j.unsynced++
	}
	return j.targets[key]
}

func (j *Judge) forget(key event.Key) {
	if t := j.targets[key]; t != nil && !t.synced {
		j.unsynced--
	}
	delete(j.targets, key)
}

// ParseQuantifier reads a word.
func ParseQuantifier(word string) (Quantifier, error) {
	if slices.Contains(Quantifiers, word) {
		return Quantifier(word), nil
	}
	return "", errors.New("it takes all, any or each")
}
