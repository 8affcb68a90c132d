package output

import (
	"io"

	"dwatch/watcher/event"
)

// noEncoder prints nothing, for users who only need the exit code.
type noEncoder struct{}

func (noEncoder) event(dst []byte, _ event.Event) ([]byte, error) { return dst, nil }
func (noEncoder) list(io.Writer, []event.Object) error            { return nil }
