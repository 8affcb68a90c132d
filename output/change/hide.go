package change

import (
	"encoding/json"
	"slices"
	"strings"
)

// hider makes copies of values in which others are hidden.
type hider struct {
	masks  masks
	fields *fields
	path   Path // to the value
	hidden bool // something has been
}

// value returns the value at the path as it may be shown.
func (h *hider) value(v any) any {
	m, below := h.masks.at(h.path)
	switch {
	case m != nil && (m.cover == copied || m.cover == maybe):
		return h.copied(m, v)
	case m != nil:
		return h.all(m, v)
	case !below:
		return v
	}
	switch whole := v.(type) {
	case map[string]any:
		return h.parts(whole, make(map[string]any, len(whole)), nil)
	case []any:
		return h.parts(whole, nil, make([]any, 0, len(whole)))
	}
	return v
}

// parts fills one of the two, a map or a list, with the parts of the value as they
// may be shown.
func (h *hider) parts(v any, m map[string]any, list []any) any {
	for step, part := range h.fields.children(h.path, v) {
		h.path = append(h.path, step)
		part = h.value(part)
		h.path = h.path[:len(h.path)-1]
		if m != nil {
			m[step.Field] = part
		} else {
			list = append(list, part)
		}
	}
	if m != nil {
		return m
	}
	return list
}

// all hides every scalar of a value.
func (h *hider) all(m *mask, v any) any {
	switch v := v.(type) {
	case map[string]any:
		hidden := make(map[string]any, len(v))
		for name, part := range v {
			hidden[name] = h.all(m, part)
		}
		return hidden
	case []any:
		hidden := make([]any, len(v))
		for i, part := range v {
			hidden[i] = h.all(m, part)
		}
		return hidden
	}
	h.hidden = h.hidden || v != nil
	return m.placeholder(v)
}

// copied hides in a text that is an object, or a part of one, what is hidden in an
// object.
func (h *hider) copied(m *mask, v any) any {
	text, isText := v.(string)
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if !isText || decoder.Decode(&object) != nil || decoder.More() {
		if m.cover == maybe {
			return v
		}
		return h.all(m, v)
	}
	inner := hider{masks: h.masks, fields: &fields{new: object}}
	hidden := inner.value(inner.masks.hideManaged(object))
	if !inner.hidden {
		return v
	}
	h.hidden = true
	encoded := encodeText(hidden)
	if strings.HasSuffix(text, "\n") {
		return encoded
	}
	return strings.TrimSuffix(encoded, "\n")
}

// encodeText returns what was decoded as a line of JSON.
func encodeText(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // it was JSON
	}
	return b.String()
}

// hidePath hides in a path, which it changes, keys of items and values of sets.
func (h *hider) hidePath(path Path) Path {
	for i, s := range path {
		if s.Item == nil || !s.Item.Set && len(s.Item.Keys) == 0 {
			continue
		}
		if m, _ := h.masks.at(path[:i+1]); m != nil {
			item := &Item{Index: s.Item.Index, Set: s.Item.Set, Keys: slices.Clone(s.Item.Keys), gone: s.Item.gone}
			item.Value = m.placeholder(s.Item.Value)
			for k := range item.Keys {
				item.Keys[k].Value = m.placeholder(item.Keys[k].Value)
			}
			path[i].Item, h.hidden = item, true
		}
	}
	return path
}
