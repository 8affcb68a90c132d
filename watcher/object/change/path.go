package change

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// Path leads from the root of an object, the empty Path, to a part of it.
type Path []Step

// Step goes down by one level.
type Step struct {
	// Field is the name of a field of a map, if Item is nil.
	Field string
	// Item is an item of a list.
	Item *Item
}

// Item is an item of a list. It is not to be changed: paths share it.
type Item struct {
	// Index is the position in the new list, of an item that was removed in the old one.
	Index int
	// Keys tell the item from the others of its list; empty if only the position does.
	Keys []Key
	// Set means that the list is a set of scalars, and Value the one meant.
	InSet bool
	Value any

	// gone: the item was removed, and Index is about the old list.
	gone bool
	// managed is the item as field managers name it: k:{"name":"web"}, v:"a".
	managed string
	// is and was are what the item holds in the two objects, as far as it is a map there:
	// patterns may name any field of it, whatever tells it from the others.
	is, was map[string]any
}

// has reports whether a field of the item has a value.
func (i *Item) has(field, value string) bool {
	for _, key := range i.Keys {
		if key.Name == field {
			return scalarText(key.Value) == value
		}
	}
	for _, state := range []map[string]any{i.is, i.was} {
		if v, there := state[field]; there && isScalar(v) && scalarText(v) == value {
			return true
		}
	}
	return false
}

// Key is a field that identifies an item of a list, with its value, a scalar.
type Key struct {
	Name  string
	Value any
}

// String writes the path as in spec.template.spec.containers[name=web].image:
//
//	.name               a field whose name is an identifier, here with "-", too
//	[example.com/team]  any other field; ["a b"] where it could be mistaken
//	[port=80,protocol=TCP]  an item, by its keys
//	[=value]            an item of a set
//	[2]                 an item by its index, from 0
//
// [ParsePattern] reads it, and the pattern matches the path. Control characters,
// and what is not printable in other ways, are escaped as in Go.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Item != nil:
			s.Item.write(&b)
		case isIdentifier(s.Field):
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(s.Field)
		case isPlain(s.Field) && !isNumeric(s.Field):
			b.WriteString("[" + s.Field + "]")
		default:
			b.WriteString("[" + strconv.Quote(s.Field) + "]")
		}
	}
	return b.String()
}

func (i *Item) write(b *strings.Builder) {
	b.WriteByte('[')
	switch {
	case i.InSet:
		b.WriteString("=" + quoteIfNeeded(scalarText(i.Value)))
	case len(i.Keys) == 0:
		b.WriteString(strconv.Itoa(i.Index))
	}
	for n, key := range i.Keys {
		if n > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quoteIfNeeded(key.Name) + "=" + quoteIfNeeded(scalarText(key.Value)))
	}
	b.WriteByte(']')
}

// compare orders paths: fields by name, items by index, what was removed before what
// has its index now, what holds others before them.
func (p Path) compare(q Path) int {
	for i := range min(len(p), len(q)) {
		a, b := p[i], q[i]
		switch {
		case a.Item != nil && b.Item != nil:
			if c := cmp.Compare(a.Item.Index, b.Item.Index); c != 0 {
				return c
			}
			if a.Item.gone != b.Item.gone {
				return map[bool]int{true: -1, false: 1}[a.Item.gone]
			}
		case a.Item != nil || b.Item != nil: // a list here, a map there: not in one object
			return len(p) - len(q)
		default:
			if c := strings.Compare(a.Field, b.Field); c != 0 {
				return c
			}
		}
	}
	return len(p) - len(q)
}

func isIdentifier(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r != '-' && (r < '0' || r > '9')) {
			return false
		}
	}
	return name != ""
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// isNumeric reports whether text in brackets could be an index, or in JSONPath a slice.
func isNumeric(text string) bool { return strings.Trim(text, "0123456789-:") == "" }

// isPlain reports whether text can stand in brackets without quotes.
func isPlain(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r == ' ' || r == unicode.ReplacementChar || !unicode.IsPrint(r) || strings.ContainsRune(special, r)
	})
}

// special are the characters that mean something in brackets.
const special = "[]{}()=,*?@$'\"`\\"

func quoteIfNeeded(text string) string {
	if isPlain(text) {
		return text
	}
	return strconv.Quote(text)
}
