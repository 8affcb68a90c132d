package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/watcher/event"
)

// CompileForObjects reads an expression that looks neither at old nor at changes. Of the words
// of [Presets] some mean a state then, and the others are refused.
func CompileForObjects(text string) (*Expression, error) {
	x, err := compile(text, word.forObjects)
	if err != nil {
		return nil, err
	}
	if needs := x.Requirements(); needs.Old || needs.Changes {
		for _, name := range wordsIn(text) {
			if !slices.Contains(presetsForObjects(), name) {
				return nil, fmt.Errorf("%s is of what happens: this looks at the objects as they are, and takes %s", name, strings.Join(presetsForObjects(), ", "))
			}
		}
		return nil, errors.New("old and changes are of events: this looks at the objects as they are")
	}
	return x, nil
}

// HoldsOf is [Expression.Holds] of an object as it is at some time: of the event, ADDED and
// initial, by which a watch that begins then reports it. cluster is where it is, of several.
func (x *Expression) MatchesObject(cluster string, o event.Object, at time.Time) (bool, error) {
	e := event.Event{Type: event.Added, Target: event.Target{Cluster: cluster}, Initial: true, Object: o, Time: at}
	return x.Matches(NewInput(e, Options{Now: func() time.Time { return at }}))
}
