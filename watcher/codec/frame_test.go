package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// readAll reads all frames with a buffer of size bytes.
func readAll(body io.Reader, size int) (read []string, err error) {
	read, _, err = readWarned(body, size)
	return read, err
}

// readWarned is like readAll and also returns the warnings.
func readWarned(body io.Reader, size int) (read, warnings []string, err error) {
	f := framer{warn: func(text string) { warnings = append(warnings, text) }}.NewFrameReader(io.NopCloser(body))
	buffer := make([]byte, size)
	var frame []byte
	for {
		n, err := f.Read(buffer)
		frame = append(frame, buffer[:n]...)
		switch {
		case err == io.ErrShortBuffer:
		case err != nil:
			return read, warnings, err
		default:
			read = append(read, string(frame))
			frame = nil
		}
	}
}

func TestFrames(t *testing.T) {
	long := fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 3*readBuffer))
	for name, test := range map[string]struct {
		body string
		want []string
		err  error
	}{
		"lines":                       {"{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}, io.EOF},
		"empty lines":                 {"\n{\"a\":1}\n \r\n\n{\"b\":2}\r\n", []string{`{"a":1}`, `{"b":2}`}, io.EOF},
		"no newline at the end":       {"{\"a\":1}\n{\"b\":2}", []string{`{"a":1}`, `{"b":2}`}, io.EOF},
		"cut":                         {"{\"a\":1}\n{\"b\":{}", []string{`{"a":1}`}, io.ErrUnexpectedEOF},
		"cut anywhere":                {"{\"a\":1}\n{\"b\":", []string{`{"a":1}`}, io.ErrUnexpectedEOF},
		"long":                        {long + "\n{}\n" + long + "\n", []string{long, "{}", long}, io.EOF},
		"indented":                    {"{\n  \"a\": {\n  \"b\": 1\n  }\n}\n{\n\"c\": 2\n}\n", []string{"{\n  \"a\": {\n  \"b\": 1\n  }\n}", "{\n\"c\": 2\n}"}, io.EOF},
		"two in a line":               {"{\"a\":1}{\"b\":2} {}\n{}\n", []string{`{"a":1}`, `{"b":2}`, "{}", "{}"}, io.EOF},
		"two in a line, no newline":   {"{\"a\":1}{\"b\":2}", []string{`{"a":1}`, `{"b":2}`}, io.EOF},
		"broken between members":      {"{\"a\":{}\n,\"b\":{}\n}\n{}\n", []string{"{\"a\":{}\n,\"b\":{}\n}", "{}"}, io.EOF},
		"invalid UTF-8":               {"{}\n{\"a\":\"\xff\"}\n{}\n", []string{"{}", "{\"a\":\"\ufffd\"}", "{}"}, io.EOF},
		"invalid UTF-8, indented":     {"{\n\"a\":\"\xff\xfe\"}\n{}\n", []string{"{\n\"a\":\"\ufffd\ufffd\"}", "{}"}, io.EOF},
		"no space of JSON":            {"{}\n\v{}\n", []string{"{}"}, errSyntax},
		"garbage":                     {"{}\n{\"a\":}\n{}\n", []string{"{}"}, errSyntax},
		"indented and cut":            {"{\n  \"a\": {\n", nil, io.ErrUnexpectedEOF},
		"nothing":                     {"", nil, io.EOF},
		"indented and too large":      {"{\n\"a\":\"" + strings.Repeat("x", maxFrame) + "\"}\n", nil, errTooLarge},
		"deeper than any stack":       {deep(maxFrame/2-20_000) + "\n", nil, errDepth},
		"as deep as may be":           {deep(maxDepth) + "\n", []string{deep(maxDepth)}, io.EOF},
		"a level deeper":              {deep(maxDepth+1) + "\n", nil, errDepth},
		"larger than client-go takes": {`{"a":"` + strings.Repeat("x", maxFrame) + "\"}\n", nil, errTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int{7, 4096} {
				for kind, body := range map[string]io.Reader{
					"whole": strings.NewReader(test.body), "half": iotest.HalfReader(strings.NewReader(test.body)),
				} {
					got, err := readAll(body, size)
					if diff := cmp.Diff(test.want, got); diff != "" || !is(err, test.err) {
						t.Errorf("%s, buffer of %d: got error %v, want %v\n%.500s", kind, size, err, test.err, diff)
					}
				}
			}
		})
	}
}

// configMapEvent returns a watch event of a ConfigMap with this data, which may be invalid.
func configMapEvent(kind, data string) string {
	return `{"type":"` + kind + `","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7"},"data":` + data + "}}"
}

// TestBadObjects checks that an event with invalid UTF-8 or invalid JSON does not end the watch, and
// that a warning names its object.
func TestBadObjects(t *testing.T) {
	const next = `{"type":"ADDED","object":{"a":1}}`
	const unreadable = `{"type":"MODIFIED","object":{"\u0000unreadable":true,"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7"}}}`
	const notUTF8 = "ConfigMap shop/web is not valid UTF-8: invalid bytes are shown as U+FFFD"
	const notJSON = "ConfigMap shop/web is not valid JSON: its state is unknown until it changes"
	for data, test := range map[string]struct{ event, warning string }{
		"{\"n\":\"\xff\"}":              {configMapEvent("MODIFIED", `{"n":"`+"\ufffd"+`"}`), notUTF8},
		"{\"n\":\"\xe2\x82\"}":          {configMapEvent("MODIFIED", `{"n":"`+"\ufffd\ufffd"+`"}`), notUTF8},
		"{\"n\":}":                      {unreadable, notJSON},
		"{\"n\":\"\x01\"}":              {unreadable, notJSON},
		"{\"n\":\"\xff\",}":             {unreadable, notJSON},
		strings.Repeat("[", maxDepth+1): {unreadable, notJSON},
	} {
		got, warnings, err := readWarned(strings.NewReader(next+"\n"+configMapEvent("MODIFIED", data)+"\n"+next+"\n"), 4096)
		if diff := cmp.Diff([]string{next, test.event, next}, got); diff != "" || err != io.EOF {
			t.Errorf("%.20q: %v\n%s", data, err, diff)
		}
		if diff := cmp.Diff([]string{test.warning}, warnings); diff != "" {
			t.Errorf("%.20q: warnings: %s", data, diff)
		}
	}
}

