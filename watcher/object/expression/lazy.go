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

// maxLazyDepth is how deep text is decoded step by step: each step reads all below it again.
const maxLazyDepth = 32

// decode returns the value of JSON text, as the decoder of Kubernetes has it: whole
// numbers are ints, as far as they fit, others doubles. Objects and lists are decoded
// when they are looked into, and as far as that. The value is for one goroutine.
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

func errNotJSON() ref.Val { return types.NewErrFromString("the object is no JSON") }

// unquote returns what a JSON string says. Mostly that is a part of the text.
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

// lazy is a part of an object. It is decoded when it is looked at.
type lazy struct {
	text  string
	depth int
	value ref.Val // nil until then
}

// adapter has CEL's own maps and lists decode what is lazy in them, and read numbers as they
// are written.
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

var lazily = adapter{types.DefaultTypeAdapter}

type lazyMap struct {
	traits.Mapper
	text   string
	fields map[string]*lazy
	// of is the whole object that this is; nil for a part of one.
	of *state
}

func newLazyMap(text string, depth int, of *state) *lazyMap {
	fields := map[string]*lazy{}
	gjson.Parse(text).ForEach(func(name, value gjson.Result) bool {
		if name, ok := unquote(name.Raw); ok { // of several with one name the last counts, as everywhere
			fields[name] = &lazy{text: value.Raw, depth: depth + 1}
		}
		return true
	})
	return &lazyMap{types.NewMap(lazily, fields), text, fields, of}
}

// textAt returns the text of what the fields lead to; empty if that is not there. It is
// false where the text is not known.
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
		if m, ok = lazily.NativeToValue(field).(*lazyMap); !ok {
			return "", false
		}
	}
	return text, true
}

// FindStringKey is what CEL looks for to select a field.
func (m *lazyMap) FindStringKey(name string) (any, bool) {
	field, there := m.fields[name]
	if !there {
		return nil, false
	}
	return lazily.NativeToValue(field), true
}

// Equal implements ref.Val: it decodes nothing where the texts are the same.
func (m *lazyMap) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*lazyMap); ok && o.text == m.text {
		return types.True
	}
	return m.Mapper.Equal(other)
}

// Iterator implements traits.Iterable: it goes over the names in their order.
func (m *lazyMap) Iterator() traits.Iterator {
	return types.NewStringList(lazily, slices.Sorted(maps.Keys(m.fields))).Iterator()
}

func (m *lazyMap) IsZeroValue() bool { return len(m.fields) == 0 }

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
	return &lazyList{types.NewList(lazily, items), text}
}

// Equal implements ref.Val: it looks into no items where the texts are the same.
func (l *lazyList) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*lazyList); ok && o.text == l.text {
		return types.True
	}
	return l.Lister.Equal(other)
}

func (l *lazyList) IsZeroValue() bool { return l.Size() == types.Int(0) }
