package page

import "testing"

// TestLogTaken: what a viewer took out of the log stays what it is, also when the log
// forgets it before the viewer has sent it.
func TestLogTaken(t *testing.T) {
	l := log{max: 1000}
	add := func() { l.add(&entry{seq: l.next(), head: make([]byte, 100)}) }
	for range 4 {
		add()
	}
	taken, held := l.after(0, 4)
	if !held || len(taken) != 4 {
		t.Fatalf("%d entries, held: %v", len(taken), held)
	}
	for range 10 {
		add()
	}
	if _, held := l.after(0, 4); held {
		t.Fatal("nothing was forgotten")
	}
	for i, e := range taken {
		if e == nil || e.seq != uint64(i+1) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}
