package live

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

// bigPod returns the pod of the watcher's benchmarks, which has 9.7 KB, with another name and version.
func bigPod(b *testing.B, name string, version int) event.Object {
	b.Helper()
	line, err := os.ReadFile("../../watcher/testdata/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	var read struct{ Object json.RawMessage }
	if err := json.Unmarshal(line, &read); err != nil {
		b.Fatal(err)
	}
	o := testobject.Parse(b, string(read.Object))
	text := strings.NewReplacer(`"`+o.Name+`"`, `"`+name+`"`, o.ResourceVersion, fmt.Sprint(version)).Replace(string(read.Object))
	return testobject.Parse(b, text).WithRow(`{` + podTable + `,"cells":["` + name + `","1/1","Running","` + fmt.Sprint(version) + `","5m","10.0.0.1","node-1"]}`)
}

// newFullScreen returns a screen of 160x45 with 10,000 pods of 10 KB.
func newFullScreen(b *testing.B) *screen {
	b.Helper()
	s := newScreen(b, 160, 45, nil)
	one := bigPod(b, "web-00000", 1)
	for i := range 10_000 {
		o := one
		identity := *one.Identity
		identity.Name = fmt.Sprintf("web-%05d", i)
		o.Identity = &identity
		s.deliver(initial(o))
	}
	s.deliver(synced())
	return s
}

// BenchmarkDeliver delivers an update of one of 10,000 pods.
func BenchmarkDeliver(b *testing.B) {
	s := newFullScreen(b)
	batch := []event.Event{modified(bigPod(b, "web-00005", 2)), modified(bigPod(b, "web-00005", 3))}
	for i := range batch {
		batch[i].Target, batch[i].Time = podsOf, s.clock
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := s.Deliver(b.Context(), batch[i%2:i%2+1]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFrame draws the visible part of 10,000 pods.
func BenchmarkFrame(b *testing.B) {
	s := newFullScreen(b)
	b.ReportAllocs()
	for b.Loop() {
		s.send(changedMsg{})
		if len(s.View().Content) < 1000 {
			b.Fatal("the frame is empty")
		}
	}
}

// BenchmarkProblems finds the problems of 10,000 pods, of which none, a tenth or all failed.
func BenchmarkProblems(b *testing.B) {
	for _, failed := range []int{0, 1000, 10_000} {
		b.Run(fmt.Sprint(failed), func(b *testing.B) {
			s := newScreen(b, 160, 45, nil)
			for i := range 10_000 {
				phase := "Running"
				if i < failed {
					phase = "Failed"
				}
				s.deliver(initial(pod(b, fmt.Sprintf("web-%05d", i), phase, 1)))
			}
			s.deliver(synced())
			b.ReportAllocs()
			for b.Loop() {
				s.clock = s.clock.Add(maxUpdateInterval)
				if len(s.problems.lines()) == 0 {
					b.Fatal("got no lines above the table")
				}
			}
		})
	}
}
