package page

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output/inventory"
	"dwatch/watcher/object/expression"
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
	where                     *expression.Expression // nil: all
}

// selecting are the parameters of a selection.
var selecting = []string{"resource", "namespace", "name", "labelSelector", "key", "where"}

func selectionOf(values url.Values) (s selection, err error) {
	s = selection{resource: values.Get("resource"), namespace: values.Get("namespace"), name: values.Get("name"), keys: values["key"]}
	if s.labels, err = labels.Parse(values.Get("labelSelector")); err != nil {
		return s, fmt.Errorf("labelSelector: %w", err)
	}
	if values.Has("where") {
		s.where, err = compile(values.Get("where"))
	}
	return s, err
}

// has reports whether a state is of the selection, as far as that is quickly known.
func (s *selection) has(state *inventory.State) bool {
	o := state.Of
	return (s.resource == "" || s.resource == o.Resource.String()) &&
		(s.namespace == "" || s.namespace == o.Namespace) &&
		(s.name == "" || s.name == o.Name) &&
		(len(s.keys) == 0 || slices.Contains(s.keys, o.ID)) &&
		(s.labels.Empty() || s.labels.Matches(state.Labels()))
}

// find returns the states of the selection that there are now, in order.
func (s *selection) find(ctx context.Context, i *inventory.Inventory) ([]*inventory.State, error) {
	all, err := i.At(inventory.Now, s.has)
	if err != nil || s.where == nil {
		return all, err
	}
	found := all[:0]
	err = evaluate(ctx, s.where, all, func(state *inventory.State, holds bool) error {
		if holds {
			found = append(found, state)
		}
		return nil
	})
	return found, err
}

// list is what is asked of the lister.
type list struct {
	selection
	limit int
	whole bool
	// after is the last object of the page before; nil: there was none.
	after *inventory.State
}

func listOf(r *http.Request) (l list, err error) {
	values, err := query(r, append(slices.Clone(selecting), "limit", "continue", "object")...)
	if err != nil {
		return l, err
	}
	if l.selection, err = selectionOf(values); err != nil {
		return l, err
	}
	if l.limit, err = limitOf(values); err != nil {
		return l, err
	}
	if text := values.Get("continue"); text != "" {
		if l.after, err = parseContinue(text); err != nil {
			return l, err
		}
	}
	if text := values.Get("object"); text != "" {
		if l.whole, err = strconv.ParseBool(text); err != nil {
			return l, errors.New("object takes true or false")
		}
	}
	return l, nil
}

// continueOf is what leads to the page after an object.
func continueOf(s *inventory.State) string {
	o := s.Of
	return base64.RawURLEncoding.EncodeToString(encode([]string{o.Resource.Resource, o.Resource.Group, o.Namespace, o.Name, o.ID}))
}

func parseContinue(text string) (*inventory.State, error) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	var parts []string
	if err != nil || json.Unmarshal(decoded, &parts) != nil || len(parts) != 5 {
		return nil, errors.New("continue takes what an answer had")
	}
	return &inventory.State{Of: &inventory.Object{
		Resource:  schema.GroupResource{Resource: parts[0], Group: parts[1]},
		Namespace: parts[2], Name: parts[3], ID: parts[4],
	}}, nil
}

type item struct {
	Row    json.RawMessage `json:"row"`
	Object json.RawMessage `json:"object,omitempty"`
}

// objects lists objects.
func (s *Server) objects(w http.ResponseWriter, r *http.Request) {
	asked, err := listOf(r)
	var all []*inventory.State
	if err == nil {
		all, err = asked.find(r.Context(), s.hub.inventory)
	}
	if err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	result := struct {
		Stream   string `json:"stream"`
		Seq      uint64 `json:"seq"`
		Total    int    `json:"total"`
		Items    []item `json:"items"`
		Continue string `json:"continue,omitempty"`
	}{s.hub.stream, 0, len(all), []item{}, ""}
	if asked.after != nil {
		all = slices.DeleteFunc(all, func(f *inventory.State) bool { return inventory.Order(f, asked.after) <= 0 })
	}
	rows, seq := s.hub.rows(all[:min(len(all), asked.limit)])
	result.Seq = seq
	bytes := 0
	for i, row := range rows {
		one := item{Row: row}
		if asked.whole {
			one.Object = json.RawMessage(all[i].Object.Raw())
		}
		if bytes += len(one.Row) + len(one.Object); i > 0 && bytes > maxAnswer {
			break
		}
		result.Items = append(result.Items, one)
	}
	if n := len(result.Items); n < len(all) {
		result.Continue = continueOf(all[n-1])
	}
	answer(w, result)
}

// rows returns the rows of states, and the number of the last message that is in them.
func (h *Hub) rows(states []*inventory.State) (rows []json.RawMessage, seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range states {
		if d := drawn(s); d != nil {
			rows = append(rows, d.row)
		} else { // it has just come
			rows = append(rows, encode(rowOf(s, &drawing{}, 0)))
		}
	}
	return rows, h.log.last
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
