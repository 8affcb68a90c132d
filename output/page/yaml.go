package page

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"dwatch/output"
	"dwatch/output/inventory"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

const (
	// maxYAML is how many bytes of an object as YAML are sent.
	maxYAML = 2 << 20
	// maxCompared is how many lines of a difference between two of these, and maxComparedLine how many characters of one.
	maxCompared     = 2000
	maxComparedLine = 2000
)

// objectAtTime is the state of an object at a time, in an API answer.
type objectAtTime struct {
	Stream string `json:"stream"`
	// Time is since when it was so, and Until until when; 0: it is so.
	Time  int64 `json:"time"`
	Until int64 `json:"until,omitempty"`
	// Ended: it was deleted at Time, and this is how it was then.
	Ended bool `json:"ended,omitempty"`
	// Quiet: what does not count as a change may be as it was then; with from the later one of both.
	Quiet int64 `json:"quiet,omitempty"`
	// Unsure: what it was in between is no longer held, and it may have been otherwise.
	Unsure  bool   `json:"unsure,omitempty"`
	YAML    string `json:"yaml"`
	YAMLCut bool   `json:"yamlCut,omitempty"`
	// Diff has what differs from another moment, line by line; nil: that was not asked for.
	Diff     []string `json:"diff,omitempty"`
	DiffMore int      `json:"diffMore,omitempty"`
}

// objectAtTimeLookup returns the state of an object at a time and, if requested, its diff from another time.
type objectAtTimeLookup struct{ *Hub }

func (h objectAtTimeLookup) find(r *http.Request) (any, error) {
	values, err := query(r, "key", "at", "from")
	if err != nil || len(values["key"]) != 1 {
		return nil, cmp.Or(err, errors.New("it takes one key"))
	}
	past, held := h.inventory.History(values.Get("key"))
	if !held {
		return nil, errNotRetained
	}
	m := objectAtTime{Stream: h.stream}
	at, err := stateAt(past.States, values.Get("at"))
	if err != nil {
		return nil, err
	}
	m.Time, m.Ended = millis(past.States[at].Time), past.States[at].Type == event.Deleted
	if at+1 < len(past.States) {
		next := past.States[at+1]
		m.Until, m.Unsure = millis(next.Time), next.EvictedSince(past.States[at]) > 0
	}
	m.Quiet = quietOf(past.States[at])
	m.YAML, m.YAMLCut = yamlOf(past.States[at].Object)
	if values.Has("from") {
		from, err := stateAt(past.States, values.Get("from"))
		if err != nil {
			return nil, err
		}
		before, _ := yamlOf(past.States[from].Object)
		m.compare(before)
		m.Quiet = max(m.Quiet, quietOf(past.States[from]))
	}
	return m, nil
}

func quietOf(s *inventory.State) int64 {
	if s.LastNoise.IsZero() {
		return 0
	}
	return millis(s.LastNoise)
}

// stateAt returns which of the states of an object was the one at a time, in ms.
func stateAt(states []*inventory.State, text string) (int, error) {
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("at and from take a time in ms since 1970")
	}
	found := -1
	for i, s := range states {
		if millis(s.Time) <= at {
			found = i
		}
	}
	if found < 0 {
		return 0, errors.New("how the object was before dwatch saw it is not known")
	}
	return found, nil
}

func (m *objectAtTime) compare(before string) {
	m.Diff = []string{}
	text := strings.TrimSuffix(change.UnifiedDiff(before, m.YAML), "\n")
	if text == "" {
		return
	}
	all := strings.Split(text, "\n")
	for _, line := range all[:min(len(all), maxCompared)] {
		m.Diff = append(m.Diff, clip(line, maxComparedLine))
	}
	m.DiffMore = len(all) - len(m.Diff)
}

// yamlOf is an object as YAML, and whether that is cut.
func yamlOf(o event.Object) (text string, isCut bool) {
	encoded, err := new(output.Options).YAML(o)
	if err != nil {
		encoded = []byte(o.Raw()) // JSON is YAML
	}
	if len(encoded) > maxYAML {
		return strings.ToValidUTF8(string(encoded[:maxYAML]), ""), true
	}
	return string(encoded), false
}
