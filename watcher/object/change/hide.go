package change

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// hider copies values and masks the hidden ones.
type hider struct {
	masks  masks
	fields *fields
	path   Path // of the current value
	found  bool // a value was hidden
}

// value returns the value at the path with hidden values masked.
func (h *hider) value(v any) any {
	m, below := h.masks.find(h.path)
	switch {
	case m != nil && (m.content == embeddedObject || m.content == maybeObject):
		return h.hideEmbedded(m, v)
	case m != nil:
		return h.hideAll(m, v)
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

// hideAll masks every scalar of a value.
func (h *hider) hideAll(m *mask, v any) any {
	if isScalar(v) {
		h.found = h.found || v != nil
		return m.placeholder(v)
	}
	return h.fields.rebuild(h.path, v, func(_ Step, part any) (any, bool) { return h.hideAll(m, part), false })
}

// hideEmbedded masks the hidden values of an object in a JSON string, such as the last-applied-configuration annotation.
// If the string contains no object, it masks the whole string, or nothing if the rule is for maybeObject.
func (h *hider) hideEmbedded(m *mask, v any) any {
	text, _ := v.(string)
	var object map[string]any
	if gjson.Valid(text) {
		object, _ = decodeText(gjson.Parse(text)).(map[string]any)
	}
	if object == nil {
		if m.content == maybeObject {
			return v
		}
		return h.hideAll(m, v)
	}
	inner := hider{masks: h.masks, fields: &fields{new: managedFieldsOf(text).Raw}}
	hidden := inner.value(inner.masks.hideManaged(object))
	if !inner.found && !managedFieldsOf(text).Exists() && !repeats(gjson.Parse(text)) {
		return v
	}
	h.found = true
	encoded := encodeText(hidden)
	if strings.HasSuffix(text, "\n") {
		encoded += "\n"
	}
	return encoded
}

// repeats reports whether any JSON object in v has two members of the same name. Decoding drops the first one, so masks
// do not see its value.
func repeats(v gjson.Result) (found bool) {
	seen := map[string]bool{}
	v.ForEach(func(key, part gjson.Result) bool {
		found = v.IsObject() && seen[key.Str] || (part.IsObject() || part.IsArray()) && repeats(part)
		seen[key.Str] = true
		return !found
	})
	return found
}

// encodeText returns a decoded value as one line of JSON.
func encodeText(v any) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err) // decoded JSON can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// hidePath returns the path with hidden keys and set values masked.
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
			shown[i].Item, h.found = item, true
		}
	}
	return shown
}

// hideItem returns the last item of the path with hidden values masked. If a mask matches the item, these are all of its
// keys or its set value, else the keys that a mask names.
func (ms masks) hideItem(path Path) (shown *Item, hidden bool) {
	item := path[len(path)-1].Item
	whole, below := ms.find(path)
	if whole == nil && !below {
		return item, false
	}
	shown = &Item{Index: item.Index, InSet: item.InSet, Value: item.Value, Keys: slices.Clone(item.Keys), removed: item.removed}
	if whole != nil && item.InSet {
		shown.Value, hidden = whole.placeholder(item.Value), true
	}
	for i, key := range item.Keys {
		m := whole
		if m == nil {
			m, _ = ms.find(append(slices.Clip(path), Step{Field: key.Name}))
		}
		if m != nil {
			shown.Keys[i].Value, hidden = m.placeholder(key.Value), true
		}
	}
	return shown, hidden
}
