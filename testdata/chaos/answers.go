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

// statusOf is what the API server says when it refuses a request.
func statusOf(code int, reason metav1.StatusReason, message string) []byte {
	text, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
	if err != nil {
		panic(err) // it holds nothing but strings and a number
	}
	return text
}

func respond(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	w.Write(statusOf(code, reason, message))
}

// refuses is a handler that answers as the API server does.
func refuses(code int, reason metav1.StatusReason, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { respond(w, code, reason, message) }
}

var (
	gone        = refuses(http.StatusGone, metav1.StatusReasonExpired, "too old resource version: 1 (2)")
	unsupported = refuses(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
		"ListOptions is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled")
	// goneEvent is how a watch says the same once it is open.
	goneEvent = fmt.Sprintf(`{"type":"ERROR","object":%s}`+"\n",
		statusOf(http.StatusGone, metav1.StatusReasonExpired, "too old resource version: 1 (2)"))
)

// tooMany asks the client to come again in a second.
func tooMany(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "1")
	respond(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests, please try again later")
}

// webPage is a handler that answers as load balancers do.
func webPage(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(code)
		fmt.Fprintf(w, "<html>\n<body><h1>%d</h1></body>\n</html>\n", code)
	}
}

// empty answers with nothing that is said to be JSON.
func empty(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
}

// otherJSON is JSON, but not of the API.
func otherJSON(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"status":"ok"}`+"\n")
}

// redirect leads in circles.
func redirect(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
}

// garbled says that it is compressed, which stops being true half-way.
func garbled(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	z := gzip.NewWriter(&text)
	io.WriteString(z, strings.Repeat(`{"type":"ADDED","object":{"kind":`, 1000))
	z.Close()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Encoding", "gzip")
	w.Write(append(text.Bytes()[:text.Len()/2], "<html>"...))
}

// tooShort promises more than it sends.
func tooShort(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", "100000")
	io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
}

// abort takes the request and breaks the connection.
func abort(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// headersOnly answers well, and breaks the connection before the body.
func headersOnly(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// smallPages changes a request for a list to one in pages of three.
func smallPages(_ http.ResponseWriter, r *http.Request) {
	values := r.URL.Query()
	if values.Get("limit") == "" {
		return
	}
	values.Set("limit", "3")
	r.URL.RawQuery = values.Encode()
}

// goAway ends the connection after the answer: HTTP/2 says GOAWAY.
func goAway(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") }

// replaceFile writes a file in one step: a reader sees the old or the new one.
func replaceFile(path, content string) error {
	temp := filepath.Join(filepath.Dir(path), ".new-"+filepath.Base(path))
	if err := os.WriteFile(temp, []byte(content), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
