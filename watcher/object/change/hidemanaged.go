package change

import (
	"maps"
	"slices"
	"strings"
)

// hideManaged returns the object without what its managed fields say of values: where paths
// are masked, all keys of items and values of sets are hidden. It shares the rest with it.
func (ms masks) hideManaged(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	if len(ms) == 0 || ms[0].cover != plain || len(list) == 0 { // of a Secret they have names
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

// hideElements returns a field set, or a part of one, without keys of items and values.
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
