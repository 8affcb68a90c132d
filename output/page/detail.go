package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v2" // what sigs.k8s.io/yaml is made of

	"dwatch/watcher/event"
)

const (
	// maxYAML is how many bytes of an object as YAML are sent.
	maxYAML       = 2 << 20
	maxConditions = 50
)

// detail is all that there is about one object.
type detail struct {
	Stream     string            `json:"stream"`
	Seq        uint64            `json:"seq"`
	Row        json.RawMessage   `json:"row"`
	Object     json.RawMessage   `json:"object,omitempty"`
	YAML       string            `json:"yaml"`
	YAMLCut    bool              `json:"yamlCut,omitempty"`
	Conditions []condition       `json:"conditions"`
	Owned      []json.RawMessage `json:"owned"`
	OwnedMore  int               `json:"ownedMore,omitempty"`
	History    history           `json:"history"`
}

type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Time    string `json:"time"`
}

type history struct {
	Items   []json.RawMessage `json:"items"`
	Dropped int               `json:"dropped"`
}

// object serves all about one object.
func (s *Server) object(w http.ResponseWriter, r *http.Request) {
	values, err := query(r, "key")
	if err != nil || len(values["key"]) != 1 {
		fail(w, http.StatusBadRequest, "it takes one key")
		return
	}
	d, identity, packed := s.hub.detail(values.Get("key"))
	if d == nil {
		fail(w, http.StatusNotFound, "there is no object with this key, or it is no longer held")
		return
	}
	if packed != nil {
		content := unpack(packed)
		d.Object, d.Conditions = json.RawMessage(content), conditionsOf(content)
		if d.YAML, err = yamlOf(event.NewObject(&identity, content)); err != nil {
			d.YAML = content // JSON is YAML
		}
	}
	if len(d.YAML) > maxYAML {
		d.YAML, d.YAMLCut = strings.ToValidUTF8(d.YAML[:maxYAML], ""), true
	}
	answer(w, d)
}

// detail returns what is held of an object, but for what is in its content; nil if
// nothing is.
func (h *Hub) detail(key string) (*detail, event.Identity, []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.store.records[key]
	if r == nil {
		return nil, event.Identity{}, nil
	}
	d := &detail{
		Stream: h.stream, Seq: h.log.last, Row: r.line.appendTo(slices.Clone(r.encoded)),
		Conditions: []condition{}, Owned: []json.RawMessage{}, History: history{[]json.RawMessage{}, r.pastMore},
	}
	for _, p := range r.past {
		d.History.Items = append(d.History.Items, p.text)
	}
	owned := h.owned(r.row.UID)
	slices.SortFunc(owned, order)
	for i, o := range owned {
		if i == maxLimit {
			d.OwnedMore = len(owned) - i
			break
		}
		d.Owned = append(d.Owned, o.encoded)
	}
	return d, r.identity, r.packed
}

// owned returns the objects that name this one as their owner.
func (h *Hub) owned(uid string) (all []*record) {
	if uid == "" {
		return nil
	}
	for _, r := range h.store.records {
		if r.row.Ended == 0 && slices.ContainsFunc(r.row.Owners, func(o ownerRef) bool { return o.UID == uid }) {
			all = append(all, r)
		}
	}
	return all
}

// conditionsOf returns the conditions in the status of an object.
func conditionsOf(content string) []condition {
	conditions := []condition{}
	gjson.Get(content, "status.conditions").ForEach(func(_, c gjson.Result) bool {
		text := func(name string) string { return clip(c.Get(name).String(), 4*maxValue) }
		conditions = append(conditions, condition{text("type"), text("status"), text("reason"), text("message"), text("lastTransitionTime")})
		return len(conditions) < maxConditions
	})
	return conditions
}

func yamlOf(o event.Object) (string, error) {
	u, err := o.Open()
	if err != nil {
		return "", err
	}
	// Straight from the content: by way of JSON, as sigs.k8s.io/yaml goes, it would not
	// take control characters that JSON leaves unescaped.
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		return "", fmt.Errorf("encode %s/%s as YAML: %w", o.Namespace, clip(o.Name, maxName), err)
	}
	return string(text), nil
}
