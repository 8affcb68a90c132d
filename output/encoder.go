package output

import "dwatch/watcher/event"

// NewEncoder returns a function that appends an event to dst in the format of o. Each result is a complete document.
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
