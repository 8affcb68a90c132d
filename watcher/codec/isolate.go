package codec

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// isolateItems returns a list in which unreadable objects take the place of items, or of rows of a table, that are not valid JSON. It
// names each of them in a warning. It returns false if that does not make the list valid, or if an item can't be identified: without
// that item, an object that exists would count as deleted.
func (s scanner) isolateItems(list string) (string, bool) {
	from, items, to := splitItems(list)
	if to == 0 {
		return "", false
	}
	kind := strings.TrimSuffix(gjson.Get(list, "kind").Str, "List")
	isTable := kind == "Table"
	var out bytes.Buffer
	out.WriteString(list[:from])
	first := true
	for _, item := range items {
		if !valid(item) {
			object := item
			if isTable {
				object = gjson.Get(item, "object").Raw
			}
			id := find(object)
			id.typeMeta = typeMeta{cmp.Or(id.apiVersion, gjson.Get(list, "apiVersion").Str), cmp.Or(id.kind, kind)}
			if id.name == "" || id.uid == "" {
				return "", false
			}
			s.warn(id.describe() + " is not valid JSON: its state is unknown until it changes")
			if item = id.unreadable(); isTable {
				item = `{"cells":[],"object":` + item + `}`
			}
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteString(item)
	}
	out.WriteString(list[to:])
	isolated := out.String()
	return isolated, valid(isolated)
}

// unreadable returns the text of an unreadable object with the identity of f.
func (f *found) unreadable() string {
	return fmt.Sprintf(`%s"apiVersion":%s,"kind":%s,"metadata":{"name":%s,"namespace":%s,"uid":%s,"resourceVersion":%s}}`,
		unreadablePrefix, quote(f.apiVersion), quote(f.kind), quote(f.name), quote(f.namespace), quote(f.uid), quote(f.resourceVersion))
}

// splitItems splits the items of a list, or the rows of a table, at the commas between them. They are at list[from:to]. It only looks at
// brackets and strings, so items may be invalid. to is 0 if there are none, or if brackets do not match.
func splitItems(list string) (from int, items []string, to int) {
	depth, begin := 0, 0
	for i := 0; i < len(list); i++ {
		switch c := list[i]; c {
		case '"':
			end := stringEnd(list, i)
			if end == 0 {
				return 0, nil, 0
			}
			key := list[i:end]
			i = end - 1
			if depth != 1 || from > 0 || key != `"items"` && key != `"rows"` {
				continue
			}
			rest := strings.TrimLeft(list[end:], " \t\r\n:")
			if strings.HasPrefix(rest, "[") {
				i = len(list) - len(rest)
				depth, from, begin = 2, i+1, i+1
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 1 && from > 0 && to == 0 {
				to = i
				if item := strings.TrimSpace(list[begin:i]); item != "" {
					items = append(items, item)
				}
			}
		case ',':
			if depth == 2 && from > 0 && to == 0 {
				items = append(items, strings.TrimSpace(list[begin:i]))
				begin = i + 1
			}
		}
	}
	if depth != 0 {
		return 0, nil, 0
	}
	return from, items, to
}

// stringEnd returns the index after the string that begins at from, or 0 if it does not end.
func stringEnd(text string, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}
