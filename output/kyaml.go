package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/tidwall/gjson"
	"sigs.k8s.io/yaml/kyaml"

	"dwatch/watcher/event"
)

// kyamlEncoder prints KYAML, as kubectl does: a document per event, each after a line of ---. It embeds Options because
// their methods encode the objects.
type kyamlEncoder struct{ Options }

func (k *kyamlEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	line, err := k.appendEvent(nil, e, k.appendSorted)
	if err != nil {
		return dst, err
	}
	return k.appendKYAML(dst, line)
}

// appendSorted appends an object as JSON with sorted members.
func (k *kyamlEncoder) appendSorted(dst []byte, o event.Object) ([]byte, error) {
	u, err := k.open(o)
	if err != nil {
		return dst, err
	}
	text, err := json.Marshal(u.Object)
	if err != nil {
		return dst, fmt.Errorf("encode %s/%s as KYAML: %w", o.Namespace, EscapeLine(o.Name), err)
	}
	return append(dst, text...), nil
}

// list writes a v1 List, or a single object by itself, as kubectl does. It encodes one item at a time.
func (k *kyamlEncoder) list(w io.Writer, objects []event.Object) error {
	if k.isSingle(objects) {
		line, err := k.appendSorted(nil, objects[0])
		if err != nil {
			return err
		}
		document, err := k.appendKYAML(nil, line)
		if err != nil {
			return err
		}
		_, err = w.Write(document)
		return err
	}
	head, tail := "---\n{\n  apiVersion: \"v1\",\n  items: [", "],\n  kind: \"List\",\n  metadata: {\n    resourceVersion: \"\",\n  },\n}\n"
	separator := ""
	return writeList(w, objects, head, tail, func(dst []byte, o event.Object) ([]byte, error) {
		line, err := k.appendSorted(nil, o)
		if err != nil {
			return dst, err
		}
		item, err := k.appendKYAML(nil, line)
		item = bytes.TrimSuffix(bytes.TrimPrefix(item, []byte("---\n")), []byte("\n"))
		dst = append(dst, separator...)
		separator = ", "
		return append(dst, bytes.ReplaceAll(item, []byte("\n"), []byte("\n  "))...), err
	})
}

// appendKYAML appends a JSON document as KYAML, which quotes all strings, so that escapes are valid in each of them.
func (k *kyamlEncoder) appendKYAML(dst, text []byte) ([]byte, error) {
	var document bytes.Buffer
	if err := new(kyaml.Encoder).FromYAML(bytes.NewReader(appendFlow(nil, gjson.ParseBytes(text))), &document); err != nil {
		return dst, fmt.Errorf("encode as KYAML: %w", err)
	}
	return append(dst, k.safe(document.String())...), nil
}

// appendFlow appends a JSON value in a form that every YAML parser accepts. A YAML parser rejects JSON with names of more than
// 1,024 characters or with unescaped control characters.
func appendFlow(dst []byte, v gjson.Result) []byte {
	switch {
	case v.IsObject():
		dst = append(dst, '{')
		v.ForEach(func(name, value gjson.Result) bool {
			dst = strconv.AppendQuote(append(dst, "? "...), name.Str)
			dst = append(appendFlow(append(dst, " : "...), value), ',')
			return true
		})
		return append(dst, '}')
	case v.IsArray():
		dst = append(dst, '[')
		v.ForEach(func(_, item gjson.Result) bool {
			dst = append(appendFlow(dst, item), ',')
			return true
		})
		return append(dst, ']')
	case v.Type == gjson.String:
		return strconv.AppendQuote(dst, v.Str)
	}
	return append(dst, v.Raw...)
}
