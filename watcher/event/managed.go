package event

import (
	"strings"

	"github.com/tidwall/gjson"
)

// CutManagedFields returns what is before and what is behind metadata.managedFields
// in an object that is valid JSON. Put together they are the object without; before
// is all of it if there are none.
func CutManagedFields(object string) (before, after string) {
	from, to := len(object), len(object)
	gjson.Parse(object).ForEach(func(key, metadata gjson.Result) bool {
		if key.Str != "metadata" {
			return true
		}
		metadata.ForEach(func(key, value gjson.Result) bool {
			if key.Str == "managedFields" {
				from, to = MemberSpan(object, key.Index, value.Index+len(value.Raw))
			}
			return true
		})
		return false
	})
	return object[:from], object[to:]
}

// MemberSpan returns where in JSON text a member of a map is, with the one comma that
// goes with it: from and to are where its name begins and its value ends.
func MemberSpan(text string, from, to int) (int, int) {
	const space = " \t\r\n"
	if rest := strings.TrimLeft(text[to:], space); rest[0] == ',' {
		return from, len(text) - len(rest) + 1
	}
	if before := strings.TrimRight(text[:from], space); before[len(before)-1] == ',' {
		from = len(before) - 1
	}
	return from, to
}
