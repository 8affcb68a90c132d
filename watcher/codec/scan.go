package codec

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
	"unique"
	"unsafe"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"dwatch/watcher/event"
)

// alias returns data as a string without a copy. The string must not be used after the call that
// received data.
func alias(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

// maxDepth is the maximum nesting of encoding/json. Without a limit, a server could make a
// recursive check overflow the stack.
const maxDepth = 10_000

// valid reports whether text is UTF-8 and JSON by RFC 8259.
func valid(text string) bool {
	return !tooDeep(text) && utf8.ValidString(text) && gjson.Valid(text)
}

// tooDeep reports whether text is nested deeper than maxDepth. Counting brackets, which is fast,
// rules that out for nearly every event.
func tooDeep(text string) bool {
	if len(text) <= maxDepth || strings.Count(text, "{")+strings.Count(text, "[") <= maxDepth {
		return false
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			depth++
			if depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// scanner makes raw objects from JSON text. They share no memory with the text.
type scanner struct {
	keepManagedFields bool
	tables            bool // decodes rows of tables as objects
	shard             event.Shard
	warn              func(string) // receives a message about each repaired object
}

// drops reports whether the object belongs to another shard.
func (s scanner) drops(uid string) bool { return !s.shard.IsAll() && !s.shard.Has(types.UID(uid)) }

// decode decodes text. It returns nil without an error if the stock serializer has to decode it.
func (s scanner) decode(text string, into runtime.Object) (runtime.Object, error) {
	switch into := into.(type) {
	case nil:
		u, err := s.object(text, typeMeta{})
		if u == nil || err != nil {
			return nil, err
		}
		return u, nil
	case *unstructured.Unstructured:
		u, err := s.single(text)
		if u == nil || err != nil {
			return nil, err
		}
		*into = *u
		return into, nil
	case *unstructured.UnstructuredList:
		if ok, err := s.list(text, into); !ok || err != nil {
			return nil, err
		}
		return into, nil
	default:
		return nil, nil
	}
}

type typeMeta struct{ apiVersion, kind string }

// found contains the members of an object that a scan has found. Its strings share memory with the
// text.
type found struct {
	typeMeta
	name, namespace, uid, resourceVersion string
	annotations                           gjson.Result
	managedFields                         span
	hasMetadata                           bool
}

// describe returns the kind and name of the object for messages.
func (f *found) describe() string {
	kind := f.kind
	if kind == "PartialObjectMetadata" {
		kind = "object"
	}
	return strings.TrimSpace(kind + " " + strings.TrimPrefix(f.namespace+"/"+f.name, "/"))
}

const repairedText = " is not valid UTF-8: invalid bytes are shown as U+FFFD"

// repairWarning returns the warning about an object in which repair has replaced bytes.
func repairWarning(object string) string {
	f := find(object)
	if f.kind == "Table" {
		f = find(gjson.Get(object, "rows.0.object").Raw)
	}
	return f.describe() + repairedText
}

// warnRepaired warns about each item of a list that is not valid UTF-8.
func (s scanner) warnRepaired(list string) {
	parsed := gjson.Parse(list)
	items := parsed.Get("items")
	kind := strings.TrimSuffix(parsed.Get("kind").Str, "List")
	if kind == "Table" {
		items = parsed.Get("rows.#.object")
	}
	items.ForEach(func(_, item gjson.Result) bool {
		if !utf8.ValidString(item.Raw) {
			f := find(alias(repair([]byte(item.Raw))))
			f.kind = cmp.Or(f.kind, kind)
			s.warn(f.describe() + repairedText)
		}
		return true
	})
}

// span is a range of a text. It is empty if to is 0.
type span struct{ from, to int }

// object makes a raw object from text, which must be valid JSON. It returns nil if text is not
// an object of the API. defaults is the type for items of a typed list.
func (s scanner) object(text string, defaults typeMeta) (*unstructured.Unstructured, error) {
	text = strings.TrimSpace(text)
	f := find(text)
	complete := f.kind != "" || defaults.kind == ""
	if !complete {
		f.typeMeta = defaults
	}
	switch {
	case f.kind == "" || !f.hasMetadata || f.typeMeta == typeMeta{"v1", "Status"}:
		return nil, nil
	case s.isTable(f.typeMeta):
		return s.row(text)
	case strings.HasPrefix(text, unreadablePrefix):
		u := f.unstructured("")
		u.Object[unreadableKey] = true
		return u, nil
	case f.name != "" && s.drops(f.uid):
		return f.unstructured(""), nil
	}
	if s.keepManagedFields {
		f.managedFields = span{}
	}
	var front string
	if !complete {
		front = fmt.Sprintf(`{"apiVersion":%s,"kind":%s,`, quote(f.apiVersion), quote(f.kind))
	}
	content, err := cut(text, f.managedFields, front)
	if err != nil {
		return nil, err
	}
	return f.unstructured(content), nil
}

// single makes a raw object from the response to a GET request. It returns nil if text is not an object
// of the API, or not valid JSON: the stock serializer returns the error.
func (s scanner) single(text string) (*unstructured.Unstructured, error) {
	raw := text
	if !utf8.ValidString(raw) {
		text = alias(repair([]byte(raw)))
	}
	if !valid(text) {
		return nil, nil
	}
	u, err := s.object(text, typeMeta{})
	if u != nil && text != raw {
		s.warn(repairWarning(text))
	}
	return u, err
}

func quote(s string) []byte {
	quoted, _ := json.Marshal(s) // strings can always be marshaled
	return quoted
}

// find scans the top level of an object, up to the last member that it needs, and the metadata.
func find(text string) found {
	var f found
	gjson.Parse(text).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "apiVersion":
			f.apiVersion = value.Str
		case "kind":
			f.kind = value.Str
		case "metadata":
			f.hasMetadata = true
			f.findMetadata(text, value)
		}
		return f.apiVersion == "" || f.kind == "" || !f.hasMetadata
	})
	return f
}

