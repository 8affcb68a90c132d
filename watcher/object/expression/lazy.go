package expression

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// maxLazyDepth is how deep text is decoded step by step. Each step reads what is below
// it again: below that, everything is decoded at once.
const maxLazyDepth = 32

// decode returns the value of JSON text, as the decoder of Kubernetes has it: whole
// numbers are ints, as far as they fit, others doubles. Objects and lists are decoded
// when they are looked into, and as far as that. The value is for one goroutine.
func decode(text string, depth int) ref.Val {
	if text == "" {
		return errNotJSON()
	}
	switch text[0] {
	case '{':
		if depth < maxLazyDepth {
			return &lazyMap{text: text, depth: depth}
		}
		return decodeAll(text)
	case '[':
		if depth < maxLazyDepth {
			return newLazyList(text, depth)
		}
		return decodeAll(text)
	case '"':
		return decodeString(text)
	}
	switch text {
	case "true":
		return types.True
	case "false":
		return types.False
	case "null":
		return types.NullValue
	}
	return decodeNumber(text)
}

func errNotJSON() ref.Val { return types.NewErrFromString("the object is no JSON") }

func decodeAll(text string) ref.Val {
	var value any
	if utiljson.Unmarshal([]byte(text), &value) != nil {
		return errNotJSON()
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

func decodeNumber(text string) ref.Val {
	if !strings.Contains(text, ".") {
		if whole, err := strconv.ParseInt(text, 10, 64); err == nil {
			return types.Int(whole)
		}
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return errNotJSON()
	}
	return types.Double(number)
}

func decodeString(text string) ref.Val {
	if s, ok := unquote(text); ok {
		return types.String(s)
	}
	return errNotJSON()
}

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

// member is a field of an object.
type member struct {
	name  string
	text  string
	value ref.Val // nil until somebody asks
}

// lazyMap is an object as JSON. Its fields are found when the first is asked for, and
// each is decoded when it is.
type lazyMap struct {
	text  string
	depth int
	// of is the whole object that this is; nil for a part of one.
	of *state

	scanned bool
	members []member
	index   map[string]int // of members, if they are many
	whole   traits.Mapper
}

// manyMembers is from how many fields on an index is worth its making.
const manyMembers = 12

func (m *lazyMap) scan() {
	if m.scanned {
		return
	}
	m.scanned = true
	gjson.Parse(m.text).ForEach(func(name, value gjson.Result) bool {
		if name, ok := unquote(name.Raw); ok {
			m.add(name, value.Raw)
		}
		return true
	})
}

// add takes a field. Of several with one name the last counts, as everywhere.
func (m *lazyMap) add(name, text string) {
	if at := m.at(name); at >= 0 {
		m.members[at].text = text
		return
	}
	m.members = append(m.members, member{name: name, text: text})
	switch last := len(m.members) - 1; {
	case m.index != nil:
		m.index[name] = last
	case last == manyMembers:
		m.index = make(map[string]int, 2*manyMembers)
		for at, f := range m.members {
			m.index[f.name] = at
		}
	}
}

// at returns where in members a field is; -1 if there is none.
func (m *lazyMap) at(name string) int {
	if m.index == nil {
		return slices.IndexFunc(m.members, func(f member) bool { return f.name == name })
	}
	if at, there := m.index[name]; there {
		return at
	}
	return -1
}

// find returns the field's value.
func (m *lazyMap) find(name string) (ref.Val, bool) {
	m.scan()
	at := m.at(name)
	if at < 0 {
		return nil, false
	}
	return m.value(at), true
}

func (m *lazyMap) value(at int) ref.Val {
	f := &m.members[at]
	if f.value == nil {
		f.value = decode(f.text, m.depth+1)
	}
	return f.value
}

// textAt returns the text of what the fields lead to; empty if that is not there. It is
// false where the text is not known.
func (m *lazyMap) textAt(fields []string) (text string, ok bool) {
	for i, name := range fields {
		m.scan()
		at := m.at(name)
		switch {
		case at < 0:
			return "", true
		case i == len(fields)-1:
			return m.members[at].text, true
		}
		inner, isMap := m.value(at).(*lazyMap)
		if !isMap {
			return "", false
		}
		m = inner
	}
	return m.text, true
}

// all returns the same as a map of CEL, for what is asked seldom.
func (m *lazyMap) all() traits.Mapper {
	if m.whole == nil {
		m.scan()
		values := make(map[string]ref.Val, len(m.members))
		for at, f := range m.members {
			values[f.name] = m.value(at)
		}
		m.whole = types.NewMap(types.DefaultTypeAdapter, values)
	}
	return m.whole
}

// FindStringKey is what CEL looks for to select a field.
func (m *lazyMap) FindStringKey(name string) (any, bool) {
	v, there := m.find(name)
	return v, there
}

// Find implements traits.Mapper.
func (m *lazyMap) Find(key ref.Val) (ref.Val, bool) {
	if name, ok := key.(types.String); ok {
		return m.find(string(name))
	}
	return m.all().Find(key)
}

// Get implements traits.Indexer.
func (m *lazyMap) Get(key ref.Val) ref.Val {
	if v, there := m.Find(key); there {
		return v
	}
	return missing()
}

// Contains implements traits.Container.
func (m *lazyMap) Contains(key ref.Val) ref.Val {
	_, there := m.Find(key)
	return types.Bool(there)
}

// Equal implements ref.Val: it decodes nothing where the texts are the same.
func (m *lazyMap) Equal(other ref.Val) ref.Val {
	lazy, lazily := other.(*lazyMap)
	if lazily && lazy.text == m.text {
		return types.True
	}
	o, ok := other.(traits.Mapper)
	if !ok {
		return types.False
	}
	m.scan()
	if types.Int(len(m.members)) != o.Size() {
		return types.False
	}
	for at, f := range m.members {
		if lazily && lazy.at(f.name) >= 0 && lazy.members[lazy.at(f.name)].text == f.text {
			continue
		}
		theirs, there := o.Find(types.String(f.name))
		if !there || types.Equal(m.value(at), theirs) == types.False {
			return types.False
		}
	}
	return types.True
}

// Iterator implements traits.Iterable: it goes over the names, as they are written.
func (m *lazyMap) Iterator() traits.Iterator {
	m.scan()
	names := make([]string, len(m.members))
	for at, f := range m.members {
		names[at] = f.name
	}
	return types.NewStringList(types.DefaultTypeAdapter, names).Iterator()
}

// Size implements traits.Sizer.
func (m *lazyMap) Size() ref.Val {
	m.scan()
	return types.Int(len(m.members))
}

// IsZeroValue implements traits.Zeroer.
func (m *lazyMap) IsZeroValue() bool { return m.Size() == types.Int(0) }

// Type implements ref.Val.
func (m *lazyMap) Type() ref.Type { return types.MapType }

// Value implements ref.Val.
func (m *lazyMap) Value() any { return m.all().Value() }

// ConvertToNative implements ref.Val.
func (m *lazyMap) ConvertToNative(t reflect.Type) (any, error) { return m.all().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (m *lazyMap) ConvertToType(t ref.Type) ref.Val {
	if t == types.MapType {
		return m
	}
	return m.all().ConvertToType(t)
}

// lazyList is a list with its text. Its items are decoded when they are looked into.
type lazyList struct {
	traits.Lister
	text string
}

func newLazyList(text string, depth int) *lazyList {
	var items []ref.Val
	gjson.Parse(text).ForEach(func(_, value gjson.Result) bool {
		items = append(items, decode(value.Raw, depth+1))
		return true
	})
	return &lazyList{types.NewRefValList(types.DefaultTypeAdapter, items), text}
}

// Equal implements ref.Val: it looks into no items where the texts are the same.
func (l *lazyList) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*lazyList); ok && o.text == l.text {
		return types.True
	}
	return l.Lister.Equal(other)
}

// IsZeroValue implements traits.Zeroer.
func (l *lazyList) IsZeroValue() bool { return l.Size() == types.Int(0) }
