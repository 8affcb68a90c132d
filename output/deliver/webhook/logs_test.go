package webhook

import (
	"io"
	"net/http"
	"testing"

	logs "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/protobuf/proto"
)

// TestLogs checks that an OTLP receiver gets a log record, and that Send returns a RefusedError if the receiver rejects it.
func TestLogs(t *testing.T) {
	var got []*http.Request
	var bodies [][]byte
	responses := []string{"", "\x0a\x06\x08\x01\x12\x02no"}
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, bodies = append(got, r), append(bodies, body)
		w.Header().Set("Content-Type", "application/x-protobuf")
		io.WriteString(w, responses[len(got)-1])
	})
	w := to(t, address+"/v1/logs", func(o *Options) { o.Format = OTLPLogs })
	if err := w.Send(t.Context(), message()); err != nil {
		t.Fatal(err)
	}
	if err := w.Send(t.Context(), message()); kind(err) != "refused" || err.Error() != "the receiver rejected it: no" {
		t.Errorf("rejected record: got %s, %v, want refused", kind(err), err)
	}
	var data logs.LogsData
	if err := proto.Unmarshal(bodies[0], &data); err != nil {
		t.Fatal(err)
	}
	if r := got[0]; r.Method != http.MethodPost || r.URL.Path != "/v1/logs" || r.Header.Get("Content-Type") != "application/x-protobuf" ||
		r.Header.Get("Ce-Id") != "" || len(data.ResourceLogs) != 1 {
		t.Errorf("got request %s %s with headers %v and body %v", r.Method, r.URL, r.Header, &data)
	}
}
