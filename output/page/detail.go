package page

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"dwatch/output/inventory"
	"dwatch/watcher/event"
)

const maxConditions = 50

// detail is the answer of /api/object.
type detail struct {
	Stream     string            `json:"stream"`
	Seq        uint64            `json:"seq"`
	Row        json.RawMessage   `json:"row"`
	Object     json.RawMessage   `json:"object,omitempty"`
	YAML       string            `json:"yaml"`
	YAMLCut    bool              `json:"yamlCut,omitempty"`
	Quiet      int64             `json:"quiet,omitempty"` // time of the last noise in Object and YAML; 0 means none
	Moments    []int64           `json:"moments"`         // times of the retained states
	Conditions []condition       `json:"conditions"`
	Before     []condition       `json:"conditionsBefore,omitempty"` // of an object that existed at the start, at that time
	Containers []container       `json:"containers,omitempty"`       // of a Pod
	Owned      []json.RawMessage `json:"owned"`
	OwnedMore  int               `json:"ownedMore,omitempty"`
	History    history           `json:"history"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	Time    string `json:"time"`
}

type history struct {
	Items   []json.RawMessage `json:"items"`
	Dropped int               `json:"dropped"` // changes that Items do not cover
	changes int               // number of all changes since the start
}

// maxHistory is the maximum number of changes in a history. Of changes that repeat each other, it has the first and the
// last, which has their number.
const maxHistory = 40

var errNotRetained = errors.New("there is no object with this key, or dwatch no longer has it")

func (h *Hub) object(r *http.Request) (any, error) {
	values, err := keyQuery(r)
	if err != nil {
		return nil, err
	}
	past, held := h.inventory.History(values.Get("key"))
	if !held {
		return nil, errNotRetained
	}
	d := h.detail(past.Entry)
	d.History.add(h, past.States)
	last := past.States[len(past.States)-1]
	o := last.Object
	content := o.Raw()
	d.Object, d.Conditions = json.RawMessage(content), conditionsOf(content)
	if first := past.States[0]; first.Initial {
		d.Before = conditionsOf(first.Object.Raw())
		for i := range d.Before { // the page only shows their status over time
			d.Before[i].Reason, d.Before[i].Message = "", ""
		}
	}
	d.Containers = containersOf(content)
	d.YAML, d.YAMLCut = yamlOf(o)
	d.Quiet = quietOf(last)
	for _, s := range past.States {
		if at := millis(s.Time); len(d.Moments) == 0 || at > d.Moments[len(d.Moments)-1] {
			d.Moments = append(d.Moments, at)
		}
	}
	return d, nil
}

// detail returns an answer with the rows of an object and of the objects that it owns.
func (h *Hub) detail(o *inventory.Entry) *detail {
	owned := h.inventory.OwnedBy(o.Cluster, o.UID)
	h.mu.Lock()
	defer h.mu.Unlock()
	d := &detail{Stream: h.stream, Seq: h.log.last, Owned: []json.RawMessage{}, OwnedMore: max(len(owned)-maxLimit, 0)}
	if drawing := rowViewOfEntry(h, o); drawing != nil {
		d.Row, d.History.changes = drawing.appendTo(nil), drawing.changes
	}
	for _, s := range owned[:min(len(owned), maxLimit)] {
		if drawing := rowViewOf(h, s); drawing != nil {
			d.Owned = append(d.Owned, drawing.row)
		}
	}
	return d
}

// add fills the history from the retained states, and sets Dropped. It requires changes to be set.
func (past *history) add(h *Hub, states []*inventory.State) {
	past.Items = []json.RawMessage{}
	included, later := 0, map[inventory.ChangeFingerprint]bool{}
	for i := len(states) - 1; i >= 0 && len(past.Items) < maxHistory; i-- {
		r := states[i].Repeat
		if r.Times > 1 && later[r.Fingerprint] {
			continue
		}
		c := inventory.Change{State: states[i]}
		if i > 0 {
			c.Before = states[i-1]
		}
		c.Event = new(c.State.ToEvent(c.Before))
		// Across evicted states, the diff would attribute their changes to the wrong writers.
		if c.Before != nil && c.Event.Type == event.Modified && c.State.EvictedSince(c.Before) == 0 {
			c.Diff = new(inventory.DiffStates(c.Before, c.State, h.Compare))
		}
		if m := changeMessageOf(&c); m.Feed {
			past.Items = append(past.Items, encode(m))
			if r.Times == 0 || !later[r.Fingerprint] {
				included += max(r.Times, 1)
			}
			later[r.Fingerprint] = true
		}
	}
	slices.Reverse(past.Items)
	past.Dropped = max(past.changes-included, 0)
}

func conditionsOf(content string) []condition {
	conditions := []condition{}
	gjson.Get(content, "status.conditions").ForEach(func(_, c gjson.Result) bool {
		text := func(name string) string { return clip(c.Get(name).String(), 4*maxValue) }
		conditions = append(conditions, condition{text("type"), text("status"), text("reason"), text("message"), text("lastTransitionTime")})
		return len(conditions) < maxConditions
	})
	return conditions
}
