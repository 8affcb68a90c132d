package page

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/labels"
)

const (
	defaultLimit = 100
	maxLimit     = 500
	// maxAnswer is how many bytes an answer with several objects has, about.
	maxAnswer = 4 << 20
)

// fail answers that something is wrong.
func fail(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(encode(map[string]string{"error": text}))
}

// answer answers with JSON.
func answer(w http.ResponseWriter, value any) {
	text := encode(value)
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}

// query reads the parameters of a request, all of which are known.
func query(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, errors.New("the query can't be read")
	}
	for name, all := range values {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no parameter %q: it takes %s", clip(name, 40), strings.Join(known, ", "))
		}
		if len(all) > 1 && name != "key" || len(all) > maxLimit {
			return nil, fmt.Errorf("the parameter %s is given too often", name)
		}
	}
	return values, nil
}

func limitOf(values url.Values) (int, error) {
	if !values.Has("limit") {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(values.Get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		return 0, fmt.Errorf("limit takes a number from 1 to %d", maxLimit)
	}
	return n, nil
}

// selection is which objects are asked for.
type selection struct {
	resource, namespace, name string
	labels                    labels.Selector
	keys                      []string
	// after is the last object of the page before; nil: there was none.
	after *record
	limit int
	whole bool
}

func selectionOf(r *http.Request) (s selection, err error) {
	values, err := query(r, "resource", "namespace", "name", "labelSelector", "key", "limit", "continue", "object")
	if err != nil {
		return s, err
	}
	s = selection{resource: values.Get("resource"), namespace: values.Get("namespace"), name: values.Get("name"), keys: values["key"]}
	if s.labels, err = labels.Parse(values.Get("labelSelector")); err != nil {
		return s, fmt.Errorf("labelSelector: %w", err)
	}
	if s.limit, err = limitOf(values); err != nil {
		return s, err
	}
	if text := values.Get("continue"); text != "" {
		if s.after, err = parseContinue(text); err != nil {
			return s, err
		}
	}
	if text := values.Get("object"); text != "" {
		if s.whole, err = strconv.ParseBool(text); err != nil {
			return s, errors.New("object takes true or false")
		}
	}
	return s, nil
}

// matches reports whether a record is of the selection, but for its labels.
func (s *selection) matches(r *record) bool {
	return r.row.Ended == 0 &&
		(s.resource == "" || s.resource == r.row.Resource) &&
		(s.namespace == "" || s.namespace == r.row.Namespace) &&
		(s.name == "" || s.name == r.row.Name) &&
		(len(s.keys) == 0 || slices.Contains(s.keys, r.row.Key))
}

func hasLabels(content string, selector labels.Selector) bool {
	set := labels.Set{}
	gjson.Get(content, "metadata.labels").ForEach(func(name, value gjson.Result) bool {
		set[name.String()] = value.String()
		return true
	})
	return selector.Matches(set)
}

// continueOf is what leads to the page after a record.
func continueOf(r *record) string {
	return base64.RawURLEncoding.EncodeToString(encode([]string{r.row.Resource, r.row.Namespace, r.row.Name, r.row.Key}))
}

func parseContinue(text string) (*record, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	var parts []string
	if err != nil || json.Unmarshal(decoded, &parts) != nil || len(parts) != 4 {
		return nil, errors.New("continue takes what an answer had")
	}
	return &record{row: row{Resource: parts[0], Namespace: parts[1], Name: parts[2], Key: parts[3]}}, nil
}

// found is what is listed of an object, at one time.
type found struct {
	*record
	encoded []byte
	packed  []byte
}

type item struct {
	Row    json.RawMessage `json:"row"`
	Object json.RawMessage `json:"object,omitempty"`
}

// find returns what is selected, in order.
func (h *Hub) find(s *selection) (all []*found, seq uint64) {
	h.mu.Lock()
	for _, r := range h.store.records {
		if s.matches(r) {
			all = append(all, &found{r, r.encoded, r.packed})
		}
	}
	seq = h.log.last
	h.mu.Unlock()
	if !s.labels.Empty() {
		all = slices.DeleteFunc(all, func(f *found) bool { return !hasLabels(unpack(f.packed), s.labels) })
	}
	slices.SortFunc(all, func(a, b *found) int { return order(a.record, b.record) })
	return all, seq
}

// objects lists objects.
func (s *Server) objects(w http.ResponseWriter, r *http.Request) {
	selected, err := selectionOf(r)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	all, seq := s.hub.find(&selected)
	result := struct {
		Stream   string `json:"stream"`
		Seq      uint64 `json:"seq"`
		Total    int    `json:"total"`
		Items    []item `json:"items"`
		Continue string `json:"continue,omitempty"`
	}{s.hub.stream, seq, len(all), []item{}, ""}
	if selected.after != nil {
		all = slices.DeleteFunc(all, func(f *found) bool { return order(f.record, selected.after) <= 0 })
	}
	bytes := 0
	for i, f := range all {
		one := item{Row: f.encoded}
		if selected.whole {
			one.Object = json.RawMessage(unpack(f.packed))
		}
		bytes += len(one.Row) + len(one.Object)
		if i == selected.limit || i > 0 && bytes > maxAnswer {
			result.Continue = continueOf(all[i-1].record)
			break
		}
		result.Items = append(result.Items, one)
	}
	answer(w, result)
}

// feed lists what happened before.
func (s *Server) feed(w http.ResponseWriter, r *http.Request) {
	values, err := query(r, "before", "limit")
	limit, before := 0, ^uint64(0)
	if err == nil {
		limit, err = limitOf(values)
	}
	if text := values.Get("before"); err == nil && text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil {
			err = errors.New("before takes a number")
		}
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	result := struct {
		Stream string            `json:"stream"`
		Seq    uint64            `json:"seq"`
		Items  []json.RawMessage `json:"items"`
		Before uint64            `json:"before,omitempty"`
	}{Stream: s.hub.stream}
	result.Items, result.Before, result.Seq = s.hub.past(before, limit)
	answer(w, result)
}

// past returns the messages of the feed before seq, the newest first, and before which
// there are more; 0 if there are none.
func (h *Hub) past(before uint64, limit int) (items []json.RawMessage, more, last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	items = []json.RawMessage{}
	for _, e := range slices.Backward(h.log.entries) {
		if e.seq >= before || !e.feed {
			continue
		}
		if len(items) == limit {
			return items, more, h.log.last
		}
		items = append(items, e.short())
		more = e.seq
	}
	return items, 0, h.log.last
}

// where says of which objects an expression holds.
func (s *Server) where(w http.ResponseWriter, r *http.Request) {
	values, err := query(r, "expr", "key")
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	x, err := compile(values.Get("expr"))
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	result := struct {
		Stream string   `json:"stream"`
		Seq    uint64   `json:"seq"`
		Keys   []string `json:"keys"`
		Errors *errorOf `json:"errors,omitempty"`
	}{Stream: s.hub.stream, Keys: []string{}}
	all, seq := s.hub.contents(values["key"])
	result.Seq = seq
	mistakes, err := judge(r.Context(), x, all, func(key string, holds bool) {
		if holds {
			result.Keys = append(result.Keys, key)
		}
	}, nil)
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if mistakes.Count > 0 {
		result.Errors = &mistakes
	}
	answer(w, result)
}
