package webhook

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkSend sends an event of 5 KB. The difference to BenchmarkPost is the cost of a CloudEvent.
func BenchmarkSend(b *testing.B) {
	m := message()
	m.Body = []byte(`{"a":"` + strings.Repeat("x", 5<<10) + `"}` + "\n")
	w := to(b, serve(b, swallow), nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Send(b.Context(), m); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPost posts the same body with net/http.
func BenchmarkPost(b *testing.B) {
	body := []byte(`{"a":"` + strings.Repeat("x", 5<<10) + `"}` + "\n")
	address := serve(b, swallow)
	b.ReportAllocs()
	for b.Loop() {
		answer, err := http.Post(address, "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		answer.Body.Close()
	}
}

func swallow(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusNoContent)
}
