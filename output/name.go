package output

import (
	"fmt"
	"io"
	"strings"

	"dwatch/watcher/event"
)

// nameEncoder prints kind.group/name, as kubectl does, a line an event. Names of some resources may
// hold control characters: they are escaped, so that a line is always one event.
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
	kind := strings.ToLower(o.GroupVersionKind().GroupKind().String())
	return fmt.Appendf(dst, "%s/%s\n", kind, Line(o.Name))
}
