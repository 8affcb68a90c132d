package webhook

import (
	"io"
	"net/http"
	"testing"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"
)

// TestLogs: a receiver of OpenTelemetry gets a record, and what it rejects is refused.
func TestLogs(t *testing.T) {
	var got []*http.Request
	var bodies [][]byte
	answers := []string{"", "\x0a\x06\x08\x01\x12\x02no"}
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, bodies = append(got, r), append(bodies, body)
		w.Header().Set("Content-Type", "application/x-protobuf")
		io.WriteString(w, answers[len(got)-1])
	})
	w := to(t, address+"/v1/logs", func(o *Options) { o.Format = OTLPLogs })
	if err := w.Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	if err := w.Send(t.Context(), message()); kind(err) != "refused" || err.Error() != "the receiver rejected it: no" {
		t.Errorf("%s: %v", kind(err), err)
	}
	var data logs.LogsData
	if err := proto.Unmarshal(bodies[0], &data); err != nil {
		t.Fatal(err)
	}
	if r := got[0]; r.Method != http.MethodPost || r.URL.Path != "/v1/logs" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		r.Header.Get("Ce-Id") != "" || len(data.ResourceLogs) != 1 {
		t.Errorf("%s %s %v %v", r.Method, r.URL, r.Header, &data)
	}
}
