package codec

import (
	"io"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
)

// BenchmarkWatch decodes a watch event with a pod of 10 KB as an API server sends it, with the
// framer and serializers of the stock dynamic client and with those of this package.
func BenchmarkWatch(b *testing.B) {
	line, err := os.ReadFile("../testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	stock := dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	sideBySide(b, stock, func(b *testing.B, serializer runtime.NegotiatedSerializer) {
		objects, frames, framer, err := runtime.NewClientNegotiator(serializer, schema.GroupVersion{}).StreamDecoder(runtime.ContentTypeJSON, nil)
		if err != nil {
			b.Fatal(err)
		}
		body := io.NopCloser(&again{text: append(line, '\n')})
		decoder := restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(body), frames), objects)
		b.SetBytes(int64(len(line)))
		for b.Loop() {
			if _, _, err := decoder.Decode(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkList decodes a page of 500 such pods.
func BenchmarkList(b *testing.B) {
	line, err := os.ReadFile("../testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[`)
	for i := range 500 {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, line[len(`{"type":"ADDED","object":`):len(line)-1]...)
	}
	text = append(text, "]}"...)
	stock := dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	sideBySide(b, stock, func(b *testing.B, serializer runtime.NegotiatedSerializer) {
		decoder, err := runtime.NewClientNegotiator(serializer, schema.GroupVersion{}).Decoder(runtime.ContentTypeJSON, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if err := runtime.DecodeInto(decoder, text, &unstructured.UnstructuredList{}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// sideBySide measures the stock serializers and those of this package, and reports the ratio.
func sideBySide(b *testing.B, stock runtime.NegotiatedSerializer, measure func(*testing.B, runtime.NegotiatedSerializer)) {
	var reference time.Duration
	for _, test := range []struct {
		name       string
		serializer runtime.NegotiatedSerializer
	}{{"stock", stock}, {"raw", negotiated{stock, scanner{}}}, {"raw,managedFields", negotiated{stock, scanner{keepManagedFields: true}}}} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			measure(b, test.serializer)
			took := b.Elapsed() / time.Duration(b.N)
			if test.name == "stock" {
				reference = took
			} else if reference > 0 {
				b.ReportMetric(float64(took)/float64(reference), "ratio/stock")
			}
		})
	}
}

// again repeats a text forever.
type again struct {
	text []byte
	at   int
}

func (a *again) Read(p []byte) (int, error) {
	n := copy(p, a.text[a.at:])
	a.at = (a.at + n) % len(a.text)
	return n, nil
}
