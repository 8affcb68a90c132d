package output

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/tidwall/pretty"

	"dwatch/output/text"
	"dwatch/watcher/event"
)

// indent is kubectl's.
const indent = "    "

// jsonEncoder prints one line per event: the Kubernetes watch event with optional further members. At a terminal it indents
// the event. It embeds Options because their methods encode the objects.
type jsonEncoder struct {
	Options
	line    []byte
	scratch bytes.Buffer
}

func (j *jsonEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	var err error
	if !j.Terminal && !j.Color {
		dst, err = j.appendEvent(dst, e, j.appendObject)
		return append(dst, '\n'), err
	}
	if j.line, err = j.appendEvent(j.line[:0], e, j.appendObject); err != nil {
		return dst, err
	}
	value := j.line
	if j.Terminal {
		j.scratch.Reset()
		if err := json.Indent(&j.scratch, value, "", indent); err != nil {
			return dst, err
		}
		value = j.scratch.Bytes()
	}
	return append(append(dst, j.styled(value)...), '\n'), nil
}

// list writes a v1 List, or a single object by itself, as kubectl does: indented, and with the members of each object sorted
// by name.
func (j *jsonEncoder) list(w io.Writer, objects []event.Object) error {
	head, tail, prefix := "{\n"+indent+`"apiVersion": "v1",`+"\n"+indent+`"items": [`, "],\n"+indent+
		`"kind": "List",`+"\n"+indent+`"metadata": {`+"\n"+indent+indent+`"resourceVersion": ""`+"\n"+indent+"}\n}\n", indent+indent
	separator := "\n" + prefix
	switch {
	case j.isSingle(objects):
		head, tail, prefix, separator = "", "\n", "", ""
	case len(objects) > 0:
		tail = "\n" + indent + tail
	}
	sorter := newJSONSorter(prefix, indent)
	return writeList(w, objects, string(j.styled([]byte(head))), string(j.styled([]byte(tail))), func(dst []byte, o event.Object) ([]byte, error) {
		piece := append(j.line[:0], separator...)
		separator = ",\n" + prefix
		if j.Masks.AppliesTo(o.APIVersion, o.Kind) { // MaskJSON sorts, and escapes no < of a mask
			masked, _ := j.appendObject(nil, o)
			j.scratch.Reset()
			if err := json.Indent(&j.scratch, masked, prefix, indent); err != nil {
				return dst, err
			}
			piece = append(piece, j.scratch.Bytes()...)
		} else {
			text := o.Raw()
			if j.OmitManagedFields {
				before, after := event.CutManagedFields(text)
				text = before + after
			}
			piece = sorter.append(piece, text)
		}
		j.line = piece
		return append(dst, j.styled(piece)...), nil
	})
}

// styled returns a piece of JSON with the escapes and colours that the options require.
func (j *jsonEncoder) styled(piece []byte) []byte {
	if j.Terminal {
		piece = []byte(text.JSON(string(piece)))
	}
	if j.Color {
		piece = pretty.Color(piece, palette)
	}
	return piece
}

// palette has the colours of JSON: keys are blue and strings green, as in jq, numbers yellow, booleans cyan and null grey.
var palette = &pretty.Style{
	Key:    [2]string{"\x1b[34;1m", "\x1b[0m"},
	String: [2]string{"\x1b[32m", "\x1b[0m"},
	Escape: [2]string{"\x1b[35m", "\x1b[0m"},
	Number: [2]string{"\x1b[33m", "\x1b[0m"},
	True:   [2]string{"\x1b[36m", "\x1b[0m"},
	False:  [2]string{"\x1b[36m", "\x1b[0m"},
	Null:   [2]string{"\x1b[90m", "\x1b[0m"},
}
