package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestGarble checks that no event follows a bookmark that replaced an event. The client would otherwise skip the replaced
// event, and the proxy alone would have caused the loss.
func TestGarble(t *testing.T) {
	t.Parallel()
	for _, text := range garbage {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		if err != nil {
			t.Fatal(err)
		}
		response := &http.Response{Request: request, Body: io.NopCloser(strings.NewReader("first\nsecond\n"))}
		b := newBody(query{kind: resume}, response, []editor{garble(text)()}, func(*body) {})
		got := make([]byte, len(text))
		if _, err := io.ReadFull(b, got); err != nil || string(got) != text {
			t.Errorf("%q, %v; want %q", got, err, text)
		}
		want := "second\n"
		if strings.Contains(text, "BOOKMARK") {
			want = ""
			cancel() // or it would wait
		}
		if rest, _ := io.ReadAll(b); string(rest) != want {
			t.Errorf("after %q comes %q, want %q", text, rest, want)
		}
		b.Close()
		cancel()
	}
}
