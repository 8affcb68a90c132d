package change

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// hideManaged returns the object with what its managed fields say of hidden values,
// as keys of items and as values of sets, hidden. It shares the rest with it.
func (ms masks) hideManaged(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	if len(ms) == 0 || len(list) == 0 {
		return object
	}
	list = slices.Clone(list)
	for i, item := range list {
		entry, _ := item.(map[string]any)
		if set, ok := entry["fieldsV1"].(map[string]any); ok {
			entry = maps.Clone(entry)
			entry["fieldsV1"] = ms.hideSet(nil, set)
			list[i] = entry
		}
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	metadata["managedFields"], object["metadata"] = list, metadata
	return object
}

// hideSet returns a field set, of what is at the path, as it may be shown.
func (ms masks) hideSet(path Path, set map[string]any) map[string]any {
	if m, below := ms.at(path); m == nil && !below {
		return set
	}
	shown := make(map[string]any, len(set))
	for name, inner := range set {
		step, ok := parseElement(name)
		if below, isSet := inner.(map[string]any); ok && isSet {
			path := append(slices.Clip(path), step)
			if step.Item != nil {
				if item, hidden := ms.hideItem(path); hidden {
					name = item.element()
				}
			}
			inner = ms.hideSet(path, below)
		}
		shown[name] = inner
	}
	return shown
}

// parseElement reads the name of a part in a field set; false if it is none that a
// path leads to.
func parseElement(name string) (Step, bool) {
	kind, rest, _ := strings.Cut(name, ":")
	switch kind {
	case "f":
		return Step{Field: rest}, true
	case "v":
		item := &Item{Set: true, partial: true}
		return Step{Item: item}, json.Unmarshal([]byte(rest), &item.Value) == nil
	case "k":
		var keys map[string]any
		err := json.Unmarshal([]byte(rest), &keys)
		item := &Item{partial: true}
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			item.Keys = append(item.Keys, Key{key, keys[key]})
		}
		return Step{Item: item}, err == nil
	}
	return Step{}, false
}

// element returns the name of the item in a field set.
func (i *Item) element() string {
	if i.Set {
		return string(appendScalar([]byte("v:"), i.Value))
	}
	keys := make(map[string]any, len(i.Keys))
	for _, key := range i.Keys {
		keys[key.Name] = key.Value
	}
	text, _ := json.Marshal(keys) // they are scalars
	return "k:" + string(text)
}
