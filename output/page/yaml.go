package page

import (
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
	// maxYAML is the maximum size in bytes of the YAML of an object.
	maxYAML = 2 << 20
	// maxCompared is the maximum number of lines of a diff between two YAML texts, and maxComparedLine the maximum number of
	// characters of a line.
	maxCompared     = 2000
	maxComparedLine = 2000
)

// objectAtTime is the state of an object at a time, in an API answer.
type objectAtTime struct {
	Stream string `json:"stream"`
	// Time is when the state began, and Until when the next retained state began. Until is 0 for the last state.
	Time  int64 `json:"time"`
	Until int64 `json:"until,omitempty"`
	// Ended is true if the object was deleted at Time. The state is its last one then.
	Ended bool `json:"ended,omitempty"`
	// Quiet is the time of the last noise in the state: its noise may be as late as that. With a diff, it is the later
	// of both states'. 0 means none.
	Quiet int64 `json:"quiet,omitempty"`
	// Unsure is true if states between Time and Until were evicted. The object may have differed at the requested time.
	Unsure  bool   `json:"unsure,omitempty"`
	YAML    string `json:"yaml"`
	YAMLCut bool   `json:"yamlCut,omitempty"`
	// Diff has the lines of a unified diff from another time. nil means that none was requested.
	Diff     []string `json:"diff,omitempty"`
	DiffMore int      `json:"diffMore,omitempty"`
}

// objectAtTimeLookup returns the state of an object at a time and, if requested, its diff from another time.
type objectAtTimeLookup struct{ *Hub }

func (h objectAtTimeLookup) find(r *http.Request) (any, error) {
	values, err := keyQuery(r, "at", "from")
	if err != nil {
		return nil, err
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

// stateAt returns the index of the state at a time, which text has in ms.
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
		return 0, errors.New("dwatch has no state of the object at that time")
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

// yamlOf returns an object as YAML, cut to maxYAML. isCut is true if it was longer.
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
