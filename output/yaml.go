package output

import (
	"bytes"
	"fmt"
	"io"

	"go.yaml.in/yaml/v2" // what sigs.k8s.io/yaml is made of

	"dwatch/watcher/event"
)

// yamlEncoder prints one document an event, with a line of --- between two. The
// YAML library escapes control characters by itself.
type yamlEncoder struct{ started bool }

func (y *yamlEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	dst = fmt.Appendf(y.begin(dst), "type: %s\n", e.Type)
	if e.Initial {
		dst = append(dst, "initial: true\n"...)
	}
	if e.FinalStateUnknown {
		dst = append(dst, "finalStateUnknown: true\n"...)
	}
	if !e.Time.IsZero() {
		dst = append(appendTime(append(dst, `time: "`...), e.Time), "\"\n"...)
	}
	dst, err := appendMember(dst, "object", e.Object)
	if err != nil || e.Old.IsZero() {
		return dst, err
	}
	return appendMember(dst, "old", e.Old)
}

func (y *yamlEncoder) begin(dst []byte) []byte {
	if y.started {
		dst = append(dst, "---\n"...)
	}
	y.started = true
	return dst
}

// mark has the members of a mark in the order of its JSON, which is YAML too.
func (y *yamlEncoder) mark(dst []byte, e event.Event) ([]byte, error) {
	line, err := marshalMark(e)
	if err != nil {
		return dst, err
	}
	var members yaml.MapSlice
	if err := yaml.Unmarshal(escapeJSON(line), &members); err != nil {
		return dst, fmt.Errorf("encode a mark as YAML: %w", err)
	}
	text, err := yaml.Marshal(members)
	if err != nil {
		return dst, fmt.Errorf("encode a mark as YAML: %w", err)
	}
	return append(y.begin(dst), text...), nil
}

func appendMember(dst []byte, key string, o event.Object) ([]byte, error) {
	text, err := marshalYAML(o)
	if err != nil {
		return dst, err
	}
	return appendIndented(fmt.Appendf(dst, "%s:\n", key), "  ", text), nil
}

// list writes a v1 List, as kubectl does.
func (y *yamlEncoder) list(w io.Writer, objects []event.Object) error {
	items := "items:\n"
	if len(objects) == 0 {
		items = "items: []\n"
	}
	if _, err := io.WriteString(w, "apiVersion: v1\n"+items); err != nil {
		return err
	}
	var item []byte
	for _, o := range objects {
		object, err := marshalYAML(o)
		if err != nil {
			return err
		}
		item = appendIndented(item[:0], "  ", object)
		item[0] = '-'
		if _, err := w.Write(item); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "kind: List\nmetadata:\n  resourceVersion: \"\"\n")
	return err
}

func marshalYAML(o event.Object) ([]byte, error) {
	u, err := o.Open()
	if err != nil {
		return nil, err
	}
	// Straight from the content: by way of JSON, as sigs.k8s.io/yaml goes, it
	// would not take control characters that JSON leaves unescaped.
	text, err := yaml.Marshal(u.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s/%s as YAML: %w", o.Namespace, Line(o.Name), err)
	}
	return text, nil
}

// appendIndented appends text with prefix before each line that is not empty.
func appendIndented(dst []byte, prefix string, text []byte) []byte {
	for line := range bytes.Lines(text) {
		if len(line) > 1 {
			dst = append(dst, prefix...)
		}
		dst = append(dst, line...)
	}
	return dst
}
