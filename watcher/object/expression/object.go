package expression

import (
	"errors"
	"time"

	"dwatch/watcher/event"
)

// CompileForObjects reads an expression that looks neither at old nor at changes.
func CompileForObjects(text string) (*Expression, error) {
	x, err := Compile(text)
	if err != nil {
		return nil, err
	}
	if needs := x.Needs(); needs.Old || needs.Changes {
		return nil, errors.New("old and changes are of events: this looks at the objects as they are")
	}
	return x, nil
}

// HoldsOf is [Expression.Holds] of an object as it is at some time: of the event, ADDED and
// initial, by which a watch that begins then reports it.
func (x *Expression) HoldsOf(o event.Object, at time.Time) (bool, error) {
	e := event.Event{Type: event.Added, Initial: true, Object: o, Time: at}
	return x.Holds(NewInput(e, Options{Now: func() time.Time { return at }}))
}
