package output

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// jsonSorter appends JSON values as kubectl prints them: as encoding/json encodes the decoded value, with the members of each
// object sorted by name, and indented as json.Indent does. Values must be valid. It reads them once and does not decode
// them, which would take several times as long.
type jsonSorter struct {
	source  string
	at      int // position in source
	dst     []byte
	begin   string       // what begins a line: a line feed, prefix, and indent many times; empty for values on one line
	prefix  int          // length of the part before the indents
	indent  int          // length of an indent
	members []jsonMember // of the objects that are being copied, the outer ones first
	buffer  []byte
}

// maxIndents is how many indents jsonSorter.begin has. Deeper values take longer.
const maxIndents = 32

// newJSONSorter returns a jsonSorter that does not indent values if indent is empty.
func newJSONSorter(prefix, indent string) *jsonSorter {
	if indent == "" {
		return &jsonSorter{}
	}
	return &jsonSorter{begin: "\n" + prefix + strings.Repeat(indent, maxIndents), prefix: len("\n" + prefix), indent: len(indent)}
}

// append appends a value. It may be called several times, but not concurrently.
func (w *jsonSorter) append(dst []byte, value string) []byte {
	w.source, w.at, w.dst = value, 0, dst
	w.value(0)
	return w.dst
}

// jsonMember is a member that was copied to dst, with the comma that follows.
type jsonMember struct {
	name       string
	start, end int
}

func (w *jsonSorter) value(depth int) {
	switch w.skipSpace() {
	case '{':
		w.object(depth)
	case '[':
		w.array(depth)
	case '"':
		w.text(false)
	default:
		start := w.at
		for w.at < len(w.source) && !strings.ContainsRune(",]} \t\r\n", rune(w.source[w.at])) {
			w.at++
		}
		w.dst = appendJSONScalar(w.dst, gjson.Parse(w.source[start:w.at]))
	}
}

// skipSpace returns the next byte that is no space, or 0 at the end.
func (w *jsonSorter) skipSpace() byte {
	for ; w.at < len(w.source); w.at++ {
		switch c := w.source[w.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

func (w *jsonSorter) newLine(depth int) {
	if w.indent == 0 {
		return
	}
	w.dst = append(w.dst, w.begin[:w.prefix+min(depth, maxIndents)*w.indent]...)
	for range depth - maxIndents {
		w.dst = append(w.dst, w.begin[w.prefix:][:w.indent]...)
	}
}

func (w *jsonSorter) object(depth int) {
	w.at++
	w.dst = append(w.dst, '{')
	first, start, isSorted := len(w.members), len(w.dst), true
	for c := w.skipSpace(); c != '}' && c != 0; c = w.skipSpace() {
		if c == ',' {
			w.at++
			continue
		}
		from := len(w.dst)
		w.newLine(depth + 1)
		name := w.text(true)
		w.skipSpace()
		w.at++ // the colon
		if w.dst = append(w.dst, ':'); w.indent > 0 {
			w.dst = append(w.dst, ' ')
		}
		w.value(depth + 1)
		w.dst = append(w.dst, ',')
		isSorted = isSorted && (len(w.members) == first || w.members[len(w.members)-1].name < name)
		w.members = append(w.members, jsonMember{name, from, len(w.dst)})
	}
	w.at++
	if !isSorted {
		w.sort(start, w.members[first:])
	}
	w.members = w.members[:first]
	w.end(start, depth, '}')
}

// sort sorts the members from start on. Of members with the same name it keeps the last one.
func (w *jsonSorter) sort(start int, members []jsonMember) {
	slices.SortStableFunc(members, func(a, b jsonMember) int { return strings.Compare(a.name, b.name) })
	w.buffer = append(w.buffer[:0], w.dst[start:]...)
	w.dst = w.dst[:start]
	for i, m := range members {
		if i+1 == len(members) || members[i+1].name != m.name {
			w.dst = append(w.dst, w.buffer[m.start-start:m.end-start]...)
		}
	}
}

func (w *jsonSorter) array(depth int) {
	w.at++
	w.dst = append(w.dst, '[')
	start := len(w.dst)
	for c := w.skipSpace(); c != ']' && c != 0; c = w.skipSpace() {
		if c == ',' {
			w.at++
			continue
		}
		w.newLine(depth + 1)
		w.value(depth + 1)
		w.dst = append(w.dst, ',')
	}
	w.at++
	w.end(start, depth, ']')
}

// end ends an object or array whose content begins at start.
func (w *jsonSorter) end(start, depth int, bracket byte) {
	if len(w.dst) > start {
		w.dst = w.dst[:len(w.dst)-1] // the last comma
		w.newLine(depth)
	}
	w.dst = append(w.dst, bracket)
}

// text copies a string. It returns its value if isName is true.
func (w *jsonSorter) text(isName bool) string {
	start, isPlain, isEscaped := w.at, true, false
	for w.at++; w.at < len(w.source) && w.source[w.at] != '"'; w.at++ {
		switch c := w.source[w.at]; {
		case c == '\\':
			w.at++
			isEscaped = true
			isPlain = isPlain && w.at < len(w.source) && strings.IndexByte(`"\nrtbf`, w.source[w.at]) >= 0 // as encoding/json writes them
		case c == '<', c == '>', c == '&', c >= utf8.RuneSelf:
			isPlain = false
		}
	}
	w.at = min(w.at+1, len(w.source))
	raw := w.source[start:w.at]
	if isPlain {
		if w.dst = append(w.dst, raw...); !isName {
			return ""
		}
		if !isEscaped {
			return strings.Trim(raw, `"`)
		}
		return gjson.Parse(raw).Str
	}
	v := gjson.Parse(raw)
	w.dst = appendJSONScalar(w.dst, v)
	return v.Str
}

// appendJSONScalar appends a string, number, boolean or null as encoding/json encodes it. A number that Go can't represent
// stays as it is.
func appendJSONScalar(dst []byte, v gjson.Result) []byte {
	if isCanonical(v) {
		return append(dst, v.Raw...)
	}
	var decoded any
	if err := utiljson.Unmarshal([]byte(v.Raw), &decoded); err != nil {
		return append(dst, v.Raw...)
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		return append(dst, v.Raw...)
	}
	return append(dst, text...)
}

// isCanonical reports whether encoding/json certainly encodes a scalar with the same bytes.
func isCanonical(v gjson.Result) bool {
	switch v.Type {
	case gjson.String:
		const separators = "\u2028\u2029" // encoding/json escapes them, like the characters of HTML
		return !strings.ContainsAny(v.Raw, "\\<>&"+separators) && utf8.ValidString(v.Raw)
	case gjson.Number:
		n := strings.TrimPrefix(v.Raw, "-")
		return v.Raw != "-0" && digits(n) == len(n) && len(n) <= maxDigits
	}
	return true
}
