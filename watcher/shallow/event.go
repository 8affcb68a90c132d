package shallow

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// events decodes the frames of a watch into metav1.WatchEvent. The framer has
// seen to it that they are valid JSON. The object of the event is a part of the
// frame, as client-go decodes it at once.
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
// {"type":"ADDED","object":{...}}. It looks only at the two ends: there may be
// more in object than one value, unless the framer has seen to that.
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

// eventType is name without memory of its own; empty for a type that there
// isn't.
func eventType(name []byte) string {
	for _, known := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		if string(name) == string(known) {
			return string(known)
		}
	}
	return ""
}
