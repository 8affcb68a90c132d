package lookup

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestRemembered: what is remembered has a bound, what was read longest ago goes first, and of what is forgotten
// nobody takes for known what a container was started with.
func TestRemembered(t *testing.T) {
	s, began := newSecrets(), time.Date(2026, 1, 31, 9, 0, 0, 0, time.UTC)
	w := written{created: began.Add(-time.Hour), last: began.Add(-time.Hour)}
	of := func(n int) named { return named{"shop", fmt.Sprint("s", n)} }
	of1 := []run{{pod: "a", container: "web", began: began}}
	value := func(n int) secretValues { return secretValues{fmt.Sprint("value", n): fmt.Sprintf("<s%d/k>", n)} }
	for n := range maxKnown {
		s.add(of(n), value(n), w, of1)
	}
	s.add(of(0), value(0), w, of1)               // again
	s.add(of(maxKnown), value(maxKnown), w, of1) // one too many
	if len(s.known) != maxKnown || s.has(of(1)) != nil || s.has(of(0)) == nil || s.has(of(maxKnown)) == nil {
		t.Errorf("%d are known; the first %v, the second %v, the last %v", len(s.known), s.has(of(0)), s.has(of(1)), s.has(of(maxKnown)))
	}
	// The one that was forgotten has another value now.
	later := written{created: w.created, last: began.Add(time.Minute)}
	if all := s.add(of(1), value(1000), later, of1); len(all) != 1 {
		t.Errorf("%v", all)
	}
	if known, asked := s.isKnown(of(1), of1[0]); known || !asked {
		t.Error("what the container was started with is taken for known")
	}

	// One that has other values every day.
	large := func(n int) secretValues { return secretValues{fmt.Sprint(n) + strings.Repeat("x", 1<<20): "<s/k>"} }
	for n := range 3 * maxOfOne >> 20 {
		s.add(of(0), large(n), w, of1)
		if size := s.known[of(0)].size; size > maxOfOne {
			t.Fatalf("one has %d bytes", size)
		}
	}
	for n := range 2 * maxRemembered >> 20 {
		s.add(of(n), large(n), w, of1)
	}
	size := 0
	for _, one := range s.known {
		for value := range one.values {
			size += len(value)
		}
	}
	if size != s.size || size > maxRemembered {
		t.Errorf("it has %d bytes, and takes them for %d", size, s.size)
	}
	for n := range 2 * maxBegins {
		s.add(of(0), value(0), w, []run{{pod: types.UID(fmt.Sprint(n)), began: began}})
	}
	if one := s.known[of(0)]; len(one.begins) != maxBegins || len(one.runs) != maxBegins {
		t.Errorf("%d begins of %d runs", len(one.begins), len(one.runs))
	}
}
