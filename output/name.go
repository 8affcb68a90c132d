package output

import (
	"io"
	"strings"

	"dwatch/watcher/event"
)

// nameEncoder prints kind.group/name, as kubectl does, a line an event. Names
// of some resources may hold control characters: they are escaped, so that a
// line is always one event.
type nameEncoder struct{}

func (nameEncoder) event(dst []byte, e event.Event) ([]byte, error) {
	if e.Type.IsMark() {
		return dst, nil // it has no name
	}
	return appendName(dst, e.Object), nil
}

func (nameEncoder) list(w io.Writer, objects []event.Object) error {
	return writeList(w, objects, "", "", func(dst []byte, o event.Object) ([]byte, error) { return appendName(dst, o), nil })
}

func appendName(dst []byte, o event.Object) []byte {
	gvk := o.GroupVersionKind()
	dst = append(dst, strings.ToLower(gvk.Kind)...)
	if gvk.Group != "" {
		dst = append(dst, '.')
		dst = append(dst, gvk.Group...)
	}
	dst = append(dst, '/')
	dst = append(dst, Line(o.Name)...)
	return append(dst, '\n')
}
