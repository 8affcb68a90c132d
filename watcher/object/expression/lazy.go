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
			return &lazyList{text: text, depth: depth}
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
	ok := parts(m.text, func(name, value string) {
		if name, ok := unquote(name); ok {
			m.members = append(m.members, member{name: name, text: value})
		}
	})
	if !ok {
		m.members = nil
	}
	if len(m.members) < manyMembers {
		m.members = withoutDuplicates(m.members)
		return
	}
	m.index = make(map[string]int, len(m.members))
	unique := m.members[:0]
	for _, f := range m.members {
		if at, there := m.index[f.name]; there { // the last counts, as everywhere
			unique[at] = f
			continue
		}
		m.index[f.name] = len(unique)
		unique = append(unique, f)
	}
	m.members = unique
}

// withoutDuplicates leaves of fields with one name the last, as all decoders do.
func withoutDuplicates(members []member) []member {
	unique := members[:0]
	for i, f := range members {
		if !slices.ContainsFunc(members[i+1:], func(o member) bool { return o.name == f.name }) {
			unique = append(unique, f)
		}
	}
	return unique
}

// find returns the field's value.
func (m *lazyMap) find(name string) (ref.Val, bool) {
	m.scan()
	if m.index != nil {
		at, there := m.index[name]
		if !there {
			return nil, false
		}
		return m.value(at), true
	}
	for at := range m.members {
		if m.members[at].name == name {
			return m.value(at), true
		}
	}
	return nil, false
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
		at := slices.IndexFunc(m.members, func(f member) bool { return f.name == name })
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
	if o, ok := other.(*lazyMap); ok && o.text == m.text {
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

// lazyList is a list as JSON. Its items are decoded when the first is asked for, and
// what is in them later.
type lazyList struct {
	text  string
	depth int
	items traits.Lister
}

func (l *lazyList) all() traits.Lister {
	if l.items == nil {
		var items []ref.Val
		if !parts(l.text, func(_, value string) { items = append(items, decode(value, l.depth+1)) }) {
			items = nil
		}
		l.items = types.NewRefValList(types.DefaultTypeAdapter, items)
	}
	return l.items
}

// Equal implements ref.Val: it decodes nothing where the texts are the same.
func (l *lazyList) Equal(other ref.Val) ref.Val {
	if o, ok := other.(*lazyList); ok {
		if o.text == l.text {
			return types.True
		}
		return l.all().Equal(o.all())
	}
	return l.all().Equal(other)
}

// Add implements traits.Adder.
func (l *lazyList) Add(other ref.Val) ref.Val { return l.all().Add(other) }

// Contains implements traits.Container.
func (l *lazyList) Contains(item ref.Val) ref.Val { return l.all().Contains(item) }

// Get implements traits.Indexer.
func (l *lazyList) Get(index ref.Val) ref.Val { return l.all().Get(index) }

// Iterator implements traits.Iterable.
func (l *lazyList) Iterator() traits.Iterator { return l.all().Iterator() }

// Size implements traits.Sizer.
func (l *lazyList) Size() ref.Val { return l.all().Size() }

// IsZeroValue implements traits.Zeroer.
func (l *lazyList) IsZeroValue() bool { return l.Size() == types.Int(0) }

// Type implements ref.Val.
func (l *lazyList) Type() ref.Type { return types.ListType }

// Value implements ref.Val.
func (l *lazyList) Value() any { return l.all().Value() }

// ConvertToNative implements ref.Val.
func (l *lazyList) ConvertToNative(t reflect.Type) (any, error) { return l.all().ConvertToNative(t) }

// ConvertToType implements ref.Val.
func (l *lazyList) ConvertToType(t ref.Type) ref.Val {
	if t == types.ListType {
		return l
	}
	return l.all().ConvertToType(t)
}
