package expression

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// maxLazyDepth is the maximum depth of lazily decoded values. Each lazy level parses
// everything below it again, so deeper values are decoded completely.
const maxLazyDepth = 32

// decode returns the CEL value of JSON text. As in the Kubernetes decoder, whole numbers that
// fit are ints, and all others are doubles. Objects and lists are decoded lazily, so the value
// is not safe for concurrent use.
func decode(text string, depth int) ref.Val {
	switch {
	case strings.HasPrefix(text, `"`):
		if s, ok := unquote(text); ok {
			return types.String(s)
		}
		return errNotJSON()
	case strings.HasPrefix(text, "{") && depth < maxLazyDepth:
		return newLazyMap(text, depth, nil)
	case strings.HasPrefix(text, "[") && depth < maxLazyDepth:
		return newLazyList(text, depth)
	}
	var value any
	if utiljson.Unmarshal([]byte(text), &value) != nil {
		return errNotJSON()
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

func errNotJSON() ref.Val { return types.NewErrFromString("the object is not valid JSON") }

// unquote returns the value of a JSON string. It does not allocate if the string has no escapes.
func unquote(text string) (string, bool) {
	if len(text) < 2 {
		return "", false
	}
	inside := text[1 : len(text)-1]
	if strings.IndexByte(inside, '\\') < 0 && utf8.ValidString(inside) {
		return inside, true
	}
	var s string
	err := json.Unmarshal([]byte(text), &s)
	return s, err == nil
}

// lazy is a value in an object that is decoded on first use.
type lazy struct {
	text  string
	depth int
	value ref.Val // nil before the first use
}

// adapter makes the map and list types of CEL decode lazy values, and convert json.Number.
type adapter struct{ types.Adapter }

func (a adapter) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case *lazy:
		if value.value == nil {
			value.value = decode(value.text, value.depth)
		}
		return value.value
	case json.Number:
		return decode(string(value), 0)
	case map[string]any:
		return types.NewMap(a, value)
	case []any:
		return types.NewList(a, value)
	}
	return a.Adapter.NativeToValue(value)
}

var lazyAdapter = adapter{types.DefaultTypeAdapter}

// lazyMap is a JSON object whose fields are decoded lazily.
type lazyMap struct {
	traits.Mapper
	text   string
	fields map[string]*lazy
	state  *state // of the complete object; nil for a nested one
}

func newLazyMap(text string, depth int, s *state) *lazyMap {
	fields := map[string]*lazy{}
	gjson.Parse(text).ForEach(func(name, value gjson.Result) bool {
		if name, ok := unquote(name.Raw); ok { // the last of duplicate names wins, as in other decoders
			fields[name] = &lazy{text: value.Raw, depth: depth + 1}
		}
		return true
	})
	return &lazyMap{types.NewMap(lazyAdapter, fields), text, fields, s}
}

// textAt returns the JSON text of the value at a path of field names, or "" if a field is
// missing. ok is false if the path leads through a value that is not a lazy map.
func (m *lazyMap) textAt(names []string) (text string, ok bool) {
	text = m.text
	for i, name := range names {
		field, there := m.fields[name]
		if !there {
			return "", true
		}
		if text = field.text; i == len(names)-1 {
			break
		}
		if m, ok = lazyAdapter.NativeToValue(field).(*lazyMap); !ok {
			return "", false
		}
	}
	return text, true
}

// FindStringKey returns the value of a field. CEL prefers this method when it selects fields.
func (m *lazyMap) FindStringKey(name string) (any, bool) {
	field, there := m.fields[name]
	if !there {
		return nil, false
	}
	return lazyAdapter.NativeToValue(field), true
}

// Equal implements ref.Val. It decodes nothing if the texts are the same.
func (m *lazyMap) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*lazyMap); ok && o.text == m.text {
		return types.True
	}
	return m.Mapper.Equal(other)
}

// Iterator implements traits.Iterable. It returns the names in alphabetical order.
func (m *lazyMap) Iterator() traits.Iterator {
	return types.NewStringList(lazyAdapter, slices.Sorted(maps.Keys(m.fields))).Iterator()
}

func (m *lazyMap) IsZeroValue() bool { return len(m.fields) == 0 }

// lazyList is a JSON array whose items are decoded lazily.
type lazyList struct {
	traits.Lister
	text string
}

func newLazyList(text string, depth int) *lazyList {
	var items []*lazy
	gjson.Parse(text).ForEach(func(_, value gjson.Result) bool {
		items = append(items, &lazy{text: value.Raw, depth: depth + 1})
		return true
	})
	return &lazyList{types.NewList(lazyAdapter, items), text}
}

// Equal implements ref.Val. It decodes no items if the texts are the same.
func (l *lazyList) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*lazyList); ok && o.text == l.text {
		return types.True
	}
	return l.Lister.Equal(other)
}

func (l *lazyList) IsZeroValue() bool { return l.Size() == types.Int(0) }
