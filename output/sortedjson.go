package output

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// appendSortedJSON appends a JSON value as kubectl prints it: as encoding/json encodes the decoded value, with the members of
// each object sorted by name. It does not decode the value as a whole, which would take several times as long.
func appendSortedJSON(dst []byte, v gjson.Result) []byte {
	switch {
	case v.IsObject():
		dst = append(dst, '{')
		for i, m := range sortedMembers(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendJSONScalar(dst, m.name), ':')
			dst = appendSortedJSON(dst, m.value)
		}
		return append(dst, '}')
	case v.IsArray():
		dst = append(dst, '[')
		first := true
		v.ForEach(func(_, item gjson.Result) bool {
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = appendSortedJSON(dst, item)
			return true
		})
		return append(dst, ']')
	}
	return appendJSONScalar(dst, v)
}

type jsonMember struct{ name, value gjson.Result }

// sortedMembers returns the members of a JSON object sorted by name. Of members with the same name it returns the last one.
func sortedMembers(object gjson.Result) (all []jsonMember) {
	object.ForEach(func(name, value gjson.Result) bool {
		all = append(all, jsonMember{name, value})
		return true
	})
	slices.SortStableFunc(all, func(a, b jsonMember) int { return strings.Compare(a.name.Str, b.name.Str) })
	last := all[:0]
	for i, m := range all {
		if i+1 == len(all) || all[i+1].name.Str != m.name.Str {
			last = append(last, m)
		}
	}
	return last
}

// appendJSONScalar appends a string, number, boolean or null as encoding/json encodes it. A number that Go can't represent
// stays as it is.
func appendJSONScalar(dst []byte, v gjson.Result) []byte {
	if isCanonical(v) {
		return append(dst, v.Raw...)
	}
	var decoded any
	if err := utiljson.Unmarshal([]byte(v.Raw), &decoded); err != nil {
		return append(dst, v.Raw...)
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return append(dst, v.Raw...)
	}
	return append(dst, text...)
}

// isCanonical reports whether encoding/json certainly encodes a scalar with the same bytes.
func isCanonical(v gjson.Result) bool {
	switch v.Type {
	case gjson.String:
		const separators = "\u2028\u2029" // encoding/json escapes them, like the characters of HTML
		return !strings.ContainsAny(v.Raw, "\\<>&"+separators) && utf8.ValidString(v.Raw)
	case gjson.Number:
		n := strings.TrimPrefix(v.Raw, "-")
		return v.Raw != "-0" && digits(n) == len(n) && len(n) <= maxDigits
	}
	return true
}
