package change

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"
)

type how int

const (
	byPosition how = iota
	byKey
	byValue // a set of scalars
)

// identity is what tells the items of a list, in two states, apart.
type identity struct {
	how   how
	keys  []string // names of the fields that do, by name
	shown []string // those that are shown instead
	// The items as field managers name them; not by position.
	old, new []string
}

// naturalKeys are looked for in this order where the managed fields name no key.
var naturalKeys = []string{"name", "type", "key", "host", "ip", "path", "port", "uid"}

// identify returns what tells the items of the lists at the path apart.
func (f *fields) identify(path Path, old, new []any) identity {
	keys, set := f.listType(path)
	if set || isMetadata(path, "finalizers") {
		if by, ok := identityOf(nil, old, new); ok {
			return by
		}
	}
	if isMetadata(path, "ownerReferences") {
		if by, ok := identityOf([]string{"uid"}, old, new); ok {
			by.shown = []string{"name"}
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

// identityOf returns the identity by keys, or by value, if it tells all items apart.
func identityOf(keys []string, old, new []any) (by identity, ok bool) {
	by = identity{how: byKey, keys: keys, shown: keys}
	if keys == nil {
		by.how = byValue
	}
	if by.old, ok = ids(keys, old); ok {
		by.new, ok = ids(keys, new)
	}
	if !ok {
		return identity{}, false
	}
	return by, true
}

// ids returns the items as field managers name them; false if it does not tell them apart.
func ids(keys []string, items []any) ([]string, bool) {
	names := make([]string, len(items))
	for i, item := range items {
		if names[i] = id(keys, item); names[i] == "" {
			return nil, false
		}
	}
	return names, len(slices.Compact(slices.Sorted(slices.Values(names)))) == len(names)
}

// id returns an item as field managers name it, empty if it has none of the keys. A
// key that is missing has a default in the schema, which field managers would name.
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
	item.is, _ = items[i].(map[string]any)
	switch by.how {
	case byValue:
		item.InSet, item.Value = true, items[i]
		item.managed = id(nil, items[i])
	case byKey:
		fields := items[i].(map[string]any) // or it had no id
		item.Keys = make([]Key, 0, len(by.shown))
		for _, key := range by.shown {
			if value, there := fields[key]; there && isScalar(value) {
				item.Keys = append(item.Keys, Key{key, value})
			}
		}
		item.managed = id(by.keys, fields)
	}
	return Step{Item: item}
}

// children goes through the parts of a value that the other object has none of.
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

// rebuild returns a copy of a map or a list with its parts as a function has them, without
// those that it drops.
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
