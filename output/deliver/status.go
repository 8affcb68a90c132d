package deliver

import (
	"fmt"
	"strings"
	"time"

	"dwatch/output"
)

// longestReason is how many characters of an error are said.
const longestReason = 300

// condition is what has changed when it is worth a line.
type condition struct {
	failing, down, full bool
	reason              string
}

// status is how the delivery is.
type status struct {
	condition
	name    string // of the receiver
	about   string // the object of the last failure
	waiting int
	bytes   int64
	merged  int // with what came later
	oldest  time.Duration
	next    time.Duration // until the next try of what failed
	// worksAgain: it was failing, which was said.
	worksAgain bool
}

func (q *Queue) status() status {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := q.schedule
	s := status{name: q.Name, waiting: now.waiting, merged: q.done.merged, about: q.about}
	s.down, s.failing = now.outage.down, now.outage.down || now.failing > 0
	s.bytes, s.full = q.room.state()
	if s.failing && q.reason != nil {
		s.reason = explain(q.reason)
	}
	var next moment
	if s.oldest, next = now.oldest(); next >= 0 {
		s.next = max(0, -now.since(next))
	}
	return s
}

// String says it in a line: delivering to NAME: exit status 1, 214 waiting, oldest 3 min,
// next try in 16 s.
func (s status) String() string {
	return "delivering to " + s.name + ": " + strings.Join(s.words(), ", ")
}

func (s status) words() (words []string) {
	if s.worksAgain {
		words = append(words, "works again")
	}
	switch {
	case s.down:
		words = append(words, s.reason)
	case s.failing:
		words = append(words, s.about+": "+s.reason)
	}
	if s.waiting == 0 {
		return append(words, "nothing waits")
	}
	words = append(words, fmt.Sprintf("%d waiting", s.waiting), "oldest "+span(s.oldest))
	if s.merged > 0 {
		words = append(words, fmt.Sprintf("%d merged", s.merged))
	}
	if s.failing {
		words = append(words, "next try in "+span(s.next+time.Second/2)) // rounded up
	}
	if s.full {
		words = append(words, "no room for more: the server is held back")
	}
	return words
}

// Status says in one line how the delivery is. It may be called at any time, from any
// goroutine.
func (q *Queue) Status() string { return q.status().String() }

// Summary says at the end what became of all that came. undelivered is how much of it
// was neither delivered nor kept, in DeadLetters or for a later run.
func (q *Queue) Summary() (text string, undelivered int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	waiting := q.schedule.waiting
	text = fmt.Sprintf("%s: %d delivered, %d repeated, %d given up, %d waiting",
		q.Name, q.done.delivered, q.done.repeated, q.done.givenUp, waiting)
	if q.Latest {
		text += fmt.Sprintf(", %d merged", q.done.merged)
	}
	if waiting > 0 && q.reason != nil && (q.schedule.failing > 0 || q.schedule.outage.down) {
		text += "; the last failure: " + explain(q.reason)
	}
	if q.DeadLetters == nil {
		undelivered = q.done.givenUp
	}
	if q.Store == nil {
		undelivered += waiting
	}
	return text, undelivered
}

// Stats is how the delivery is, in numbers.
type Stats struct {
	// Delivered, Failed and Refused are the tries, by how they ended.
	Delivered, Failed, Refused int
	GivenUp                    int
	// Waiting is how much waits, Bytes what that takes, and Oldest for how long the
	// oldest of it has.
	Waiting int
	Bytes   int64
	Oldest  time.Duration
	// Reached: the receiver has answered. Down: it takes nothing at present. Full: there
	// is no room for more.
	Reached, Down, Full bool
}

// Stats returns how the delivery is. It may be called at any time, from any goroutine.
func (q *Queue) Stats() Stats {
	now := q.status()
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{
		Delivered: q.done.delivered, Failed: q.done.failed, Refused: q.done.refused, GivenUp: q.done.givenUp,
		Waiting: now.waiting, Bytes: now.bytes, Oldest: now.oldest,
		Reached: q.done.delivered+q.done.refused > 0, Down: now.down, Full: now.full,
	}
}

// Kept returns how much waits in the Store, for a later run.
func (q *Queue) Kept() int {
	if q.Store == nil {
		return 0
	}
	return q.status().waiting
}

// explain is an error in one line.
func explain(err error) string {
	line := []rune(output.Line(strings.Join(strings.Fields(err.Error()), " ")))
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
