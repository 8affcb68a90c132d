package page

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestCoverageGaps tests the gaps of lost, denied and late watches.
func TestCoverageGaps(t *testing.T) {
	h := newHub()
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	tell := func(kind event.Type, ms int64) {
		e := event.Event{Type: kind, Target: pods, Err: errors.New("refused")}
		e.Time = at(ms)
		deliver(t, h, e)
	}
	says := func(from, to int64, want string) {
		t.Helper()
		h.mu.Lock()
		defer h.mu.Unlock()
		in := gapCollector{from: from, to: to}
		in.collect(h, "")
		if got := fmt.Sprint(in.all); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	h.clock = func() time.Time { return at(9000) }
	tell(event.Synced, 2000)
	says(1000, 8000, "[{pods  1000 2000}]")
	tell(event.Disconnected, 3000)
	says(2500, 8000, "[{pods  3000 8000}]")
	tell(event.Denied, 4000)
	tell(event.Reconnected, 5000)
	says(2500, 8000, "[{pods  3000 5000}]")
	says(5000, 8000, "[]")
	tell(event.Gone, 6000) // there is nothing to be seen
	tell(event.Arrived, 7000)
	tell(event.Synced, 7500)
	says(5000, 8000, "[{pods  7000 7500}]")
	h.ofPast = &Coverage{Gaps: []Gap{{From: at(100), To: at(300), Reason: "it did not run"}}}
	says(200, 8000, "[{ it did not run 200 300}]")
}
