package change

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"
)

// Path leads from the root of an object to a part of it. The empty Path is the root.
type Path []Step

// Step goes down by one level.
type Step struct {
	// Field is the name of a field of a map, if Item is nil.
	Field string
	// Item is an item of a list.
	Item *Item
}

// Item is an item of a list. It must not be modified, because paths share it.
type Item struct {
	// Index is the position in the new list, or in the old list if the item was removed.
	Index int
	// Keys identify the item in its list. If empty, only its position or value does.
	Keys []Key
	// InSet is true if the list is a set of scalars. Value is then the item.
	InSet bool
	Value any

	// removed is true if the item was removed. Index is then the position in the old list.
	removed bool
	// managed is the name of the item in field sets: k:{"name":"web"}, v:"a". It is empty if Index identifies the item.
	managed string
	// newFields and oldFields are the fields of the item in the two objects, or nil if it is not a map there. Patterns can
	// use any of them, not only keys.
	newFields, oldFields map[string]any
}

// has reports whether a field of the item has the value, given as text.
func (i *Item) has(field, value string) bool {
	for _, key := range i.Keys {
		if key.Name == field {
			return scalarText(key.Value) == value
		}
	}
	for _, state := range []map[string]any{i.newFields, i.oldFields} {
		if v, there := state[field]; there && isScalar(v) && scalarText(v) == value {
			return true
		}
	}
	return false
}

// Key is a field that identifies an item of a list, with its value (a scalar).
type Key struct {
	Name  string
	Value any
}

// String returns the path as text, such as spec.template.spec.containers[name=web].image:
//
//	.name                   a field whose name is an identifier, which may contain "-"
//	[example.com/team]      any other field, quoted if it is ambiguous: ["a b"]
//	[port=80,protocol=TCP]  an item, by its keys
//	[=value]                an item of a set
//	[2]                     an item by its index, from 0
//
// [ParsePattern] parses the text into a pattern that matches the path. Control characters and other characters that are
// not printable are escaped as in Go.
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

// compare orders fields by name, items by index, a removed item before the item that has its index now, and parents
// before children.
func (p Path) compare(q Path) int {
	for i := range min(len(p), len(q)) {
		a, b := p[i], q[i]
		switch {
		case a.Item != nil && b.Item != nil:
			if c := cmp.Compare(a.Item.Index, b.Item.Index); c != 0 {
				return c
			}
			if a.Item.removed != b.Item.removed {
				return map[bool]int{true: -1, false: 1}[a.Item.removed]
			}
		case a.Item != nil || b.Item != nil: // a list and a map can't have the same path in one object
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

// isNumeric reports whether text in brackets could be an index, or a slice in JSONPath.
func isNumeric(text string) bool { return strings.Trim(text, "0123456789-:") == "" }

// isPlain reports whether text needs no quotes in brackets.
func isPlain(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r == ' ' || r == unicode.ReplacementChar || !unicode.IsPrint(r) || strings.ContainsRune(special, r)
	})
}

// special contains the characters with a meaning in brackets.
const special = "[]{}()=,*?@$'\"`\\"

func quoteIfNeeded(text string) string {
	if isPlain(text) {
		return text
	}
	return strconv.Quote(text)
}
