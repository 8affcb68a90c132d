package output

import "dwatch/watcher/event"

// NewEncoder returns a function that appends an event to dst in one format, as if it were
// the only one.
func NewEncoder(o Options) (func(dst []byte, e event.Event) ([]byte, error), error) {
	encoder, err := newEncoder(o)
	if err != nil {
		return nil, err
	}
	return func(dst []byte, e event.Event) ([]byte, error) {
		if y, ok := encoder.(*yamlEncoder); ok {
			y.started = false // no --- before it
		}
		return encoder.event(dst, e)
	}, nil
}