func (f *found) findMetadata(text string, metadata gjson.Result) {
	metadata.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "name":
			f.name = value.Str
		case "namespace":
			f.namespace = value.Str
		case "uid":
			f.uid = value.Str
		case "resourceVersion":
			f.resourceVersion = value.Str
		case "annotations":
			f.annotations = value
		case "managedFields":
			f.managedFields.from, f.managedFields.to = event.MemberSpan(text, key.Index, value.Index+len(value.Raw))
		}
		return true
	})
}

// cut copies text without the range out, as one line. front replaces the opening brace if it is not
// empty.
func cut(text string, out span, front string) (string, error) {
	if out.to == 0 {
		out = span{len(text), len(text)}
	}
	if front != "" {
		text, out = text[1:], span{out.from - 1, out.to - 1}
	}
	content := make([]byte, 0, len(front)+len(text)-(out.to-out.from))
	content = append(content, front...)
	content = append(content, text[:out.from]...)
	content = append(content, text[out.to:]...)
	if bytes.IndexByte(content, '\n') >= 0 || bytes.IndexByte(content, '\r') >= 0 {
		var line bytes.Buffer
		if err := json.Compact(&line, content); err != nil {
			return "", err
		}
		content = line.Bytes()
	}
	return alias(content), nil
}

// unstructured makes the raw object. Strings that a store retains get their own memory, so that
// they don't keep the content alive. Strings that many objects have in common share one copy.
func (f *found) unstructured(content string) *unstructured.Unstructured {
	own := strings.Join([]string{f.name, f.uid, f.resourceVersion}, "")
	uid, rv := len(f.name), len(f.name)+len(f.uid)
	metadata := map[string]any{
		"name":            own[:uid],
		"uid":             own[uid:rv],
		"resourceVersion": own[rv:],
	}
	if f.namespace != "" {
		metadata["namespace"] = unique.Make(f.namespace).Value()
	}
	if f.name == "" && f.annotations.IsObject() {
		metadata["annotations"] = stringMap(f.annotations)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": unique.Make(f.apiVersion).Value(),
		"kind":       unique.Make(f.kind).Value(),
		"metadata":   metadata,
		contentKey:   content,
	}}
}

// stringMap copies an object of strings into one allocation.
func stringMap(object gjson.Result) map[string]any {
	m := map[string]any{}
	gjson.Parse(strings.Clone(object.Raw)).ForEach(func(key, value gjson.Result) bool {
		m[key.Str] = value.String()
		return true
	})
	return m
}

// list decodes a list. It returns false if text is not a list.
func (s scanner) list(text string, into *unstructured.UnstructuredList) (bool, error) {
	raw := text
	if !utf8.ValidString(raw) {
		text = alias(repair([]byte(raw)))
	}
	if !valid(text) {
		isolated, ok := s.isolateItems(text)
		if !ok {
			return false, nil // the stock serializer returns the error
		}
		text = isolated
	}
	if !utf8.ValidString(raw) {
		s.warnRepaired(raw)
	}
	parsed := gjson.Parse(text)
	kind := parsed.Get("kind").Str // usually, but not always, the kind of the items followed by "List"
	items := parsed.Get("items")
	table := s.isTable(typeMeta{parsed.Get("apiVersion").Str, kind})
	if kind == "" || !items.IsArray() && !table {
		return false, nil
	}
	metadata := map[string]any{}
	if text := parsed.Get("metadata").Raw; text != "" {
		if err := utiljson.Unmarshal([]byte(text), &metadata); err != nil { // decodes integers as int64
			return false, err
		}
	}
	defaults := typeMeta{parsed.Get("apiVersion").Str, strings.TrimSuffix(kind, "List")}
	if table {
		defaults.apiVersion, kind = "v1", "List" // informers do not accept a Table
	}
	into.Object = map[string]any{
		"apiVersion": strings.Clone(defaults.apiVersion),
		"kind":       strings.Clone(kind),
		"metadata":   metadata,
	}
	into.Items = nil
	if table {
		return true, s.rows(parsed, into)
	}
	return true, s.collect(items, into, func(item gjson.Result) (*unstructured.Unstructured, error) {
		u, err := s.object(item.Raw, defaults)
		if u == nil && err == nil {
			err = fmt.Errorf("the server sent a %s with an item that is not an object", kind)
		}
		return u, err
	})
}

// collect appends an item to the list for each element of array, except those of other shards.
func (s scanner) collect(array gjson.Result, into *unstructured.UnstructuredList, read func(gjson.Result) (*unstructured.Unstructured, error)) (err error) {
	array.ForEach(func(_, element gjson.Result) bool {
		var u *unstructured.Unstructured
		if u, err = read(element); err == nil && u != nil && !s.drops(string(u.GetUID())) {
			into.Items = append(into.Items, *u)
		}
		return err == nil
	})
	return err
}
