package output

import (
	"time"

	"dwatch/watcher/event"
)

// statusLine is the JSON of a status event. It has no member "object".
type statusLine struct {
	Type    event.Type `json:"type"`
	Cluster string     `json:"cluster,omitempty"`
	// Resource is resource.version.group, which dwatch accepts as an argument.
	Resource        string `json:"resource,omitempty"`
	Namespace       string `json:"namespace,omitempty"`
	Name            string `json:"name,omitempty"`
	Count           *int   `json:"count,omitempty"`
	From            string `json:"from,omitempty"`
	ResourceVersion string `json:"resourceVersion,omitempty"`
	Connected       *bool  `json:"connected,omitempty"`
	LastEvent       string `json:"lastEvent,omitempty"`
	Heard           string `json:"heard,omitempty"`
	Message         string `json:"message,omitempty"`
	Time            string `json:"time"`
}

func newStatusLine(e event.Event) statusLine {
	m := statusLine{
		Type:            e.Type,
		Cluster:         e.Target.Cluster,
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
	if !e.Heard.IsZero() {
		m.Heard = timestamp(e.Heard)
	}
	switch e.Type {
	case event.Synced:
		m.Count = &e.Count
	case event.Heartbeat:
		m.Count, m.Connected = &e.Count, &e.Connected
		if !e.LastEvent.IsZero() {
			m.LastEvent = timestamp(e.LastEvent)
		}
	}
	return m
}

// timestamp returns t in the format of the stream.
func timestamp(t time.Time) string { return event.Timestamp{Time: t}.String() }
