package changes

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

// BenchmarkModified shows an update of the pod of the watcher's benchmarks (9.7 KB) with one changed annotation.
func BenchmarkModified(b *testing.B) {
	line, err := os.ReadFile("../../watcher/testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	var read struct{ Object json.RawMessage }
	if err := json.Unmarshal(line, &read); err != nil {
		b.Fatal(err)
	}
	before := string(read.Object)
	after := strings.NewReplacer(`"example.com/owner":"`, `"example.com/owner":"not `, `"resourceVersion":"`, `"resourceVersion":"9`).Replace(before)
	if before == after {
		b.Fatal("the objects are equal")
	}
	batch := []event.Event{{Type: event.Modified, Target: deployments, Time: at, Old: testobject.Parse(b, before), Object: testobject.Parse(b, after)}}
	v := New(io.Discard, options(120))
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Deliver(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	if v.Shown() == 0 {
		b.Fatal("nothing shown")
	}
}
