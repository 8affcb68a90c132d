package codec_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/output"
	"dwatch/testdata/object"
	"dwatch/watcher/event"
)

// BenchmarkPrint prints an event with a pod as dwatch does, and as a program would that decodes the
// whole object.
func BenchmarkPrint(b *testing.B) {
	line, err := os.ReadFile("../testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	text := bytes.TrimSuffix(bytes.TrimPrefix(line, []byte(`{"type":"ADDED","object":`)), []byte("}"))
	var full unstructured.Unstructured
	if err := full.UnmarshalJSON(text); err != nil {
		b.Fatal(err)
	}
	pod := object.Parse(b, string(text))
	var reference time.Duration
	b.Run("encoding/json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := json.NewEncoder(io.Discard).Encode(map[string]any{"type": event.Added, "object": full.Object}); err != nil {
				b.Fatal(err)
			}
		}
		reference = b.Elapsed() / time.Duration(b.N)
	})
	b.Run("dwatch", func(b *testing.B) {
		b.ReportAllocs()
		printer, err := output.New(io.Discard, output.Options{})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := printer.Deliver(b.Context(), []event.Event{{Type: event.Added, Object: pod}}); err != nil {
				b.Fatal(err)
			}
		}
		if reference > 0 {
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(reference), "ratio/json")
		}
	})
}
