package page

import (
	"cmp"
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
	// maxAnswer is the maximum size in bytes of an answer with several objects. A single larger object is still sent.
	maxAnswer = 4 << 20
)

func fail(w http.ResponseWriter, code int, text string) { answer(w, code, encode(problem(text))) }

func problem(text string) any { return map[string]string{"error": text} }

func answer(w http.ResponseWriter, code int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(text)
}

// query parses the parameters of a request. It rejects names that are not in known, and repeated ones except key.
func query(r *http.Request, known ...string) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, errors.New("the query is invalid")
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

// keyQuery is query for a request with exactly one key. Parameters named in others are allowed, too.
func keyQuery(r *http.Request, others ...string) (url.Values, error) {
	values, err := query(r, append([]string{"key"}, others...)...)
	if err == nil && len(values["key"]) != 1 {
		err = errors.New("it takes one key")
	}
	return values, err
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

func flagOf(values url.Values, name string) (is bool, err error) {
	if text := values.Get(name); text != "" {
		if is, err = strconv.ParseBool(text); err != nil {
			return false, fmt.Errorf("%s takes true or false", name)
		}
	}
	return is, nil
}

// selection selects objects. Empty criteria match all.
type selection struct {
	resource, cluster, namespace, name string
	labels                             labels.Selector
	keys                               []string
	where                              *expression.Expression // nil matches all
}

// selectionParameters are the names of the parameters of a selection.
var selectionParameters = []string{"resource", "cluster", "namespace", "name", "labelSelector", "key", "where"}

// selectionOf parses a selection. Parameters named in others are allowed too.
func selectionOf(r *http.Request, others ...string) (s selection, values url.Values, err error) {
	if values, err = query(r, slices.Concat(selectionParameters, others)...); err != nil {
		return s, nil, err
	}
	s = selection{resource: values.Get("resource"), cluster: values.Get("cluster"), namespace: values.Get("namespace"), name: values.Get("name"), keys: values["key"]}
	if s.labels, err = labels.Parse(values.Get("labelSelector")); err != nil {
		return s, nil, fmt.Errorf("labelSelector: %w", err)
	}
	if values.Has("where") {
		s.where, err = compile(values.Get("where"))
	}
	return s, values, err
}

// matches reports whether a state matches all criteria but where, which find evaluates.
func (s *selection) matches(state *inventory.State) bool {
	o := state.Entry
	return (s.resource == "" || s.resource == o.Resource.String()) &&
		(s.cluster == "" || s.cluster == o.Cluster) &&
		(s.namespace == "" || s.namespace == o.Namespace) &&
		(s.name == "" || s.name == o.Name) &&
		(len(s.keys) == 0 || slices.Contains(s.keys, o.ID)) &&
		(s.labels.Empty() || s.labels.Matches(state.Labels()))
}

// find returns the current states that match the selection, in order.
func (s *selection) find(ctx context.Context, h *Hub) ([]*inventory.State, error) {
	all, err := h.inventory.ListAt(inventory.Now, s.matches)
	if err != nil || s.where == nil {
		return all, err
	}
	found := all[:0]
	err = evaluate(ctx, s.where, h.clock(), all, func(state *inventory.State, holds bool) error {
		if holds {
			found = append(found, state)
		}
		return nil
	})
	return found, err
}

// listRequest is a parsed request for a page of objects.
type listRequest struct {
	selection
	limit      int
	withObject bool
	// after is the last object of the previous page. nil means the first page.
	after *inventory.State
}

func listRequestOf(r *http.Request) (l listRequest, err error) {
	selected, values, err := selectionOf(r, "limit", "continue", "object")
	limit, wrongLimit := limitOf(values)
	after, wrongContinue := parseContinue(values.Get("continue"))
	whole, wrongObject := flagOf(values, "object")
	return listRequest{selected, limit, whole, after}, cmp.Or(err, wrongLimit, wrongContinue, wrongObject)
}

func continueOf(s *inventory.State) string {
	o := s.Entry
	return base64.RawURLEncoding.EncodeToString(encode([]string{o.Resource.Resource, o.Resource.Group, o.Namespace, o.Name, o.ID}))
}

func parseContinue(text string) (*inventory.State, error) {
	if text == "" {
		return nil, nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	var parts []string
	if err != nil || json.Unmarshal(decoded, &parts) != nil || len(parts) != 5 {
		return nil, errors.New("continue takes what an answer had")
	}
	return &inventory.State{Entry: &inventory.Entry{
		Resource:  schema.GroupResource{Resource: parts[0], Group: parts[1]},
		Namespace: parts[2], Name: parts[3], ID: parts[4],
	}}, nil
}

type item struct {
	Row    json.RawMessage `json:"row"`
	Object json.RawMessage `json:"object,omitempty"`
}

func (h *Hub) objects(r *http.Request) (any, error) {
	asked, err := listRequestOf(r)
	if err != nil {
		return nil, err
	}
	all, err := asked.find(r.Context(), h)
	if err != nil {
		return nil, err
	}
	result := struct {
		Stream   string `json:"stream"`
		Seq      uint64 `json:"seq"`
		Total    int    `json:"total"`
		Items    []item `json:"items"`
		Continue string `json:"continue,omitempty"`
	}{h.stream, 0, len(all), []item{}, ""}
	if asked.after != nil {
		all = slices.DeleteFunc(all, func(f *inventory.State) bool { return inventory.CompareStates(f, asked.after) <= 0 })
	}
	rows, seq := h.rows(all[:min(len(all), asked.limit)])
	result.Seq = seq
	bytes := 0
	for i, row := range rows {
		one := item{Row: row}
		if asked.withObject {
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
	return result, nil
}

func (h *Hub) rows(states []*inventory.State) (rows []json.RawMessage, seq uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range states {
		if d := rowViewOf(h, s); d != nil {
			rows = append(rows, d.row)
		} else { // in the inventory, but not drawn yet
			rows = append(rows, encode(rowOf(s, h.placed(s), &rowView{}, 0)))
		}
	}
	return rows, h.log.last
}

// feed answers with a page of feed messages.
func (h *Hub) feed(r *http.Request) (any, error) {
	values, err := query(r, "before", "limit")
	limit, wrong := limitOf(values)
	if err := cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	before := ^uint64(0)
	if text := values.Get("before"); text != "" {
		if before, err = strconv.ParseUint(text, 10, 64); err != nil {
			return nil, errors.New("before takes a number")
		}
	}
	return h.feedPage(before, limit), nil
}

// feedPage is a page of feed messages, newest first.
type feedPage struct {
	Stream string            `json:"stream"`
	Seq    uint64            `json:"seq"`
	Items  []json.RawMessage `json:"items"`
	// Before is the before parameter for the next page. Zero means there are no more messages.
	Before uint64 `json:"before,omitempty"`
	// Cut is true if older messages may have been dropped.
	Cut bool `json:"cut,omitempty"`
}

func (h *Hub) feedPage(before uint64, limit int) feedPage {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := feedPage{Stream: h.stream, Seq: h.log.last, Items: []json.RawMessage{}}
	last := uint64(0)
	for _, e := range slices.Backward(h.log.entries) {
		if e.seq >= before || !e.feed {
			continue
		}
		if len(p.Items) == limit {
			p.Before = last
			return p
		}
		p.Items, last = append(p.Items, e.short()), e.seq
	}
	p.Cut = h.log.cut
	return p
}

// held answers with the times that can be shown and the gaps in them.
func (h *Hub) held(r *http.Request) (any, error) {
	if _, err := query(r, "time"); err != nil {
		return nil, err
	}
	if h.ofPast != nil {
		return h.ofPast.message(h.clock(), h.isLive()), nil
	}
	return liveHistory{h}.held(), nil
}
