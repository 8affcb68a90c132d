package codec

import (
	"bytes"
	"encoding/json"
	"errors"
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

// alias is data as a string, without a copy: it must not outlive the call that data was passed to.
func alias(data []byte) string { return unsafe.String(unsafe.SliceData(data), len(data)) }

var errInvalid = errors.New("the server sent invalid JSON")

// maxDepth is that of encoding/json. A server could make a recursive check overflow the stack.
const maxDepth = 10_000

// valid reports whether text is JSON by RFC 8259, which is UTF-8.
func valid(text string) bool {
	return !tooDeep(text) && utf8.ValidString(text) && gjson.Valid(text)
}

// tooDeep reports whether text is nested deeper than maxDepth. Counting brackets rules it out for
// nearly every event, and is fast.
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

// scanner makes shallow objects of JSON text, with which they share no memory.
type scanner struct {
	keepManagedFields bool
	tables            bool // rows of tables are taken for the objects that they show
	shard             event.Shard
}

// leavesOut reports whether an object is of another shard.
func (s scanner) leavesOut(uid string) bool { return !s.shard.IsAll() && !s.shard.Has(types.UID(uid)) }

// decode returns nil without an error for what the stock serializer has to decode.
func (s scanner) decode(text string, into runtime.Object) (runtime.Object, error) {
	switch into := into.(type) {
	case nil:
		u, err := s.object(text, typeMeta{})
		if u == nil || err != nil {
			return nil, err
		}
		return u, nil
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

// found is what a scan has come across; its strings are cut from the text.
type found struct {
	typeMeta
	name, namespace, uid, resourceVersion string
	annotations                           gjson.Result
	managedFields                         span
	hasMetadata                           bool
}

// span is a part of a text; empty if to is 0.
type span struct{ from, to int }

// object makes a shallow object of text, which must be valid JSON; nil of what is no object.
// defaults are for the items of a typed list.
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
	case f.name != "" && s.leavesOut(f.uid):
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

func quote(s string) []byte {
	quoted, _ := json.Marshal(s) // a string always has a JSON form
	return quoted
}

// find scans the top level of an object, no further than it must, and the metadata.
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

// cut copies text without a part, in one line. front replaces its opening brace.
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

// unstructured makes the shallow object. The strings that a store keeps for long get memory of
// their own, lest they keep the content alive; those that many objects have in common share one
// copy.
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

// stringMap copies an object of strings, into one piece of memory.
func stringMap(object gjson.Result) map[string]any {
	m := map[string]any{}
	gjson.Parse(strings.Clone(object.Raw)).ForEach(func(key, value gjson.Result) bool {
		m[key.Str] = value.String()
		return true
	})
	return m
}

// list reads a list. It reports false for what is none.
func (s scanner) list(text string, into *unstructured.UnstructuredList) (bool, error) {
	if !valid(text) {
		return false, nil // the stock serializer says why
	}
	parsed := gjson.Parse(text)
	kind := parsed.Get("kind").Str // often, but not always, the items' and "List"
	items := parsed.Get("items")
	table := s.isTable(typeMeta{parsed.Get("apiVersion").Str, kind})
	if kind == "" || !items.IsArray() && !table {
		return false, nil
	}
	metadata := map[string]any{}
	if raw := parsed.Get("metadata").Raw; raw != "" {
		if err := utiljson.Unmarshal([]byte(raw), &metadata); err != nil { // whole numbers are int64
			return false, err
		}
	}
	defaults := typeMeta{parsed.Get("apiVersion").Str, strings.TrimSuffix(kind, "List")}
	if table {
		defaults.apiVersion, kind = "v1", "List" // an informer takes no Table
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
			err = fmt.Errorf("an item of the %s is no object of the API", kind)
		}
		return u, err
	})
}

// collect makes an item of the list of each element of an array that is not left out.
func (s scanner) collect(array gjson.Result, into *unstructured.UnstructuredList, read func(gjson.Result) (*unstructured.Unstructured, error)) (err error) {
	array.ForEach(func(_, element gjson.Result) bool {
		var u *unstructured.Unstructured
		if u, err = read(element); err == nil && !s.leavesOut(string(u.GetUID())) {
			into.Items = append(into.Items, *u)
		}
		return err == nil
	})
	return err
}
