package deliver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dwatch/output"
)

// longestReason is the maximum number of characters of an error in a message.
const longestReason = 300

// Stats has the counters of a Queue.
type Stats struct {
	// Delivered, Failed and Refused count attempts by their result. Retried counts the attempts after the first one of a message.
	Delivered, Failed, Refused, Retried int
	// GivenUp counts messages that were given up, and Merged messages that a later one replaced.
	GivenUp, Merged int
	// Waiting is the number of waiting messages, Bytes their size, and Oldest the age of the oldest one.
	Waiting int
	Bytes   int64
	Oldest  time.Duration
	// Reached is true if the receiver has ever answered, and Down if it accepts no messages at present. Full is true from when
	// there is no room for another message until half of the room is free.
	Reached, Down, Full bool
}

// status is the state of the delivery. Its fields are the values of one status line.
type status struct {
	Stats
	condition
	name       string        // of the receiver
	subject    string        // the Subject of the message that failed last
	next       time.Duration // until the next retry
	worksAgain bool          // true after a reported failure has ended
	ofRule     bool          // true if the Queue belongs to a rule, so that backpressure affects only that
}

// condition has the parts of the status whose changes are logged.
type condition struct {
	failing, down, full bool
	reason              string
}

func (q *Queue) status() status {
	now := q.schedule
	now.mu.Lock()
	defer now.mu.Unlock()
	s := status{Stats: now.Stats, name: q.Name, subject: now.failure.subject, ofRule: q.Rule != "", condition: condition{now.Down, now.Down, now.Full, ""}}
	s.Reached = s.Delivered+s.Refused > 0
	next := moment(-1)
	for _, o := range now.objects {
		s.failing = s.failing || o.failing
		s.Oldest = max(s.Oldest, now.since(o.items[0].queued))
		if o.state == waits && (next < 0 || o.next < next) {
			next = o.next
		}
	}
	if s.Down {
		next = now.momentOf(now.outage.next)
	}
	if next >= 0 {
		s.next = max(0, -now.since(next))
	}
	if s.failing && now.failure.err != nil {
		s.reason = explain(now.failure.err)
	}
	return s
}

// String returns a line such as "delivering to NAME: exit status 1, 214 waiting, oldest 3 min, next try in 16 s".
func (s status) String() string {
	return "delivering to " + s.name + ": " + strings.Join(s.words(), ", ")
}

func (s status) words() (words []string) {
	if s.worksAgain {
		words = append(words, "works again")
	}
	switch {
	case s.Down:
		words = append(words, s.reason)
	case s.failing:
		words = append(words, s.subject+": "+s.reason)
	}
	if s.Waiting == 0 {
		return append(words, "nothing waits")
	}
	words = append(words, fmt.Sprintf("%d waiting", s.Waiting), "oldest "+span(s.Oldest))
	if s.Merged > 0 {
		words = append(words, fmt.Sprintf("%d merged", s.Merged))
	}
	if s.failing {
		words = append(words, "next try in "+span(s.next+time.Second/2)) // rounded up
	}
	if s.Full {
		paused := "reading"
		if s.ofRule {
			paused = "this rule"
		}
		words = append(words, "outbox full: "+paused+" is paused")
	}
	return words
}

const (
	// logInterval is the time between two lines about waiting messages, and minLogInterval the minimum time between two lines
	// about changes. Changes within logDelay cause one line.
	logInterval, minLogInterval, logDelay = time.Minute, 5 * time.Second, 100 * time.Millisecond
	// slow is the age at which waiting messages are logged even if no attempt fails.
	slow = 10 * time.Second
)

// report logs the status until ctx is done.
func (q *Queue) report(ctx context.Context) {
	tick := time.NewTicker(logInterval)
	defer tick.Stop()
	var logged condition
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.schedule.changed:
			pause(ctx, logDelay)
			now := q.status()
			if now.condition == logged {
				continue
			}
			now.worksAgain = logged.failing && !now.failing
			q.Log(now.String())
			logged = now.condition
			pause(ctx, minLogInterval)
		case <-tick.C:
			if now := q.status(); now.Waiting > 0 && (now.failing || now.Full || now.Oldest >= slow) {
				q.Log(now.String())
				logged = now.condition
			}
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Status describes the state of the delivery in one line. Status and Stats may be called from any goroutine.
func (q *Queue) Status() string { return q.status().String() }

// Stats returns the counters.
func (q *Queue) Stats() Stats { return q.status().Stats }

// Summary returns the counters in one line. undelivered is the number of messages that were neither delivered nor stored, in
// DeadLetters or for a later run.
func (q *Queue) Summary() (text string, undelivered int) {
	s := q.status()
	text = fmt.Sprintf("%s: %d delivered, %d repeated, %d given up, %d waiting", s.name, s.Delivered, s.Retried, s.GivenUp, s.Waiting)
	if q.LatestOnly {
		text += fmt.Sprintf(", %d merged", s.Merged)
	}
	if s.Waiting > 0 && s.reason != "" {
		text += "; the last failure: " + s.reason
	}
	if q.DeadLetters == "" {
		undelivered = s.GivenUp
	}
	if q.Store == nil {
		undelivered += s.Waiting
	}
	return text, undelivered
}

// explain returns an error as one escaped line.
func explain(err error) string {
	line := []rune(output.EscapeLine(strings.Join(strings.Fields(err.Error()), " ")))
	if len(line) > longestReason {
		return string(line[:longestReason]) + "..."
	}
	return string(line)
}

// span formats a duration for people.
func span(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second)/time.Second))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d/time.Minute))
	default:
		return fmt.Sprintf("%d h", int(d/time.Hour))
	}
}
