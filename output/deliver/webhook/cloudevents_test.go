package webhook

import (
	"maps"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/client"
	"github.com/cloudevents/sdk-go/v2/event"
	protocol "github.com/cloudevents/sdk-go/v2/protocol/http"
	"github.com/google/go-cmp/cmp"

	"dwatch/output/deliver"
)

// received sends a message to a receiver of the CloudEvents SDK, and returns the event that this receives.
func received(t *testing.T, m *deliver.Message, structured bool) event.Event {
	t.Helper()
	p, err := protocol.New()
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan event.Event, 1)
	handler, err := client.NewHTTPReceiveHandler(t.Context(), p, func(e event.Event) { got <- e })
	if err != nil {
		t.Fatal(err)
	}
	if err := to(t, serve(t, handler.ServeHTTP), func(o *Options) { o.Format = form(structured) }).Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return <-got
}

// form returns the format for the structured or the binary mode.
func form(structured bool) Format {
	if structured {
		return Structured
	}
	return Binary
}

// TestCloudEvents checks that a receiver of the CloudEvents SDK gets the attributes and data of an event.
func TestCloudEvents(t *testing.T) {
	want := map[string]any{
		"id":              "uid-1/7/MODIFIED",
		"source":          "urn:uuid:5b1f6a0e-0000-4000-8000-000000000000",
		"specversion":     "1.0",
		"type":            "io.dwatch.resource.modified",
		"subject":         "/apis/apps/v1/namespaces/default/deployments/web",
		"datacontenttype": "application/json",
		"time":            time.Date(2026, 1, 31, 9, 0, 0, 250e6, time.UTC),
		"apiversion":      "apps/v1",
		"kind":            "Deployment",
		"namespace":       "default",
		"name":            "web",
		"uid":             "uid-1",
		"resourceversion": "7",
		"partitionkey":    "/apis/apps/v1/namespaces/default/deployments/web",
		"data":            string(message().Body),
	}
	for _, structured := range []bool{false, true} {
		e := received(t, message(), structured)
		if err := e.Validate(); err != nil {
			t.Errorf("structured %t: %v", structured, err)
		}
		got := map[string]any{
			"id": e.ID(), "source": e.Source(), "specversion": e.SpecVersion(), "type": e.Type(), "subject": e.Subject(),
			"datacontenttype": e.DataContentType(), "time": e.Time(), "data": string(e.Data()),
		}
		for name, value := range e.Extensions() {
			got[name] = value
		}
		expected := want
		if structured { // the data is a part of the document, without a newline
			expected = maps.Clone(want)
			expected["data"] = `{"type":"MODIFIED","object":{"a":"<&>"}}`
		}
		if diff := cmp.Diff(expected, got); diff != "" {
			t.Errorf("structured %t: %s", structured, diff)
		}
	}
}

// TestCloudEventsYAML checks that data that is not JSON arrives unchanged, also as a string of a structured event.
func TestCloudEventsYAML(t *testing.T) {
	for _, structured := range []bool{false, true} {
		m := message()
		m.Body = []byte("type: MODIFIED\nobject:\n  a: <&>\n")
		e := received(t, m, structured)
		if e.DataContentType() != "application/yaml" || string(e.Data()) != string(m.Body) {
			t.Errorf("structured %t: got %s %q, want application/yaml %q", structured, e.DataContentType(), e.Data(), m.Body)
		}
	}
}
