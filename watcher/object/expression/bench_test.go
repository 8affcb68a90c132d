package expression

import (
	"strings"
	"testing"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"dwatch/watcher/event"
)

// BenchmarkHolds evaluates expressions for events of a pod of 9.7 KB.
func BenchmarkHolds(b *testing.B) {
	pod := readPod(b)
	other := strings.Replace(pod, `"resourceVersion":"230"`, `"resourceVersion":"231"`, 1)
	other = strings.Replace(other, "the team that looks af", "another team that looks af", 1)
	e := modified(pod, other)
	for name, text := range map[string]string{
		"type":      "type == 'MODIFIED'",
		"field":     "object.status.phase == 'Pending'",
		"two":       "object.status.phase == 'Pending' && object.metadata.namespace == 'default'",
		"exists":    "object.spec.containers.exists(c, c.image.startsWith('registry'))",
		"optional":  "object.?status.?reason.orValue('') == ''",
		"missing":   "object.status.nope == 'x'",
		"different": "object.spec != old.spec || object.metadata != old.metadata",
		"matches":   "object.metadata.name.matches('^pod-[0-9]+$')",
		"changed":   "changed('metadata.annotations')",
		"changes":   "changes.size() > 0",
		"status":    "status(object) == 'InProgress'",
	} {
		b.Run(name, func(b *testing.B) {
			x, err := Compile(text)
			if err != nil {
				b.Fatal(err)
			}
			options := testOptions()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := x.Matches(NewInput(e, options)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLazy compares, in one run, an expression that looks at two fields with
// decoding the object, which it would cost to look at it otherwise.
func BenchmarkLazy(b *testing.B) {
	pod := readPod(b)
	e := event.Event{Type: event.Added, Object: object(pod)}
	x, err := Compile("object.status.phase == 'Running' && object.metadata.namespace == 'default'")
	if err != nil {
		b.Fatal(err)
	}
	lazy := func() {
		if _, err := x.Matches(NewInput(e, Options{})); err != nil {
			b.Fatal(err)
		}
	}
	whole := func() {
		var m map[string]any
		if err := utiljson.Unmarshal([]byte(pod), &m); err != nil {
			b.Fatal(err)
		}
	}
	var lazily, wholly time.Duration // in turns: other load on the machine falls on both
	for b.Loop() {
		start := time.Now()
		lazy()
		between := time.Now()
		whole()
		lazily, wholly = lazily+between.Sub(start), wholly+time.Since(between)
	}
	b.ReportMetric(float64(lazily.Nanoseconds())/float64(b.N), "lazy-ns")
	b.ReportMetric(float64(wholly.Nanoseconds())/float64(b.N), "whole-ns")
	b.ReportMetric(float64(lazily)/float64(wholly), "lazy/whole")
}

// BenchmarkCompile is what an expression costs at the start, with the environment and
// without.
func BenchmarkCompile(b *testing.B) {
	b.Run("environment", func(b *testing.B) {
		for b.Loop() {
			if _, err := newEnvironment(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("expression", func(b *testing.B) {
		for b.Loop() {
			if _, err := Compile("object.spec.containers.exists(c, c.image.startsWith('registry'))"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
