package output

import "dwatch/watcher/event"

// Encoder encodes events one by one, each as if it were the only one.
type Encoder struct{ encoder encoder }

// NewEncoder returns an Encoder in one format.
func NewEncoder(o Options) (*Encoder, error) {
	encoder, err := newEncoder(o)
	return &Encoder{encoder}, err
}

// Append appends an event to dst and returns it.
func (e *Encoder) Append(dst []byte, of event.Event) ([]byte, error) {
	if y, ok := e.encoder.(*yamlEncoder); ok {
		y.started = false // no --- before it
	}
	return e.encoder.event(dst, of)
}
