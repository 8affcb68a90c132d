package change

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
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
	case !below || isScalar(v):
		return v
	}
	return h.fields.rebuild(h.path, v, func(step Step, part any) (any, bool) {
		h.path = append(h.path, step)
		part = h.value(part)
		h.path = h.path[:len(h.path)-1]
		return part, false
	})
}

// all hides every scalar of a value.
func (h *hider) all(m *mask, v any) any {
	if isScalar(v) {
		h.hidden = h.hidden || v != nil
		return m.placeholder(v)
	}
	return h.fields.rebuild(h.path, v, func(_ Step, part any) (any, bool) { return h.all(m, part), false })
}

// copied hides in a text that is an object what is hidden in an object.
func (h *hider) copied(m *mask, v any) any {
	text, _ := v.(string)
	var object map[string]any
	if gjson.Valid(text) {
		object, _ = decodeText(gjson.Parse(text)).(map[string]any)
	}
	if object == nil {
		if m.cover == maybe {
			return v
		}
		return h.all(m, v)
	}
	inner := hider{masks: h.masks, fields: &fields{new: managedFieldsOf(text).Raw}}
	hidden := inner.value(inner.masks.hideManaged(object))
	if !inner.hidden && !managedFieldsOf(text).Exists() && !repeats(gjson.Parse(text)) {
		return v
	}
	h.hidden = true
	encoded := encodeText(hidden)
	if strings.HasSuffix(text, "\n") {
		encoded += "\n"
	}
	return encoded
}

// repeats reports whether JSON has two members of one name somewhere: what the first one holds is
// not in what was decoded.
func repeats(v gjson.Result) (found bool) {
	seen := map[string]bool{}
	v.ForEach(func(key, part gjson.Result) bool {
		found = v.IsObject() && seen[key.Str] || (part.IsObject() || part.IsArray()) && repeats(part)
		seen[key.Str] = true
		return !found
	})
	return found
}

// encodeText returns what was decoded as a line of JSON.
func encodeText(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // it was JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// hidePath returns the path with keys of items and values of sets hidden.
func (h *hider) hidePath(path Path) Path {
	shown := path
	for i, s := range path {
		if s.Item == nil {
			continue
		}
		if item, hidden := h.masks.hideItem(path[:i+1]); hidden {
			if &shown[0] == &path[0] {
				shown = slices.Clone(path)
			}
			shown[i].Item, h.hidden = item, true
		}
	}
	return shown
}

// hideItem returns the item that the path leads to without the values that are hidden:
// all that tell it from others, or of these the fields that a mask names.
func (ms masks) hideItem(path Path) (shown *Item, hidden bool) {
	item := path[len(path)-1].Item
	whole, below := ms.at(path)
	if whole == nil && !below {
		return item, false
	}
	shown = &Item{Index: item.Index, InSet: item.InSet, Value: item.Value, Keys: slices.Clone(item.Keys), gone: item.gone}
	if whole != nil && item.InSet {
		shown.Value, hidden = whole.placeholder(item.Value), true
	}
	for i, key := range item.Keys {
		m := whole
		if m == nil {
			m, _ = ms.at(append(slices.Clip(path), Step{Field: key.Name}))
		}
		if m != nil {
			shown.Keys[i].Value, hidden = m.placeholder(key.Value), true
		}
	}
	return shown, hidden
}
