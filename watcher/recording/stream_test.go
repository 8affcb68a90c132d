package recording

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/testdata/object"
	"dwatch/watcher/event"
)

// TestSettles: what was delivered last, and not given to the system yet, is so a second later, without
// another delivery; a run that is killed before has lost it.
func TestSettles(t *testing.T) {
	for _, settles := range []bool{false, true} {
		dir := t.TempDir()
		r := begunRun(t, dir)
		deliver(t, r, of(t, event.Modified, "web", 2, 10))
		next := of(t, event.Modified, "web", 3, 10)
		next.Time = at(10).Add(500 * time.Millisecond)
		deliver(t, r, next)
		if settles {
			r.checkIdle(at(11))
		}
		r.release()
		got, _ := played(t, read(t, dir), Query{})
		if is := strings.Contains(fmt.Sprint(got), "MODIFIED web 3"); is != settles {
			t.Errorf("settled %t: %q", settles, got)
		}
		if !strings.Contains(fmt.Sprint(got), "MODIFIED web 2") {
			t.Errorf("%q", got)
		}
	}
}

// TestChunks: lines that are longer than what is decompressed at once, and frames that are, are read as they
// were, whether the segment has its end or not. Damage costs what follows the last sum before it.
func TestChunks(t *testing.T) {
	dir := t.TempDir()
	r := begunRun(t, dir)
	long := strings.Repeat("0123456789abcdef", 3*chunkBytes/2/16)
	const changes = 40
	for n := range changes {
		e := of(t, event.Modified, "web", n+2, n+10)
		data := fmt.Sprint(n)
		if n%10 == 0 {
			data = long + data
		}
		e.Object = object.Parse(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web","namespace":"a","resourceVersion":"%d","uid":"u-web"},"data":{"n":%q}}`, n+2, data))
		deliver(t, r, e)
	}
	whole := func(dir string) {
		t.Helper()
		got, proof := played(t, read(t, dir), Query{})
		for n := range changes {
			if !strings.Contains(fmt.Sprint(got), fmt.Sprintf("MODIFIED web %d", n+2)) {
				t.Fatalf("%d is missing: %q %v", n+2, got, proof.Damage)
			}
		}
	}
	whole(dir)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	whole(dir)
	damaged := copyOf(t, dir, func(data []byte) []byte {
		data[len(data)*3/4] ^= 0x55
		return data
	})
	got, proof := played(t, read(t, damaged), Query{})
	if len(got) < 10 || len(proof.Damage) == 0 || proof.IsComplete() {
		t.Errorf("%d lines, %v", len(got), proof.Damage)
	}
	if files, _, err := list(damaged); err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
}
