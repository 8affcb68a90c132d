package change

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

// identityKind is how the items of a list are identified.
type identityKind int

const (
	byPosition identityKind = iota
	byKey
	byValue // a set of scalars
)

// identity is how the items of a list are identified, in two states.
type identity struct {
	kind      identityKind
	keys      []string // the fields that identify an item, sorted
	shownKeys []string // the fields to show in paths, usually the same
	// old and new are the names of the items in field sets. They are nil if kind is byPosition.
	old, new []string
}

// naturalKeys are the keys to try, in this order, for lists without managed keys.
var naturalKeys = []string{"name", "type", "key", "host", "ip", "path", "port", "uid"}

// identify returns the identity of the items of two lists at the path.
func (f *fields) identify(path Path, old, new []any) identity {
	keys, set := f.listType(path)
	if set || isMetadata(path, "finalizers") {
		if by, ok := identityOf(nil, old, new); ok {
			return by
		}
	}
	if isMetadata(path, "ownerReferences") {
		if by, ok := identityOf([]string{"uid"}, old, new); ok {
			by.shownKeys = []string{"name"}
			return by
		}
	}
	if len(keys) > 0 {
		by, _ := identityOf(keys, old, new)
		return by
	}
	for _, key := range naturalKeys {
		if by, ok := identityOf([]string{key}, old, new); ok {
			return by
		}
	}
	return identity{}
}

func isMetadata(path Path, field string) bool {
	return len(path) == 2 && path[0].Field == "metadata" && path[1].Item == nil && path[1].Field == field
}

// identityOf returns the identity by keys, or by value if keys is nil. ok is false if that does not identify all items.
func identityOf(keys []string, old, new []any) (by identity, ok bool) {
	by = identity{kind: byKey, keys: keys, shownKeys: keys}
	if keys == nil {
		by.kind = byValue
	}
	if by.old, ok = ids(keys, old); ok {
		by.new, ok = ids(keys, new)
	}
	if !ok {
		return identity{}, false
	}
	return by, true
}

// ids returns the names of the items in field sets. ok is false if an item has no name, or two have the same.
func ids(keys []string, items []any) (names []string, ok bool) {
	names = make([]string, len(items))
	for i, item := range items {
		if names[i] = id(keys, item); names[i] == "" {
			return nil, false
		}
	}
	return names, len(slices.Compact(slices.Sorted(slices.Values(names)))) == len(names)
}

// id returns the name of an item in field sets, by keys, or by value if keys is nil. It is empty if the item has none of the
// keys, or if the value of a key, or of the item of a set, is not a scalar. If a key is missing because the schema has a
// default for it, the name in field sets contains the default, and the result does not.
func id(keys []string, item any) string {
	if keys == nil {
		if !isScalar(item) {
			return ""
		}
		return string(appendScalar([]byte("v:"), item))
	}
	fields, _ := item.(map[string]any)
	text := append(make([]byte, 0, 64), "k:{"...)
	for _, key := range keys {
		value, there := fields[key]
		if !there {
			continue
		}
		if !isScalar(value) {
			return ""
		}
		if text[len(text)-1] != '{' {
			text = append(text, ',')
		}
		text = append(appendScalar(text, key), ':')
		text = appendScalar(text, value)
	}
	if text[len(text)-1] == '{' {
		return ""
	}
	return string(append(text, '}'))
}

func appendScalar(text []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		return append(text, v...)
	case string:
		if isPlain(v) && !strings.ContainsAny(v, "<>&") {
			return append(append(append(text, '"'), v...), '"')
		}
	}
	encoded, _ := json.Marshal(v) // a scalar can be encoded
	return append(text, encoded...)
}

// step returns the step to an item of one of the two lists.
func (by identity) step(items []any, i int) Step {
	item := &Item{Index: i}
	item.newFields, _ = items[i].(map[string]any)
	switch by.kind {
	case byValue:
		item.InSet, item.Value = true, items[i]
		item.managed = id(nil, items[i])
	case byKey:
		fields := items[i].(map[string]any) // only maps have keys
		item.Keys = make([]Key, 0, len(by.shownKeys))
		for _, key := range by.shownKeys {
			if value, there := fields[key]; there && isScalar(value) {
				item.Keys = append(item.Keys, Key{key, value})
			}
		}
		item.managed = id(by.keys, fields)
	}
	return Step{Item: item}
}

// children iterates over the fields or items of a value that exists in only one of the two objects.
func (f *fields) children(path Path, value any) iter.Seq2[Step, any] {
	return func(yield func(Step, any) bool) {
		switch v := value.(type) {
		case map[string]any:
			for name, part := range v {
				if !yield(Step{Field: name}, part) {
					return
				}
			}
		case []any:
			by := f.identify(path, v, nil)
			for i, part := range v {
				if !yield(by.step(v, i), part) {
					return
				}
			}
		}
	}
}

// rebuild returns a copy of a map or list in which part replaces or drops each field or item.
func (f *fields) rebuild(path Path, value any, part func(Step, any) (shown any, drop bool)) any {
	m, list := map[string]any{}, []any{}
	for step, inner := range f.children(path, value) {
		switch shown, drop := part(step, inner); {
		case drop:
		case step.Item != nil:
			list = append(list, shown)
		default:
			m[step.Field] = shown
		}
	}
	if _, isMap := value.(map[string]any); isMap {
		return m
	}
	return list
}
