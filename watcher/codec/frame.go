package codec

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	// maxFrame is the size of the largest event that client-go accepts.
	maxFrame = 16 << 20
	// keepFrame is the size of the largest buffer that is reused for the next event.
	keepFrame = 1 << 20
)

var errTooLarge = errors.New("the server sent an event of more than 16 MiB")

// framer splits the body of a watch into events. Each event that it returns is valid JSON. API
// servers write one event per line. If a server indents events, framer finds their ends by parsing.
type framer struct {
	runtime.Framer // the stock one, for writing
	warn           func(string)
}

func (f framer) NewFrameReader(body io.ReadCloser) io.ReadCloser {
	return &frames{ReadCloser: body, lines: bufio.NewReaderSize(body, readBuffer), warn: f.warn}
}

type frames struct {
	io.ReadCloser
	warn   func(string)
	lines  *bufio.Reader
	long   []byte            // an event that did not fit into the buffer of lines
	rest   []byte            // of the current event
	values *json.Decoder     // nil while the server writes one event per line
	window *io.LimitedReader // limits what values may read for one event
}

// Read copies the next event, or the rest of the current one, to p. It returns io.ErrShortBuffer if
// more of the event follows.
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

// next returns an event, which is valid until the next call. If split accepts the event, the object
// that it returns is one valid JSON value. For events for which that is not true, next prepends a
// space, so that split rejects them.
func (f *frames) next() ([]byte, error) {
	for f.values == nil {
		raw, err := f.nextLine()
		line := bytes.Trim(raw, " \t\r\n")
		_, object, plain := split(line)
		if plain && valid(alias(object)) {
			return line, nil
		}
		repaired := repair(line)
		_, object, plain = split(repaired)
		switch {
		case len(line) > 0 && valid(alias(repaired)):
			f.warnRepaired(line, repaired)
			return hideFromSplit(repaired, plain && !valid(alias(object))), nil
		case err != nil && (err != io.EOF || len(line) == 0):
			return nil, err
		case err == nil && plain && isBroken(line):
			if isolated, ok := f.isolate(repaired); ok {
				return isolated, nil
			}
		}
		if len(line) > 0 {
			f.window = &io.LimitedReader{R: io.MultiReader(bytes.NewReader(bytes.Clone(raw)), f.lines)}
			f.values = json.NewDecoder(f.window)
		}
	}
	value, err := f.nextValue()
	_, object, plain := split(value)
	return hideFromSplit(value, plain && !valid(alias(object))), err
}

// hideFromSplit prepends a space to an event if hide is true, so that split rejects it.
func hideFromSplit(event []byte, hide bool) []byte {
	if hide {
		return append([]byte(" "), event...)
	}
	return event
}

// repair replaces each byte of text that is not UTF-8 with U+FFFD, as encoding/json does. It returns
// text itself if that is valid.
func repair(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return []byte(string([]rune(string(text))))
}

// warnRepaired names the object of an event if repair changed it.
func (f *frames) warnRepaired(event, repaired []byte) {
	if !bytes.Equal(event, repaired) {
		f.warn(repairWarning(gjson.GetBytes(repaired, "object").Raw))
	}
}

// isBroken reports whether line contains a syntax error. A line with several values or with the
// beginning of a value is not broken.
func isBroken(line []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(line))
	for {
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return err != io.EOF && err != io.ErrUnexpectedEOF
		}
	}
}

// isolate returns an event with an unreadable object instead of an event with a syntax error, so
// that the watch can continue. It returns false if the event does not identify its object.
func (f *frames) isolate(event []byte) ([]byte, bool) {
	kind, object, _ := split(event)
	id := find(alias(object))
	if id.kind == "" || id.name == "" || id.uid == "" || id.resourceVersion == "" || kind == string(watch.Error) {
		return nil, false
	}
	f.warn(id.describe() + " is not valid JSON: its state is unknown until it changes")
	return fmt.Appendf(nil, `{"type":%q,"object":%s}`, kind, id.unreadable()), true
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
	case err != nil:
		return nil, err
	}
	repaired := repair(value)
	f.warnRepaired(value, repaired)
	return repaired, nil
}

// events decodes the frames of a watch into metav1.WatchEvent. framer has checked that they are
// valid JSON. The decoded object shares memory with the frame, because client-go decodes it before
// the next one.
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

// split splits an event in the form in which API servers write it, {"type":"ADDED","object":{...}}.
// It checks only both ends, so that only framer can guarantee that object is one value.
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

// eventType returns name as a string that is not allocated, or an empty string for an unknown type.
func eventType(name []byte) string {
	for _, known := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		if string(name) == string(known) {
			return string(known)
		}
	}
	return ""
}
