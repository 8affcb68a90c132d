package change

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Write is the last write of one field manager, as the object that it wrote says.
type Write struct {
	Writer
	// Held is what the manager set that has its value since, and nothing else of the object: with
	// the keys of items of lists. Around is the same without the values: what is added to it in Held
	// is what the manager holds. Both are empty if it wrote in another version of the API.
	OwnedFields, Base map[string]any
}

// unspoken are managers that the server made up: what stands at their names was written by others,
// or at other times.
var unspoken = []string{oldest, "before-first-apply"}

// Writes returns the last write of each field manager that an object, valid JSON, has: one for
// each entry of its managed fields. Of those through the subresource scale the server does not note
// when it was; their Time is zero. That the manager wrote at that time, in
// whole seconds, is all that is said of the write: of what it holds it may have set a part at
// another time before, and it may have removed something. What it holds has not changed since.
func LastWrites(object string) (writes []Write) {
	managed := managedFieldsOf(object)
	if !managed.Exists() {
		return nil
	}
	whole := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(object))
	decoder.UseNumber()
	if decoder.Decode(&whole) != nil {
		return nil
	}
	for _, e := range entries(managed.Raw) {
		at, err := time.Parse(time.RFC3339, e.time)
		if err != nil && e.time != "" || slices.Contains(unspoken, e.manager) {
			continue
		}
		w := Write{Writer: Writer{Manager: e.manager, Operation: e.operation, Subresource: e.subresource, Time: at.UTC()}}
		if e.version == whole["apiVersion"] {
			w.OwnedFields, w.Base = e.set.pickMembers(whole)
		}
		writes = append(writes, w)
	}
	return writes
}

// pick returns of a value what the set has of it, and the same without values; nil for nothing.
func (s *fieldSet) pick(value any) (held, around any) {
	if len(s.parts()) == 0 {
		return value, nil
	}
	switch value := value.(type) {
	case map[string]any:
		return s.pickMembers(value)
	case []any:
		return s.pickItems(value)
	}
	return nil, nil // it is something else by now, as far as this version of the API shows
}

func (s *fieldSet) pickMembers(members map[string]any) (held, around map[string]any) {
	held, around = map[string]any{}, map[string]any{}
	for name, part := range s.parts() {
		field, isField := strings.CutPrefix(name, "f:")
		value, there := members[field]
		if !isField || !there {
			continue
		}
		inner, without := part.pick(value)
		if inner != nil || value == nil {
			held[field] = inner
		}
		if without != nil {
			around[field] = without
		}
	}
	return held, around
}

func (s *fieldSet) pickItems(items []any) (held, around []any) {
	held, around = []any{}, []any{}
	for _, item := range items {
		for name, part := range s.parts() {
			keys, found := keysOf(name, item)
			if !found {
				continue
			}
			inner, without := part.pick(item)
			addKeys(inner, item, keys)
			addKeys(without, item, keys)
			held = append(held, inner)
			if without != nil {
				around = append(around, without)
			}
			break
		}
	}
	return held, around
}

// keysOf returns the names of the keys by which a field manager names an item, if it is that item.
func keysOf(name string, item any) (keys []string, found bool) {
	if strings.HasPrefix(name, "v:") {
		return nil, id(nil, item) == name
	}
	text, isKeyed := strings.CutPrefix(name, "k:")
	var key map[string]json.RawMessage
	if !isKeyed || json.Unmarshal([]byte(text), &key) != nil {
		return nil, false
	}
	for k := range key {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys, id(keys, item) == name
}

// addKeys adds to a part of an item what tells it from others.
func addKeys(part, item any, keys []string) {
	to, isMap := part.(map[string]any)
	from, _ := item.(map[string]any)
	if !isMap {
		return
	}
	for _, key := range keys {
		if value, there := from[key]; there {
			to[key] = value
		}
	}
}
