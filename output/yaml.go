package output

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v2" // what sigs.k8s.io/yaml is made of
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/event"
)

// yamlEncoder prints one document per event, with a line of --- between two documents. It embeds Options because their
// methods encode the objects.
type yamlEncoder struct {
	Options
	started bool
}

func (y *yamlEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	if y.started {
		dst = append(dst, "---\n"...)
	}
	y.started = true
	document, err := y.document(e)
	if err != nil {
		return dst, err
	}
	text, err := y.marshalSafeYAML(document)
	if err != nil {
		return dst, fmt.Errorf("encode an event as YAML: %w", err)
	}
	return append(dst, text...), nil
}

// document returns an event with its members in the order of the JSON.
func (y *yamlEncoder) document(e event.Event) (any, error) {
	if e.Type.IsStatus() {
		line, err := marshal(newStatusLine(e))
		return ordered(gjson.ParseBytes(line)), err
	}
	var document yaml.MapSlice
	all, err := y.members(nil, e)
	for _, m := range all {
		item := yaml.MapItem{Key: m.name, Value: ordered(gjson.Parse(m.value))}
		if m.value == "" && err == nil {
			var u *unstructured.Unstructured
			if u, err = y.open(m.object); err == nil {
				item.Value = convertFloats(u.Object)
			}
		}
		document = append(document, item)
	}
	return document, err
}

// ordered decodes JSON and keeps the order of members. The YAML library would not read names of more than 1,024 characters.
func ordered(v gjson.Result) any {
	switch {
	case v.IsObject():
		members := yaml.MapSlice{}
		v.ForEach(func(key, value gjson.Result) bool {
			members = append(members, yaml.MapItem{Key: key.Str, Value: ordered(value)})
			return true
		})
		return members
	case v.IsArray():
		items := []any{}
		v.ForEach(func(_, item gjson.Result) bool {
			items = append(items, ordered(item))
			return true
		})
		return items
	case v.Type == gjson.Number:
		return json.Number(v.Raw)
	}
	return v.Value()
}

// list writes a v1 List, or a single object by itself, as kubectl does.
func (y *yamlEncoder) list(w io.Writer, objects []event.Object) error {
	if y.isSingle(objects) {
		return writeList(w, objects, "", "", func(dst []byte, o event.Object) ([]byte, error) { return y.appendYAML(dst, o, 0) })
	}
	items := "items:\n"
	if len(objects) == 0 {
		items = "items: []\n"
	}
	tail := "kind: List\nmetadata:\n  resourceVersion: \"\"\n"
	return writeList(w, objects, "apiVersion: v1\n"+items, tail, func(dst []byte, o event.Object) ([]byte, error) {
		return y.appendYAML(append(dst, "- "...), o, len("- "))
	})
}
