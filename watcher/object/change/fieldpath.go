package change

import (
	"strings"

	"github.com/tidwall/gjson"
)

// FieldPath contains the names of nested fields, starting at the root of the object.
type FieldPath []string

// AnyField stands for any list item or any field.
const AnyField = "*"

// FieldPath returns the steps of the pattern up to the first "..". Items and wildcards become AnyField.
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

// String returns the path in the syntax of [ParsePattern], such as spec.containers[*].image.
func (f FieldPath) String() string {
	var p Path
	for _, name := range f {
		p = append(p, Step{Field: name})
	}
	return strings.NewReplacer(`["*"]`, "[*]").Replace(p.String())
}

// ExistsIn reports whether an object (JSON) contains the fields.
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
