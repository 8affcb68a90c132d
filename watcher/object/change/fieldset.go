package change

import (
	"iter"

	"github.com/tidwall/gjson"
)

// fieldSet is what a manager owns, or a part of it (fieldsV1; KEP-555): decoded, or
// as JSON text, in which few names are found faster than all are decoded.
type fieldSet struct {
	decoded map[string]any
	text    string // if it is not decoded
}

// child returns what the set says of what one step leads to.
func (s fieldSet) child(to Step) (fieldSet, bool) {
	switch {
	case to.Item == nil:
		return s.member("f:" + to.Field)
	case to.Item.managed != "":
		return s.member(to.Item.managed)
	}
	return fieldSet{}, false
}

func (s fieldSet) member(name string) (found fieldSet, ok bool) {
	if s.text == "" {
		found.decoded, ok = s.decoded[name].(map[string]any)
		return found, ok
	}
	gjson.Parse(s.text).ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			found.text, ok = value.Raw, value.IsObject()
		}
		return true // of two with one name the last one counts
	})
	return found, ok
}

// names goes through the names of the parts.
func (s fieldSet) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range s.decoded {
			if !yield(name) {
				return
			}
		}
		if s.text == "" {
			return
		}
		gjson.Parse(s.text).ForEach(func(key, _ gjson.Result) bool { return yield(key.Str) })
	}
}

// ownsItself reports whether the set is of a part that is owned itself, and not only
// parts of it: it is {} or has ".".
func (s fieldSet) ownsItself() bool {
	if s.text == "" {
		_, itself := s.decoded["."]
		return itself || len(s.decoded) == 0
	}
	empty := true
	for name := range s.names() {
		if name == "." {
			return true
		}
		empty = false
	}
	return empty
}

// lookups is how many names are looked for in the text of a set before it is decoded.
const lookups = 16

// set returns the fields of the entry.
func (e *entry) set() fieldSet {
	if e.fields == nil && e.text != "" {
		if e.asked++; e.asked <= lookups {
			return fieldSet{text: e.text}
		}
	}
	return fieldSet{decoded: e.all()}
}

// all returns the fields of the entry, decoded.
func (e *entry) all() map[string]any {
	if e.fields == nil && e.text != "" {
		e.fields, _ = decodeText(gjson.Parse(e.text)).(map[string]any)
	}
	return e.fields
}
