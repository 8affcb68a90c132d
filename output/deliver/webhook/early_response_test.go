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

// early returns the address of a receiver that answers each request as soon as its headers
// are there, and closes the connection.
func early(t *testing.T, answer string) string {
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

// large is a message with a body of several megabytes.
func large() *deliver.Message {
	m := message()
	m.Body = []byte(`{"object":"` + strings.Repeat("x", 8<<20) + `"}`)
	return m
}

// TestEarlyAnswer: a receiver that answers before it has read a large body, and closes the
// connection, has answered all the same.
func TestEarlyAnswer(t *testing.T) {
	for code, want := range map[int]string{http.StatusRequestEntityTooLarge: "refused", http.StatusUnauthorized: "down 0s"} {
		w := to(t, early(t, fmt.Sprintf("HTTP/1.1 %d No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", code)), nil)
		for range 20 { // what came first, the answer or the reset, was chance
			if err := w.Send(t.Context(), large()); kind(err) != want || !strings.Contains(err.Error(), fmt.Sprint(code)) {
				t.Fatalf("%d: %s %v", code, kind(err), err)
			}
		}
	}
}

// TestExpect: a large body waits for a word of the receiver, and others do not. One that
// does not take the question gets it no more.
func TestExpect(t *testing.T) {
	var asked []string
	w := to(t, serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Expect"))
		if r.Header.Get("Expect") != "" && len(asked) > 2 {
			w.WriteHeader(http.StatusExpectationFailed)
			return
		}
		if n, err := io.Copy(io.Discard, r.Body); n != r.ContentLength || err != nil {
			t.Errorf("%d of %d bytes, %v", n, r.ContentLength, err)
		}
	}), nil)
	for i, m := range []*deliver.Message{message(), large(), large(), large(), message()} {
		want := "delivered"
		if i == 2 {
			want = "again"
		}
		if err := w.Send(t.Context(), m); kind(err) != want {
			t.Errorf("%d: %s %v", i, kind(err), err)
		}
	}
	if want := []string{"", "100-continue", "100-continue", "", ""}; !slices.Equal(asked, want) {
		t.Errorf("%q, want %q", asked, want)
	}
}
