package page

import "testing"

// TestLogTaken tests that entries taken from the log stay unchanged when the log drops them.
func TestLogTaken(t *testing.T) {
	l := log{max: 1000}
	add := func() { l.add(&entry{seq: l.next(), head: make([]byte, 100)}) }
	for range 5 { // the last entry drops the first
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
		t.Fatal("nothing was dropped")
	}
	for i, e := range taken {
		if e == nil || e.seq != uint64(i+2) {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
}
