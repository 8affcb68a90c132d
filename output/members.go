package output

import (
	"slices"

	"github.com/tidwall/gjson"
	"k8s.io/client-go/util/jsonpath"

	"dwatch/watcher/event"
)

// members are the members of an object that a template may read, by name. If the list of a member is not nil, the template reads
// only these members of it. A nil map means that the template may read anything. Other members are not decoded.
type members map[string][]string

// with adds the members that a JSONPath may read. It returns nil if that depends on the object.
func (m members) with(text string) members {
	parsed, err := jsonpath.Parse("out", text)
	if err != nil || m == nil {
		return nil
	}
	for _, node := range parsed.Root.Nodes {
		list, isPath := node.(*jsonpath.ListNode)
		if isPath && !m.add(list.Nodes) {
			return nil
		}
	}
	return m
}

// add adds the member that one path reads, and returns false if that can't be determined. A path within a range begins at the current
// element, whose member has been added already. add takes it for a path of the object, which only adds too much.
func (m members) add(path []jsonpath.Node) bool {
	if len(path) > 0 && path[0].Type() == jsonpath.NodeIdentifier {
		if path = path[1:]; len(path) == 0 {
			return true // the end of a range
		}
	}
	if len(path) == 0 {
		return false
	}
	switch path[0].Type() {
	case jsonpath.NodeText, jsonpath.NodeInt, jsonpath.NodeFloat, jsonpath.NodeBool:
		return true
	}
	first := fieldOf(path[0])
	if first == "" {
		return false
	}
	of, known := m[first]
	switch {
	case known && of == nil:
	case len(path) > 1 && fieldOf(path[1]) != "":
		m[first] = append(of, fieldOf(path[1]))
	default:
		m[first] = nil // the whole member
	}
	return true
}

func fieldOf(node jsonpath.Node) string {
	if field, ok := node.(*jsonpath.FieldNode); ok {
		return field.Value
	}
	return ""
}

// reduce returns an object with only these members, apiVersion and kind.
func (m members) reduce(o event.Object) event.Object {
	if m == nil {
		return o
	}
	content := []byte{'{'}
	gjson.Parse(o.Raw()).ForEach(func(key, value gjson.Result) bool {
		name := key.String()
		names, wanted := m[name]
		switch {
		case name == "apiVersion" || name == "kind", wanted && (names == nil || !value.IsObject()):
			content = appendMember(content, key.Raw, value.Raw)
		case wanted:
			content = append(appendMember(content, key.Raw, ""), '{')
			value.ForEach(func(key, value gjson.Result) bool {
				if slices.Contains(names, key.String()) {
					content = appendMember(content, key.Raw, value.Raw)
				}
				return true
			})
			content = append(content, '}')
		}
		return true
	})
	return event.NewObject(o.Identity, string(append(content, '}')))
}

// appendMember appends a member to an unfinished JSON object.
func appendMember(dst []byte, key, value string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(dst, key...), ':'), value...)
}

// MayRead reports whether the template may read a member of a top-level member of an object, such as "metadata" and
// "managedFields".
func (t *Template) MayRead(member, nested string) bool { return t.reads.mayContain(member, nested) }

func (m members) mayContain(member, nested string) bool {
	names, known := m[member]
	return m == nil || known && names == nil || slices.Contains(names, nested)
}
