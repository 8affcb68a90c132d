package deliver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dwatch/output"
)

// longestReason is how many characters of an error are said.
const longestReason = 300

// Stats is how the delivery is, in numbers.
type Stats struct {
	// Delivered, Failed and Refused are the tries, by how they ended, and Repeated those beyond the
	// first of a message.
	Delivered, Failed, Refused, Retried int
	// Merged is how much was replaced by what came later.
	GivenUp, Merged int
	// Waiting is how much waits, Bytes what that takes, and Oldest for how long the oldest of it
	// has.
	Waiting int
	Bytes   int64
	Oldest  time.Duration
	// Reached: the receiver has answered. Down: it takes nothing at present. Full: there is no room
	// for more.
	Reached, Down, Full bool
}

// status is how the delivery is.
type status struct {
	Stats
	condition
	name       string        // of the receiver
	about      string        // the object of the last failure
	next       time.Duration // until the next try of what failed
	worksAgain bool          // it was failing, which was said
	ofRule     bool          // what is watched may be for others, too, who get it all the same
}

// condition is what has changed when it is worth a line.
type condition struct {
	failing, down, full bool
	reason              string
}

func (q *Queue) status() status {
	now := q.schedule
	now.mu.Lock()
	defer now.mu.Unlock()
	s := status{Stats: now.Stats, name: q.Name, about: now.about, ofRule: q.Rule != "", condition: condition{now.Down, now.Down, now.Full, ""}}
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
	if s.failing && now.reason != nil {
		s.reason = explain(now.reason)
	}
	return s
}

// String says it in a line: delivering to NAME: exit status 1, 214 waiting, oldest 3 min, next try
// in 16 s.
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
		words = append(words, s.about+": "+s.reason)
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
		held := "the server"
		if s.ofRule {
			held = "this rule"
		}
		words = append(words, "no room for more: "+held+" is held back")
	}
	return words
}

const (
	// sayEvery is how often it is said that something waits, and sayAtMost how far apart two
	// changes are said. What happens together is one.
	sayEvery, sayAtMost, together = time.Minute, 5 * time.Second, 100 * time.Millisecond
	// slow is for how long something waits before that is worth a word.
	slow = 10 * time.Second
)

// report says how it is until ctx ends.
func (q *Queue) report(ctx context.Context) {
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	var said condition
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.schedule.changed:
			pause(ctx, together)
			now := q.status()
			if now.condition == said {
				continue
			}
			now.worksAgain = said.failing && !now.failing
			q.Log(now.String())
			said = now.condition
			pause(ctx, sayAtMost)
		case <-tick.C:
			if now := q.status(); now.Waiting > 0 && (now.failing || now.Full || now.Oldest >= slow) {
				q.Log(now.String())
				said = now.condition
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

// Status says in one line how the delivery is. Like Stats it may be called at any time, from any
// goroutine.
func (q *Queue) Status() string { return q.status().String() }

// Stats returns how the delivery is.
func (q *Queue) Stats() Stats { return q.status().Stats }

// Summary says at the end what became of all that came. undelivered is how much of it was neither
// delivered nor kept, in DeadLetters or for a later run.
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

// explain is an error in one line.
func explain(err error) string {
	line := []rune(output.EscapeLine(strings.Join(strings.Fields(err.Error()), " ")))
	if len(line) > longestReason {
		return string(line[:longestReason]) + "..."
	}
	return string(line)
}

// span is a duration as people say it.
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