// TestOddEvents checks that events that differ from the form of API servers are decoded correctly.
func TestOddEvents(t *testing.T) {
	for body, want := range map[string]string{
		`{"type":"ADDED","object":{"a":1}}`:                        `ADDED {"a":1}`,
		` {"type":"ADDED","object":{"a":1}} `:                      `ADDED {"a":1}`,
		`{"type":"ADDED","object":{"a":1},"b":{}}`:                 `ADDED {"a":1}`,
		`{"type":"ADDED","object":{"a":1},"type":"DELETED"}`:       `DELETED {"a":1}`,
		`{"type":"ADDED","object":null}`:                           `ADDED null`,
		`{"type":"ADDED", "object":{"a":1}}`:                       `ADDED {"a":1}`,
		`{"object":{"a":1},"type":"ADDED"}`:                        `ADDED {"a":1}`,
		`{"type":"NOVEL","object":{"a":1}}`:                        `NOVEL {"a":1}`,
		`{"type":"\u0041DDED","object":{"a":1}}`:                   `ADDED {"a":1}`,
		`{"type":"a\",\"object\":{","object":{"a":1}}`:             `a","object":{ {"a":1}`,
		`{"type":"ADDED"}`:                                         `ADDED `,
		"{}{\"type\":\"ADDED\",\"object\":{\"a\":1},\"b\":{}}":     ` `,
		"{\n}{\"type\":\"ADDED\",\"object\":{\"a\":1},\"b\":{}}\n": ` `,
	} {
		frames, err := readAll(strings.NewReader(body), 4096)
		if err != io.EOF {
			t.Errorf("%s: %v", body, err)
			continue
		}
		for i, frame := range frames {
			if i > 0 {
				want = `ADDED {"a":1}`
			}
			var event metav1.WatchEvent
			if _, _, err := (events{}).Decode([]byte(frame), nil, &event); err != nil {
				t.Fatal(err)
			}
			if got := event.Type + " " + string(event.Object.Raw); got != want {
				t.Errorf("%s decodes to %s, want %s", body, got, want)
			}
		}
	}
}

// deep returns a value with n levels and a string that seems to close all of them.
func deep(n int) string {
	hidden := fmt.Sprintf("[%q,", `"`+strings.Repeat("]", min(n, 20_000)))
	return `{"a":` + hidden + strings.Repeat("[", n-2) + strings.Repeat("]", n-1) + "}"
}

// Errors of encoding/json, which exports no values to compare with.
var (
	errSyntax = errors.New("invalid character")
	errDepth  = errors.New("exceeded max depth")
)

func is(err, want error) bool {
	if want == errSyntax || want == errDepth {
		return err != nil && strings.Contains(err.Error(), want.Error())
	}
	return errors.Is(err, want)
}

// FuzzFrames compares framer with encoding/json. It must split a stream of JSON values into the
// same values, however the bytes arrive.
func FuzzFrames(f *testing.F) {
	long := fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 3*readBuffer/2))
	for _, seed := range []string{
		"{\"type\":\"ADDED\",\"object\":{\"a\":[1,2.5e3,null,true,\"\\u00e4\\n\"]}}\n{\"b\":2}\n", "\n \r\n{}\r\n{}", "{\n  \"a\": {\n  \"b\": 1\n  }\n}\n{}\n",
		"{\"a\":{}\n,\"b\":1}\n", "{}{} {}\n{}", "{\"a\":\"}\n\"}", long + "\n" + long, long + long, "{\"a\":", "[1]\n\"x\"\n1\n2", "{}\n\x00{}\n", "{}\n{\"\xff\":1}\n{}",
	} {
		f.Add([]byte(seed), uint8(3), uint16(7))
	}
	f.Fuzz(func(t *testing.T, text []byte, chunk uint8, size uint16) {
		want, wantErr := values(repair(text))
		got, err := readAll(chunks{bytes.NewReader(text), int(chunk) + 1}, int(size)+1)
		for i, frame := range got {
			if _, object, ok := split([]byte(frame)); ok && !json.Valid(object) {
				t.Fatalf("split returned the invalid object %q of %q", object, frame)
			}
			got[i] = strings.TrimPrefix(frame, " ")
		}
		if diff := cmp.Diff(want, got); diff != "" || (err == io.EOF) != (wantErr == io.EOF) {
			t.Fatalf("encoding/json (-) %v, frames (+) %v of %q:\n%s", wantErr, err, text, diff)
		}
	})
}

// values returns the values that encoding/json finds in text.
func values(text []byte) (found []string, err error) {
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return found, err
		}
		found = append(found, string(value))
	}
}

// chunks reads at most n bytes at a time.
type chunks struct {
	io.Reader
	n int
}

func (c chunks) Read(p []byte) (int, error) { return c.Reader.Read(p[:min(len(p), c.n)]) }
