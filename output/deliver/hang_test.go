package deliver

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
)

// TestHangingAttempts checks how long attempts that hang delay other objects: not at all while a worker is free, and otherwise not
// longer than Deadline and the first backoff, also with a rate.
func TestHangingAttempts(t *testing.T) {
	const deadline = 30 * time.Second
	for _, test := range []struct {
		name                string
		workers, hung, good int
		rate                float64
		late                time.Duration // the longest delay of a good object
	}{
		{name: "a worker is free", workers: 8, hung: 1, good: 100},
		{name: "one worker is free, with a rate", workers: 2, hung: 1, good: 20, rate: 1, late: 21 * time.Second},
		{name: "no worker is free", workers: 8, hung: 8, good: 100, late: deadline + firstBackoff},
		{name: "the only worker", workers: 1, hung: 1, good: 10, late: deadline},
		{name: "the only worker, with a rate", workers: 1, hung: 1, good: 10, rate: 1, late: deadline + 11*time.Second},
		{name: "more than there are workers", workers: 2, hung: 3, good: 20, late: 2*deadline + firstBackoff},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := func(m *Message, _ int) error {
				if strings.HasPrefix(m.Name, "hung") {
					time.Sleep(deadline)
					return context.DeadlineExceeded
				}
				return nil
			}
			inBubble(t, Options{Workers: test.workers, Rate: test.rate, Deadline: deadline}, answer, func(t *testing.T, r *running) {
				var events []event.Event
				for i := range test.hung {
					events = append(events, of(fmt.Sprint("hung", i), i+1))
				}
				for i := range test.good {
					events = append(events, of(fmt.Sprint("good", i), 1000+i))
				}
				r.deliver(t, events...)
				await(5 * time.Minute)
				good := 0
				for _, try := range r.all() {
					if try.taken {
						good++
						if try.at > test.late {
							t.Errorf("%s was delivered after %v, want at most %v", try.name, try.at, test.late)
						}
					}
				}
				if good != test.good {
					t.Errorf("%d of %d objects were delivered", good, test.good)
				}
			})
		})
	}
}
