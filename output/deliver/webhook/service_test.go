package webhook

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestServiceResponses checks that a failure in the body of a 200 is an error, for the services that are known to respond like that.
func TestServiceResponses(t *testing.T) {
	t.Parallel()
	const teamsFailed = "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error "
	const page = "\n<!DOCTYPE html><title>log in</title>"
	for _, test := range []struct{ service, body, want, message string }{
		{"teams", "1", "delivered", ""},
		{"teams", "", "delivered", ""},
		{"teams", teamsFailed + "429 with ContextId tcid=0", "down 0s", "HTTP 200 OK, but Teams reports HTTP 429 Too Many Requests"},
		{"teams", teamsFailed + "413 with ContextId tcid=0", "refused", "HTTP 200 OK, but Teams reports HTTP 413 Request Entity Too Large"},
		{"teams", teamsFailed + "400 with ContextId tcid=0", "refused", ""},
		{"teams", teamsFailed + "502 with ContextId tcid=0", "again", ""},
		{"teams", "Webhook message delivery failed", "again", ""},
		{"teams", page, "again", ""},
		{"slack", "ok", "delivered", ""},
		{"slack", "", "delivered", ""},
		{"slack", `{"ok":true}`, "delivered", ""},
		{"slack", `{"ok":false,"error":"ratelimited"}`, "down 0s", `HTTP 200 OK, but Slack reports "ratelimited"`},
		{"slack", `{"ok":false,"error":"internal_error"}`, "again", ""},
		{"slack", `{"ok":false,"error":"channel_not_found"}`, "refused", ""},
		{"slack", page, "again", ""},
		{"discord", `{"id":"1"}`, "delivered", ""},
		{"discord", page, "again", ""},
		{"grafana", `{"message":"Annotation added","id":1}`, "delivered", ""},
		{"grafana", "<html>", "again", ""},
		{"", teamsFailed + "429", "delivered", ""},
		{"", page, "delivered", ""},
	} {
		address := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, test.body) })
		err := to(t, address, func(o *Options) { o.Service = test.service }).Send(t.Context(), message())
		if got := kind(err); got != test.want || err != nil && !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s responds %q: got %s (%v), want %s (%s)", test.service, test.body, got, err, test.want, test.message)
		}
	}
}
