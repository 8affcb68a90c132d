package expression

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dwatch/watcher/event"
)

// CompileForObjects compiles a condition on current objects. It rejects expressions that use
// old or changes. Some [Presets] then describe a state, such as unready. Presets that only
// describe changes are rejected.
func CompileForObjects(text string) (*Expression, error) {
	x, err := compile(text, preset.forObjects)
	if err != nil {
		return nil, err
	}
	if needs := x.Requirements(); needs.Old || needs.Changes {
		for _, name := range presetsIn(text) {
			if !slices.Contains(presetsForObjects(), name) {
				return nil, fmt.Errorf("%s describes a change, but this condition is evaluated on current objects: use one of %s", name, strings.Join(presetsForObjects(), ", "))
			}
		}
		return nil, errors.New("old and changes are not available: this condition is evaluated on current objects")
	}
	return x, nil
}

// MatchesObject evaluates the expression for an object in its state at time at. It sees the
// initial ADDED event that a watch starting at that time would report. cluster is the value
// of the cluster variable, which is empty unless several clusters are watched.
func (x *Expression) MatchesObject(cluster string, o event.Object, at time.Time) (bool, error) {
	e := event.Event{Type: event.Added, Target: event.Target{Cluster: cluster}, Initial: true, Object: o, Time: at}
	return x.Matches(NewInput(e, Options{Now: func() time.Time { return at }}))
}
