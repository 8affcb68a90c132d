package change

import (
	"strings"

	"github.com/tidwall/gjson"
)

// Fields are the names of fields that lead from an object down, each in the one before.
type FieldPath []string

// AnyField stands for an item of a list, or for a field of whatever name.
const AnyField = "*"

// Fields returns what the pattern names, as far as its depth is known.
func (p Pattern) FieldPath() (f FieldPath) {
	for _, m := range p.steps {
		switch {
		case m.deep:
			return f
		case m.kind == namedField:
			f = append(f, m.name)
		default:
			f = append(f, AnyField)
		}
	}
	return f
}

// String writes them as [ParsePattern] reads it: spec.containers[*].image.
func (f FieldPath) String() string {
	var p Path
	for _, name := range f {
		p = append(p, Step{Field: name})
	}
	return strings.NewReplacer(`["*"]`, "[*]").Replace(p.String())
}

// In reports whether an object, as JSON, has the fields.
func (f FieldPath) ExistsIn(object string) bool { return f.in(gjson.Parse(object)) }

func (f FieldPath) in(value gjson.Result) (found bool) {
	if len(f) == 0 {
		return true
	}
	if !value.IsObject() && !value.IsArray() {
		return false
	}
	value.ForEach(func(name, below gjson.Result) bool {
		if f[0] == AnyField || f[0] == name.Str {
			found = f[1:].in(below)
		}
		return !found
	})
	return found
}
