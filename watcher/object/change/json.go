package change

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// BetweenJSON is [Between] for two states as text. Each must be valid JSON, a map as
// its one value. What both have in common is not decoded, so that most changes of a
// large object cost little. Numbers in the result are json.Number, as they were
// written.
func BetweenJSON(old, new string, o Options) Result {
	w := walk{options: o, path: make(Path, 0, 16)}
	w.fields.old, w.fields.new = sparse(old, new, w.metadata)
	return w.result()
}

// PatchJSON is [Patch] for two states as text, as BetweenJSON takes them. Where
// something is masked, it is a patch of the masked objects. Without managedFields it
// is one of objects that have none.
func PatchJSON(old, new string, masks *Masks, managedFields bool) []Operation {
	was, is := sparse(old, new, func(old, new map[string]string) (was, is map[string]any) {
		if !managedFields {
			delete(old, "managedFields")
			delete(new, "managedFields")
		}
		return differing(old, new)
	})
	rules := masks.rules(was, is)
	if len(rules) == 0 {
		return Patch(was, is)
	}
	return PatchJSON(rules.objectJSON(old), rules.objectJSON(new), nil, managedFields)
}

// sparse decodes two states of an object without what they have in common, but for
// its type. metadata does the same for theirs.
func sparse(old, new string, metadata func(old, new map[string]string) (was, is map[string]any)) (was, is map[string]any) {
	before, after := members(gjson.Parse(old)), members(gjson.Parse(new))
	inner, outer := gjson.Parse(before["metadata"]), gjson.Parse(after["metadata"])
	if !inner.IsObject() || !outer.IsObject() {
		return differing(before, after, "apiVersion", "kind")
	}
	delete(before, "metadata")
	delete(after, "metadata")
	was, is = differing(before, after, "apiVersion", "kind")
	was["metadata"], is["metadata"] = metadata(members(inner), members(outer))
	return was, is
}

// managedFields is where objects have their managed fields.
var managedFields = Path{{Field: "metadata"}, {Field: "managedFields"}}

// metadata decodes what differs in the metadata of both states. The managed fields
// are left as text if nothing else is to be seen of them: they are noise, or not asked
// for.
func (w *walk) metadata(old, new map[string]string) (was, is map[string]any) {
	w.path = append(w.path, managedFields...)
	decision, quiet := w.decide()
	w.path = w.path[:0]
	if decision == report || decision == split {
		return differing(old, new, "managedFields")
	}
	w.fields.oldText, w.fields.newText = old["managedFields"], new["managedFields"]
	if decision == noise && w.fields.oldText != w.fields.newText {
		w.count(managedFields[:quiet])
	}
	delete(old, "managedFields")
	delete(new, "managedFields")
	return differing(old, new)
}

// textEntries are the entries of managed fields as text.
func textEntries(list string) []*entry {
	var found []*entry
	gjson.Parse(list).ForEach(func(_, item gjson.Result) bool {
		e := &entry{}
		item.ForEach(func(key, value gjson.Result) bool {
			switch key.Str {
			case "fieldsV1":
				if value.IsObject() {
					e.text = value.Raw
				}
			case "manager":
				e.manager = value.Str
			case "operation":
				e.operation = value.Str
			case "apiVersion":
				e.version = value.Str
			case "subresource":
				e.subresource = value.Str
			case "time":
				e.time = value.Str
			}
			return true
		})
		found = append(found, e)
		return true
	})
	return found
}

// differing decodes two states of a map, without the members that are the same in
// both, but for those named keep.
func differing(old, new map[string]string, keep ...string) (was, is map[string]any) {
	removeSame(old, new, keep...)
	return decodeMaps(old, new, true, maxDepth)
}

// removeSame removes from two states of a map the members that are the same in both,
// but for those named keep.
func removeSame(old, new map[string]string, keep ...string) {
	for name, text := range old {
		if other, both := new[name]; both && text == other && !slices.Contains(keep, name) {
			delete(old, name)
			delete(new, name)
		}
	}
}

// decodeMaps decodes two states of a map; with sparse, maps in it are as differing
// makes them, down to a depth.
func decodeMaps(old, new map[string]string, sparse bool, depth int) (was, is map[string]any) {
	was, is = make(map[string]any, len(old)), make(map[string]any, len(new))
	for name, text := range old {
		if other, both := new[name]; both {
			was[name], is[name] = decodeBoth(gjson.Parse(text), gjson.Parse(other), sparse, depth-1)
		} else {
			was[name] = decodeText(gjson.Parse(text))
		}
	}
	for name, text := range new {
		if _, both := old[name]; !both {
			is[name] = decodeText(gjson.Parse(text))
		}
	}
	return was, is
}

// decodeBoth decodes two states of a value. What is the same in both they share.
func decodeBoth(old, new gjson.Result, sparse bool, depth int) (was, is any) {
	switch {
	case old.Raw == new.Raw:
		was = decodeText(old)
		return was, was
	case depth == 0:
		return decodeText(old), decodeText(new)
	case old.IsArray() && new.IsArray():
		return decodeLists(old.Array(), new.Array(), depth)
	case !old.IsObject() || !new.IsObject():
		return decodeText(old), decodeText(new)
	}
	before, after := members(old), members(new)
	if sparse {
		removeSame(before, after)
	}
	return decodeMaps(before, after, sparse, depth)
}

// decodeLists decodes two states of a list, whose items are whole: they are distinguished
// by what is in them.
func decodeLists(old, new []gjson.Result, depth int) (was, is []any) {
	was, is = make([]any, len(old)), make([]any, len(new))
	for i := range max(len(old), len(new)) {
		switch {
		case i >= len(new):
			was[i] = decodeText(old[i])
		case i >= len(old):
			is[i] = decodeText(new[i])
		default:
			was[i], is[i] = decodeBoth(old[i], new[i], false, depth-1)
		}
	}
	return was, is
}

// members returns the members of a map as text; of two with one name the last one.
func members(v gjson.Result) map[string]string {
	m := make(map[string]string, 16)
	v.ForEach(func(key, value gjson.Result) bool {
		m[key.Str] = value.Raw
		return true
	})
	return m
}

// maxDepth is how deep values are decoded one by one. That reads what is below as
// often as it is deep; so what is deeper is decoded at once.
const maxDepth = 32

// decodeText decodes a JSON value: numbers are json.Number.
func decodeText(v gjson.Result) any { return decodeDeep(v, maxDepth) }

// decodeDeep is decodeText for what may be so many levels deeper.
func decodeDeep(v gjson.Result, depth int) any {
	switch {
	case v.Type == gjson.String:
		return v.Str
	case v.Type == gjson.Number:
		return json.Number(v.Raw)
	case depth == 0 && v.Type == gjson.JSON:
		return decodeWhole(v.Raw)
	case v.IsObject():
		m := map[string]any{}
		v.ForEach(func(key, value gjson.Result) bool {
			m[key.Str] = decodeDeep(value, depth-1)
			return true
		})
		return m
	case v.IsArray():
		list := []any{}
		v.ForEach(func(_, value gjson.Result) bool {
			list = append(list, decodeDeep(value, depth-1))
			return true
		})
		return list
	case v.Type == gjson.Null:
		return nil
	}
	return v.Bool()
}

// decodeWhole decodes JSON at once.
func decodeWhole(text string) (v any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		panic(err) // it is valid JSON
	}
	return v
}
