package change

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Operation is one operation of a JSON patch (RFC 6902): add, remove or replace.
type Operation struct {
	Op string
	// Path is a JSON pointer (RFC 6901), valid after the operations before it.
	Path string
	// Value is a part of the new object, to be read only; nil for remove.
	Value any
}

// MarshalJSON writes a null value, too, and none for remove.
func (o Operation) MarshalJSON() ([]byte, error) {
	line := struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value *any   `json:"value,omitempty"`
	}{o.Op, o.Path, nil}
	if o.Op != "remove" {
		line.Value = &o.Value
	}
	return []byte(encodeText(line)), nil
}

// Patch returns the operations that make new out of old, both JSON as [Between] takes it:
// the same bytes, once both are encoded alike, so that 1.0 takes the place of 1. It
// knows no keys and no noise. In lists it leaves alone the items of a longest common
// subsequence. Fields come in the order of their names. Where something is masked, it is a
// patch of the masked objects; without managedFields, of objects that have none.
func Patch(old, new string, masks *Masks, managedFields bool) []Operation {
	rules := masks.rules(old, new)
	old, new = rules.object(old), rules.object(new)
	if !managedFields {
		old, new = replace(old, managedFieldsOf(old), "null"), replace(new, managedFieldsOf(new), "null")
	}
	was, is := sparse(old, new)
	for _, object := range []map[string]any{was, is} {
		if metadata, ok := object["metadata"].(map[string]any); ok && !managedFields {
			delete(metadata, "managedFields")
		}
	}
	p := patcher{operations: []Operation{}}
	p.maps("", was, is)
	return p.operations
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

type patcher struct {
	operations []Operation
	depth      int
}

func (p *patcher) do(op, path string, value any) {
	p.operations = append(p.operations, Operation{op, path, value})
}

func (p *patcher) maps(path string, old, new map[string]any) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(new))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		was, inOld := old[name]
		is, inNew := new[name]
		at := path + "/" + pointerEscapes.Replace(name)
		switch {
		case !inNew:
			p.do("remove", at, nil)
		case !inOld:
			p.do("add", at, is)
		default:
			p.values(at, was, is)
		}
	}
}

func (p *patcher) values(path string, old, new any) {
	if equal(old, new) {
		return
	}
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > deepList { // or all would be compared at each level
		p.do("replace", path, new)
		return
	}
	switch was := old.(type) {
	case map[string]any:
		if is, ok := new.(map[string]any); ok {
			p.maps(path, was, is)
			return
		}
	case []any:
		if is, ok := new.([]any); ok {
			p.lists(path, was, is)
			return
		}
	}
	p.do("replace", path, new)
}

// lists goes through both lists from the start; what is before index j is done.
func (p *patcher) lists(path string, old, new []any) {
	from := align(old, new, false)
	i := 0
	for j, source := range from {
		at := path + "/" + strconv.Itoa(j)
		if source < 0 {
			p.do("add", at, new[j])
			continue
		}
		for ; i < source; i++ {
			p.do("remove", at, nil)
		}
		p.values(at, old[i], new[j])
		i++
	}
	for ; i < len(old); i++ {
		p.do("remove", path+"/"+strconv.Itoa(len(new)), nil)
	}
}
