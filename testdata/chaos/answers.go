package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusOf returns a Status of a failure, as the API server sends it when it refuses a request.
func statusOf(code int, reason metav1.StatusReason, message string) []byte {
	text, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
	if err != nil {
		panic(err) // impossible: only strings and a number
	}
	return text
}

func respond(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(statusOf(code, reason, message))
}

// refuses returns a handler that answers with a Status of the API server.
func refuses(code int, reason metav1.StatusReason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { respond(w, code, reason, message) }
}

var (
	gone        = refuses(http.StatusGone, metav1.StatusReasonExpired, "too old resource version: 1 (2)")
	unsupported = refuses(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
		"ListOptions is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
	// goneEvent is the ERROR event with which an open watch reports the same as gone.
	goneEvent = fmt.Sprintf(`{"type":"ERROR","object":%s}`+"\n",
		statusOf(http.StatusGone, metav1.StatusReasonExpired, "too old resource version: 1 (2)"))
)

// tooMany asks the client to retry after a second.
func tooMany(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "1")
	respond(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later")
}

// webPage returns a handler that answers with HTML, as load balancers do.
func webPage(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		fmt.Fprintf(w, "<html>\n<body><h1>%d</h1></body>\n</html>\n", code)
	}
}

// empty answers with an empty body whose Content-Type is JSON.
func empty(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
}

// otherJSON answers with JSON that is not a Kubernetes object.
func otherJSON(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"status":"ok"}`+"\n")
}

// redirect answers with a redirect. The rule also applies to its target, so the client is redirected forever.
func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
}

// garbled answers with a gzip body whose second half is replaced by HTML.
func garbled(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	io.WriteString(z, strings.Repeat(`{"type":"ADDED","object":{"kind":`, 1000))
	z.Close()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	w.Write(append(text.Bytes()[:text.Len()/2], "<html>"...))
}

// tooShort sends less than its Content-Length.
func tooShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "100000")
	io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
}

// abort accepts the request and breaks the connection.
func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// headersOnly sends 200 and the headers, and breaks the connection before the body.
func headersOnly(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// smallPages changes an unpaged list request to one with pages of three objects.
func smallPages(_ http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	if values.Get("limit") == "" {
		return
	}
	values.Set("limit", "3")
	r.URL.RawQuery = values.Encode()
}

// goAway closes the connection after the answer. With HTTP/2, the server sends GOAWAY.
func goAway(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }

// replaceFile writes a file atomically: readers see either the old or the new content.
func replaceFile(path, content string) error {
	temp := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	if err := os.WriteFile(temp, []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
