// Package cloudevent makes CloudEvents 1.0 of messages, for receivers of every kind.
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

// New returns a message as a CloudEvent, of this source if the message does not know its own. All attributes are strings but the time.
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

// extensions are the attributes beyond those of the specification. The first four are
// called as those of Knative's ApiServerSource; a partitionkey makes Kafka keep the order
// of the messages of an object.
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
			delete(all, name) // an attribute has a value
		} else {
			all[name] = text
		}
	}
	return all
}

// yamlEvent is how an event in YAML begins.
var yamlEvent = regexp.MustCompile(`^type: [A-Z]+\n`)

// typeOf is the media type of a message's body. A message that has waited for longer than
// a run may not be as this run would print it.
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

// Valid makes a text of the server one that an attribute may have.
func ToValidUTF8(text string) string { return strings.ToValidUTF8(text, "\ufffd") }

// Attributes calls set with each attribute of an event but the type of its data.
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

// Headers is Attributes, with each value as a header has it: the same in the bindings of HTTP and of NATS.
func EachHeader(e *event.Event, set func(name, value string)) {
	EachAttribute(e, func(name, value string) { set(name, EscapeHeader(value)) })
}

// Escape encodes the value of an attribute for a header, as section 3.1.3.2 of the HTTP
// binding of CloudEvents has it.
func EscapeHeader(value string) string {
	return PercentEncode(value, func(c byte) bool { return c > ' ' && c < 0x7f && c != '"' && c != '%' })
}

// Percent encodes each byte of a value that is not plain as in a URL: %2E is a dot.
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
