package change

import (
	"maps"
	"slices"
	"strings"
)

// hideManaged returns the object without the values in its managed fields: if Masks.Paths is set, it masks all keys of
// items and all values of sets. The result shares everything else with the object.
func (ms masks) hideManaged(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	if len(ms) == 0 || ms[0].content != plainText || len(list) == 0 { // the managed fields of a Secret contain only field names
		return object
	}
	list = slices.Clone(list)
	for i, item := range list {
		if entry, ok := item.(map[string]any); ok && entry["fieldsV1"] != nil {
			entry = maps.Clone(entry)
			entry["fieldsV1"] = ms[0].hideElements(entry["fieldsV1"])
			list[i] = entry
		}
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	metadata["managedFields"], object["metadata"] = list, metadata
	return object
}

// hideElements returns a field set, or a part of one, with item keys and set values masked.
func (m *mask) hideElements(set any) any {
	shown := map[string]any{}
	parts, _ := set.(map[string]any)
	for name, inner := range parts {
		if kind, value, _ := strings.Cut(name, ":"); kind != "f" && value != "" {
			name = kind + ":" + encodeText(m.placeholder(value))
		}
		shown[name] = m.hideElements(inner)
	}
	return shown
}
