package output

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/tidwall/pretty"

	"dwatch/watcher/event"
)

// indent is kubectl's.
const indent = "    "

// jsonEncoder prints one line an event: the Kubernetes watch event, with
// further members only where they say something. At a terminal it is indented.
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
	return append(append(dst, j.shown(value)...), '\n'), nil
}

// list writes a v1 List, indented wherever it goes, as kubectl does.
func (j *jsonEncoder) list(w io.Writer, objects []event.Object) error {
	head, tail := "{\n"+indent+`"apiVersion": "v1",`+"\n"+indent+`"items": [`, "],\n"+indent+
		`"kind": "List",`+"\n"+indent+`"metadata": {`+"\n"+indent+indent+`"resourceVersion": ""`+"\n"+indent+"}\n}\n"
	if len(objects) > 0 {
		tail = "\n" + indent + tail
	}
	separator := "\n" + indent + indent
	return writeList(w, objects, string(j.shown([]byte(head))), string(j.shown([]byte(tail))), func(dst []byte, o event.Object) ([]byte, error) {
		j.scratch.Reset()
		j.scratch.WriteString(separator)
		separator = ",\n" + indent + indent
		j.line, _ = j.appendObject(j.line[:0], o)
		err := json.Indent(&j.scratch, j.line, indent+indent, indent)
		return append(dst, j.shown(j.scratch.Bytes())...), err
	})
}

// shown is a piece of JSON, escaped and coloured as the options want it.
func (j *jsonEncoder) shown(piece []byte) []byte {
	if j.Terminal {
		piece = []byte(escape(string(piece), "\n"))
	}
	if j.Color {
		piece = pretty.Color(piece, palette)
	}
	return piece
}

// palette is jq's: keys blue, strings green, the rest plain or faint.
var palette = &pretty.Style{
	Key:    [2]string{"\x1b[34;1m", "\x1b[0m"},
	String: [2]string{"\x1b[32m", "\x1b[0m"},
	Escape: [2]string{"\x1b[35m", "\x1b[0m"},
	Number: [2]string{"\x1b[33m", "\x1b[0m"},
	True:   [2]string{"\x1b[36m", "\x1b[0m"},
	False:  [2]string{"\x1b[36m", "\x1b[0m"},
	Null:   [2]string{"\x1b[90m", "\x1b[0m"},
}
