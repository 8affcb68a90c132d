package output

import (
	"bytes"
	"encoding/json"
	"time"

	"dwatch/watcher/event"
)

// mark is a line about the watch itself. It has no object, so that a reader who
// asks for one passes it over.
type mark struct {
	Type event.Type `json:"type"`
	// Resource is resource.version.group, as it can be typed.
	Resource        string     `json:"resource,omitempty"`
	Namespace       string     `json:"namespace,omitempty"`
	Name            string     `json:"name,omitempty"`
	Count           *int       `json:"count,omitempty"`
	From            string     `json:"from,omitempty"`
	ResourceVersion string     `json:"resourceVersion,omitempty"`
	Connected       *bool      `json:"connected,omitempty"`
	LastEvent       *time.Time `json:"lastEvent,omitempty"`
	Message         string     `json:"message,omitempty"`
	Time            time.Time  `json:"time"`
}

func newMark(e event.Event) mark {
	m := mark{
		Type:            e.Type,
		Namespace:       e.Target.Namespace,
		Name:            e.Target.Name,
		From:            e.From,
		ResourceVersion: e.ResourceVersion,
		Time:            timestamp(e.Time),
	}
	if e.Target.Mapping != nil {
		r := e.Target.Resource()
		m.Resource = r.Resource + "." + r.Version + "." + r.Group
	}
	if e.Err != nil {
		m.Message = e.Err.Error()
	}
	switch e.Type {
	case event.Synced:
		m.Count = &e.Count
	case event.Heartbeat:
		m.Count, m.Connected = &e.Count, &e.Connected
		if !e.LastEvent.IsZero() {
			last := timestamp(e.LastEvent)
			m.LastEvent = &last
		}
	}
	return m
}

// timestamp is t as it is printed: in UTC, to the millisecond.
func timestamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// marshalMark returns a mark as compact JSON.
func marshalMark(e event.Event) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(newMark(e)); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
