package recording

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/testdata/object"
	"dwatch/watcher/event"
)

// TestIdleFlush checks that the last events are flushed to the file a second later without another delivery. A run that is
// killed earlier loses them.
func TestIdleFlush(t *testing.T) {
	for _, isFlushed := range []bool{false, true} {
		dir := t.TempDir()
		r := begunRun(t, dir)
		deliver(t, r, of(t, event.Modified, "web", 2, 10))
		next := of(t, event.Modified, "web", 3, 10)
		next.Time = at(10).Add(500 * time.Millisecond)
		deliver(t, r, next)
		if isFlushed {
			r.checkIdle(at(11))
		}
		r.release()
		got, _ := played(t, read(t, dir), Query{})
		if has := strings.Contains(fmt.Sprint(got), "MODIFIED web 3"); has != isFlushed {
			t.Errorf("flushed %t: got %q, want the last event: %t", isFlushed, got, isFlushed)
		}
		if !strings.Contains(fmt.Sprint(got), "MODIFIED web 2") {
			t.Errorf("flushed %t: got %q, want the first event", isFlushed, got)
		}
	}
}

// TestChunks checks that lines and frames longer than chunkBytes are read completely, with and without the index of the segment.
// Damage must cost only the lines after the last checksum before it.
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
	checkComplete := func(dir string) {
		t.Helper()
		got, proof := played(t, read(t, dir), Query{})
		for n := range changes {
			if !strings.Contains(fmt.Sprint(got), fmt.Sprintf("MODIFIED web %d", n+2)) {
				t.Fatalf("change %d is missing: got %q, damage %v", n+2, got, proof.Damage)
			}
		}
	}
	checkComplete(dir)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	checkComplete(dir)
	damaged := copyOf(t, dir, func(data []byte) []byte {
		data[len(data)*3/4] ^= 0x55
		return data
	})
	got, proof := played(t, read(t, damaged), Query{})
	if len(got) < 10 || len(proof.Damage) == 0 || proof.IsComplete() {
		t.Errorf("damaged: got %d events, damage %v, complete %t, want at least 10 events and a report of the damage", len(got), proof.Damage, proof.IsComplete())
	}
	if files, _, err := list(damaged); err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
}
