// Package cloudevent converts messages to CloudEvents 1.0.
package cloudevent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"

	"dwatch/output/deliver"
)

// New returns a message as a CloudEvent. source applies unless the message has a source. All attributes except time are strings.
func New(m *deliver.Message, source string) *event.Event {
	subject, dataType := pathOf(m), typeOf(m.Body)
	return &event.Event{
		Context: &event.EventContextV1{
			ID:              ToValidUTF8(m.ID),
			Source:          *types.ParseURIRef(cmp.Or(m.Source, source)),
			Type:            "io.dwatch.resource." + strings.ToLower(string(m.Type)),
			DataContentType: &dataType,
			Subject:         &subject,
			Time:            &types.Timestamp{Time: m.Time.UTC()},
			Extensions:      extensions(m, subject),
		},
		DataEncoded: m.Body,
	}
}

// extensions returns the extension attributes. The first four have the names of Knative's ApiServerSource. The partitionkey makes
// Kafka keep the order of an object's messages.
func extensions(m *deliver.Message, subject string) map[string]any {
	all := map[string]any{
		"apiversion":      m.APIVersion,
		"kind":            m.Kind,
		"namespace":       m.Namespace,
		"name":            m.Name,
		"uid":             string(m.UID),
		"resourceversion": m.ResourceVersion,
		"cluster":         m.Cluster,
		"partitionkey":    m.Cluster + subject,
	}
	for name, value := range all {
		if text := ToValidUTF8(value.(string)); text == "" {
			delete(all, name) // attributes must not be empty
		} else {
			all[name] = text
		}
	}
	return all
}

// yamlEvent matches the start of an event in YAML.
var yamlEvent = regexp.MustCompile(`^type: [A-Z]+\n`)

// typeOf returns the media type of a body. It depends on the body and not on the format of this run, because an earlier run may
// have encoded the message.
func typeOf(body []byte) string {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case bytes.HasPrefix(body, []byte(`{"type":"`)): // an event
		return event.ApplicationJSON
	case (bytes.HasPrefix(trimmed, []byte("{")) || bytes.HasPrefix(trimmed, []byte("["))) && json.Valid(trimmed):
		return event.ApplicationJSON
	case yamlEvent.Match(body):
		return "application/yaml"
	}
	return event.TextPlain + "; charset=utf-8"
}

func pathOf(m *deliver.Message) string {
	r := m.Resource
	path := "/apis/" + r.Group + "/" + r.Version
	if r.Group == "" {
		path = "/api/" + r.Version
	}
	if m.Namespace != "" {
		path += "/namespaces/" + m.Namespace
	}
	return ToValidUTF8(path + "/" + r.Resource + "/" + m.Name)
}

// ToValidUTF8 replaces invalid bytes, which attributes must not contain.
func ToValidUTF8(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// EachAttribute calls set with each attribute of an event except datacontenttype.
func EachAttribute(e *event.Event, set func(name, value string)) {
	set("specversion", e.SpecVersion())
	set("id", e.ID())
	set("source", e.Source())
	set("type", e.Type())
	set("subject", e.Subject())
	set("time", types.FormatTime(e.Time()))
	for name, value := range e.Extensions() {
		set(name, value.(string))
	}
}

// EachHeader is EachAttribute with values that are encoded for headers, as in the HTTP and NATS bindings.
func EachHeader(e *event.Event, set func(name, value string)) {
	EachAttribute(e, func(name, value string) { set(name, EscapeHeader(value)) })
}

// EscapeHeader encodes the value of an attribute for a header, by section 3.1.3.2 of the HTTP binding of CloudEvents.
func EscapeHeader(value string) string {
	return PercentEncode(value, func(c byte) bool { return c > ' ' && c < 0x7f && c != '"' && c != '%' })
}

// PercentEncode encodes each byte for which plain returns false, as in a URL: %2E is a dot.
func PercentEncode(value string, plain func(c byte) bool) string {
	escaped := make([]byte, 0, len(value))
	for i := range len(value) {
		if c := value[i]; plain(c) {
			escaped = append(escaped, c)
		} else {
			escaped = fmt.Appendf(escaped, "%%%02X", c)
		}
	}
	return string(escaped)
}
