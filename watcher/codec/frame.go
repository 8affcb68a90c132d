package codec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	readBuffer = 64 << 10
	// maxFrame is the largest event that client-go takes.
	maxFrame = 16 << 20
	// keepFrame is the largest buffer that is kept for the next event.
	keepFrame = 1 << 20
)

var errTooLarge = errors.New("the server sent an event of more than 16 MiB")

// framer cuts a watch into events, each of which is valid JSON. API servers write one line an
// event; for one that indents, the values are found by parsing.
type framer struct {
	runtime.Framer // the stock one: for writing
}

func (framer) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	return &frames{ReadCloser: body, lines: bufio.NewReaderSize(body, readBuffer)}
}

type frames struct {
	io.ReadCloser
	lines  *bufio.Reader
	long   []byte            // an event that did not fit into the buffer of lines
	rest   []byte            // of the present event
	values *json.Decoder     // set once the server turned out not to write one line an event
	window *io.LimitedReader // of what values may read for one event
}

// Read copies the next event, or the rest of one, to p: io.ErrShortBuffer says that it goes on.
func (f *frames) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		var err error
		if f.rest, err = f.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	if len(f.rest) > 0 {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// next returns an event; it is valid until the following call. Of what split takes apart without
// looking inside, the object is one value. Otherwise it begins with a space instead.
func (f *frames) next() ([]byte, error) {
	for f.values == nil {
		whole, err := f.nextLine()
		line := bytes.Trim(whole, " \t\r\n")
		_, object, plain := split(line)
		switch {
		case plain && valid(alias(object)):
			return line, nil
		case len(line) > 0 && valid(alias(line)):
			return apart(line, plain), nil
		case err != nil && (err != io.EOF || len(line) == 0):
			return nil, err
		case len(line) > 0:
			f.window = &io.LimitedReader{R: io.MultiReader(bytes.NewReader(bytes.Clone(whole)), f.lines)}
			f.values = json.NewDecoder(f.window)
		}
	}
	value, err := f.nextValue()
	_, object, plain := split(value)
	return apart(value, plain && !valid(alias(object))), err
}

// apart puts a space before an event that is odd, so that split leaves it alone.
func apart(event []byte, odd bool) []byte {
	if odd {
		return append([]byte(" "), event...)
	}
	return event
}

func (f *frames) nextLine() ([]byte, error) {
	line, err := f.lines.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	if cap(f.long) > keepFrame {
		f.long = nil
	}
	f.long = append(f.long[:0], line...)
	for err == bufio.ErrBufferFull {
		line, err = f.lines.ReadSlice('\n')
		if f.long = append(f.long, line...); len(f.long) > maxFrame {
			return nil, errTooLarge
		}
	}
	return f.long, err
}

func (f *frames) nextValue() ([]byte, error) {
	f.window.N = maxFrame
	var value json.RawMessage
	err := f.values.Decode(&value)
	switch {
	case err != nil && f.window.N == 0:
		return nil, errTooLarge
	case err == nil && !utf8.Valid(value):
		return nil, errInvalid
	}
	return value, err
}

// events decodes the frames of a watch into metav1.WatchEvent. The framer has seen to it that they
// are valid JSON. The object is a part of the frame, as client-go decodes it at once.
type events struct {
	runtime.Serializer // the stock one
}

func (e events) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return e.Serializer.Decode(data, defaults, into)
	}
	if kind, object, ok := split(data); ok {
		event.Type, event.Object.Raw = kind, object
		return event, defaults, nil
	}
	gjson.Parse(alias(data)).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			event.Type = strings.Clone(value.Str)
		case "object":
			event.Object.Raw = data[value.Index : value.Index+len(value.Raw)]
		}
		return true
	})
	return event, defaults, nil
}

// split takes an event apart in the form in which API servers write it,
// {"type":"ADDED","object":{...}}. It looks only at the two ends: only the framer sees to it that
// object is one value.
func split(frame []byte) (kind string, object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(frame, []byte(`{"type":"`))
	if !ok {
		return "", nil, false
	}
	name, rest, _ := bytes.Cut(rest, []byte(`"`))
	rest, ok = bytes.CutPrefix(rest, []byte(`,"object":`))
	object, closed := bytes.CutSuffix(rest, []byte("}"))
	if kind = eventType(name); kind == "" || !ok || !closed {
		return "", nil, false
	}
	return kind, object, true
}

// eventType is name without memory of its own; empty for a type that there isn't.
func eventType(name []byte) string {
	for _, known := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		if string(name) == string(known) {
			return string(known)
		}
	}
	return ""
}
