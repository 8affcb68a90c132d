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
	// Path is a JSON pointer (RFC 6901) into the object that the previous operations made.
	Path string
	// Value is part of the new object and must not be modified. It is nil for remove.
	Value any
}

// MarshalJSON encodes the value even if it is null, and omits it for remove.
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

// Patch returns the operations that turn old into new, both valid JSON. The result of applying them is identical to new:
// Patch replaces 1 by 1.0. It does not use keys or noise. In lists, it keeps the items of a longest common subsequence.
// Fields are in the order of their names. If masks hide values, it is a patch of the masked objects. If managedFields is
// false, it is a patch of the objects without managed fields.
func Patch(old, new string, masks *Masks, managedFields bool) []Operation {
	rules := masks.rules(old, new)
	old, new = rules.maskObject(old), rules.maskObject(new)
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

func (p *patcher) add(op, path string, value any) {
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
			p.add("remove", at, nil)
		case !inOld:
			p.add("add", at, is)
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
	if p.depth > deepList { // comparing reads everything below at each level
		p.add("replace", path, new)
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
	p.add("replace", path, new)
}

// lists patches a list from its start. When it handles index j, the items before j are already equal to the new list.
func (p *patcher) lists(path string, old, new []any) {
	from := align(old, new, false)
	i := 0
	for j, source := range from {
		at := path + "/" + strconv.Itoa(j)
		if source < 0 {
			p.add("add", at, new[j])
			continue
		}
		for ; i < source; i++ {
			p.add("remove", at, nil)
		}
		p.values(at, old[i], new[j])
		i++
	}
	for ; i < len(old); i++ {
		p.add("remove", path+"/"+strconv.Itoa(len(new)), nil)
	}
}
