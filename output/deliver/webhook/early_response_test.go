package webhook

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dwatch/output/deliver"
)

// serveEarly returns the address of a server that responds as soon as it has read the headers of a request, and closes the
// connection.
func serveEarly(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer connection.Close()
				if _, err := http.ReadRequest(bufio.NewReader(connection)); err == nil {
					io.WriteString(connection, answer)
				}
			}()
		}
	}()
	return "http://" + listener.Addr().String()
}

// largeMessage returns a message with a body of several megabytes.
func largeMessage() *deliver.Message {
	m := message()
	m.Body = []byte(`{"object":"` + strings.Repeat("x", 8<<20) + `"}`)
	return m
}

// TestEarlyResponse checks that a response counts even if the receiver sends it before it has read a large body, and closes the
// connection.
func TestEarlyResponse(t *testing.T) {
	for code, want := range map[int]string{http.StatusRequestEntityTooLarge: "refused", http.StatusUnauthorized: "down 0s"} {
		w := to(t, serveEarly(t, fmt.Sprintf("HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code)), nil)
		for range 20 { // without Expect, the response or the reset may arrive first
			if err := w.Send(t.Context(), largeMessage()); kind(err) != want || !strings.Contains(err.Error(), fmt.Sprint(code)) {
				t.Fatalf("response %d: got %s, %v, want %s", code, kind(err), err, want)
			}
		}
	}
}

// TestExpect checks that only requests with a large body have the header Expect, and that a receiver that rejects the header does not
// get it again.
func TestExpect(t *testing.T) {
	var expects []string
	w := to(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		expects = append(expects, r.Header.Get("Expect"))
		if r.Header.Get("Expect") != "" && len(expects) > 2 {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		if n, err := io.Copy(io.Discard, r.Body); n != r.ContentLength || err != nil {
			t.Errorf("received %d of %d bytes, %v", n, r.ContentLength, err)
		}
	}), nil)
	for i, m := range []*deliver.Message{message(), largeMessage(), largeMessage(), largeMessage(), message()} {
		want := "delivered"
		if i == 2 {
			want = "again"
		}
		if err := w.Send(t.Context(), m); kind(err) != want {
			t.Errorf("request %d: got %s, %v, want %s", i, kind(err), err, want)
		}
	}
	if want := []string{"", "100-continue", "100-continue", "", ""}; !slices.Equal(expects, want) {
		t.Errorf("got headers %q, want %q", expects, want)
	}
}
