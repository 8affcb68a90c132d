package lookup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestCacheIsBounded checks that the cache is bounded, that it evicts the least recently read Secret, and that isKnown is false
// for evicted values.
func TestCacheIsBounded(t *testing.T) {
	s, began := newSecretCache(), time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	w := written{created: began.Add(-time.Hour), last: began.Add(-time.Hour)}
	of := func(n int) secretName { return secretName{"shop", fmt.Sprint("s", n)} }
	of1 := []run{{pod: "a", container: "web", began: began}}
	value := func(n int) secretValues { return secretValues{fmt.Sprint("value", n): fmt.Sprintf("<s%d/k>", n)} }
	for n := range maxCachedSecrets {
		s.add(of(n), value(n), w, of1)
	}
	s.add(of(0), value(0), w, of1)                               // again
	s.add(of(maxCachedSecrets), value(maxCachedSecrets), w, of1) // exceeds the limit
	if len(s.known) != maxCachedSecrets || s.get(of(1)) != nil || s.get(of(0)) == nil || s.get(of(maxCachedSecrets)) == nil {
		t.Errorf("got %d cached Secrets, want %d and only the second evicted; the first is %v, the second %v, the last %v", len(s.known), maxCachedSecrets, s.get(of(0)), s.get(of(1)), s.get(of(maxCachedSecrets)))
	}
	// The evicted Secret has another value now.
	later := written{created: w.created, last: began.Add(time.Minute)}
	if all := s.add(of(1), value(1000), later, of1); len(all) != 1 {
		t.Errorf("got values %v, want only the new one", all)
	}
	if known, wasRead := s.isKnown(of(1), of1[0]); known || !wasRead {
		t.Error("evicted values are reported as known")
	}

	// A Secret whose values change every day.
	large := func(n int) secretValues { return secretValues{fmt.Sprint(n) + strings.Repeat("x", 1<<20): "<s/k>"} }
	for n := range 3 * maxSecretBytes >> 20 {
		s.add(of(0), large(n), w, of1)
		if size := s.known[of(0)].size; size > maxSecretBytes {
			t.Fatalf("a Secret has %d cached bytes, want at most %d", size, maxSecretBytes)
		}
	}
	for n := range 2 * maxCachedBytes >> 20 {
		s.add(of(n), large(n), w, of1)
	}
	size := 0
	for _, one := range s.known {
		for value := range one.values {
			size += len(value)
		}
	}
	if size != s.size || size > maxCachedBytes {
		t.Errorf("the cache contains %d bytes, want at most %d and equal to its size %d", size, maxCachedBytes, s.size)
	}
	for n := range 2 * maxRuns {
		s.add(of(0), value(0), w, []run{{pod: types.UID(fmt.Sprint(n)), began: began}})
	}
	if one := s.known[of(0)]; len(one.begins) != maxRuns || len(one.runs) != maxRuns {
		t.Errorf("got %d begins and %d runs, want %d", len(one.begins), len(one.runs), maxRuns)
	}
}
