package shallow

import (
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
	gjson.Parse(alias(data)).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			event.Type = eventType(value.Str)
		case "object":
			event.Object.Raw = data[value.Index : value.Index+len(value.Raw)]
		}
		return true
	})
	return event, defaults, nil
}

// eventType is text without its own memory for the types there are.
func eventType(text string) string {
	for _, known := range []watch.EventType{watch.Added, watch.Modified, watch.Deleted, watch.Bookmark, watch.Error} {
		if text == string(known) {
			return string(known)
		}
	}
	return strings.Clone(text)
}
