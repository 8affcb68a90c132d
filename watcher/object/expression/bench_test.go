package expression

import (
	"strings"
	"testing"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"dwatch/watcher/event"
)

// BenchmarkMatches evaluates expressions for events of a Pod of 9.7 KB.
func BenchmarkMatches(b *testing.B) {
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

// BenchmarkLazy compares the evaluation of an expression that reads two fields with decoding
// the complete object.
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
	complete := func() {
		var m map[string]any
		if err := utiljson.Unmarshal([]byte(pod), &m); err != nil {
			b.Fatal(err)
		}
	}
	var lazyTime, completeTime time.Duration // measured in turns, so other load affects both
	for b.Loop() {
		start := time.Now()
		lazy()
		between := time.Now()
		complete()
		lazyTime, completeTime = lazyTime+between.Sub(start), completeTime+time.Since(between)
	}
	b.ReportMetric(float64(lazyTime.Nanoseconds())/float64(b.N), "lazy-ns")
	b.ReportMetric(float64(completeTime.Nanoseconds())/float64(b.N), "whole-ns")
	b.ReportMetric(float64(lazyTime)/float64(completeTime), "lazy/whole")
}

// BenchmarkCompile measures creating the environment and compiling an expression.
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
