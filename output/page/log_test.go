package page

import "testing"

// TestLogTaken: what a viewer took out of the log stays what it is, also when the log
// forgets it before the viewer has sent it.
func TestLogTaken(t *testing.T) {
	l := log{max: 1000}
	add := func() { l.add(&entry{seq: l.next(), head: make([]byte, 100)}) }
	for range 5 { // the first is forgotten already: there is room at the end
		add()
	}
	taken, held := l.after(1, 4)
	if !held || len(taken) != 4 {
		t.Fatalf("%d entries, held: %v", len(taken), held)
	}
	for range 3 {
		add()
	}
	if _, held := l.after(1, 4); held {
		t.Fatal("nothing was forgotten")
	}
	for i, e := range taken {
		if e == nil || e.seq != uint64(i+2) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}
