package change

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// sparse decodes two states of an object. It omits equal fields of maps, but no list items, because these are identified
// by their content.
func sparse(old, new string) (was, is map[string]any) {
	if old == new {
		return nil, nil
	}
	before, after := decodeBoth(gjson.Parse(old), gjson.Parse(new), true, maxDepth)
	was, _ = before.(map[string]any)
	is, _ = after.(map[string]any)
	return was, is
}

// decodeBoth decodes two states of a value. The results share equal parts, or if sparse is true, maps omit them.
func decodeBoth(old, new gjson.Result, sparse bool, depth int) (was, is any) {
	switch {
	case old.Raw == new.Raw:
		was = decodeText(old)
		return was, was
	case depth > 0 && old.IsObject() && new.IsObject():
		return decodeMaps(members(old), members(new), sparse, depth-1)
	case depth > 0 && old.IsArray() && new.IsArray():
		return decodeLists(old.Array(), new.Array(), depth-1)
	}
	return decodeText(old), decodeText(new)
}

func decodeMaps(old, new map[string]string, sparse bool, depth int) (was, is map[string]any) {
	was, is = map[string]any{}, map[string]any{}
	for name, before := range old {
		after, both := new[name]
		switch {
		case !both:
			was[name] = decodeText(gjson.Parse(before))
		case !sparse || before != after:
			was[name], is[name] = decodeBoth(gjson.Parse(before), gjson.Parse(after), sparse, depth)
		}
	}
	for name, after := range new {
		if _, both := old[name]; !both {
			is[name] = decodeText(gjson.Parse(after))
		}
	}
	return was, is
}

func decodeLists(old, new []gjson.Result, depth int) (was, is []any) {
	was, is = make([]any, len(old)), make([]any, len(new))
	for i := range max(len(old), len(new)) {
		switch {
		case i >= len(new):
			was[i] = decodeText(old[i])
		case i >= len(old):
			is[i] = decodeText(new[i])
		default:
			was[i], is[i] = decodeBoth(old[i], new[i], false, depth)
		}
	}
	return was, is
}

// members returns the fields of a map as JSON. If a name occurs twice, the last one wins.
func members(v gjson.Result) map[string]string {
	m := make(map[string]string, 14) // 16 slots: most maps fit
	v.ForEach(func(key, value gjson.Result) bool {
		m[key.Str] = value.Raw
		return true
	})
	return m
}

// maxDepth is the number of levels that are decoded one by one. That scans the text below once for each level, so deeper
// values are decoded in one pass.
const maxDepth = 32

// decodeText decodes a JSON value. Numbers are json.Number.
func decodeText(v gjson.Result) any { return decodeDeep(v, maxDepth) }

// decodeDeep is decodeText that decodes depth levels one by one.
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

func decodeWhole(text string) (v any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		panic(err) // callers pass valid JSON
	}
	return v
}
