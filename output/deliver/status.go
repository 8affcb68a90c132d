package deliver

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dwatch/output"
)

const (
	// sayEvery is how often it is said that something waits, and sayAtMost how far apart
	// two changes are said. What happens together is one.
	sayEvery, sayAtMost, together = time.Minute, 5 * time.Second, 100 * time.Millisecond
	// slow is for how long something waits before that is worth a word.
	slow = 10 * time.Second
	// longestReason is how many characters of an error are said.
	longestReason = 300
)

// mood is what has changed when it is worth a line.
type mood struct {
	failing, down, full bool
	reason              string
}

// status is how the delivery is.
type status struct {
	mood
	about   string // the object of the last failure
	waiting int
	merged  int // with what came later
	oldest  time.Duration
	next    time.Duration // until the next try of what failed
}

func (q *Queue) status() status {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := status{waiting: q.waiting, merged: q.done.merged, about: q.about, mood: mood{down: q.outage.down, failing: q.outage.down || q.failing > 0, full: q.full}}
	if s.failing && q.reason != nil {
		s.reason = explain(q.reason)
	}
	next := moment(-1) // none
	for _, o := range q.objects {
		s.oldest = max(s.oldest, q.since(o.items[0].queued))
		if o.state == waits && (next < 0 || o.next < next) {
			next = o.next
		}
	}
	if s.down {
		next = q.momentOf(q.outage.next)
	}
	if next >= 0 {
		s.next = max(0, -q.since(next))
	}
	return s
}

// String says it in a few words: exit status 1, 214 waiting, oldest 3 min, next try in
// 16 s.
func (s status) String() string {
	var words []string
	switch {
	case s.down:
		words = append(words, s.reason)
	case s.failing:
		words = append(words, s.about+": "+s.reason)
	}
	if s.waiting == 0 {
		return strings.Join(append(words, "nothing waits"), ", ")
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
	return strings.Join(words, ", ")
}

// Status says in one line how the delivery is. It may be called at any time, from any
// goroutine.
func (q *Queue) Status() string { return "delivering to " + q.Name + ": " + q.status().String() }

// talk says how it is until ctx ends.
func (q *Queue) talk(ctx context.Context) {
	tick := time.NewTicker(sayEvery)
	defer tick.Stop()
	var said mood
	for {
		select {
		case <-ctx.Done():
			return
		case <-q.changed:
			pause(ctx, together)
			now := q.status()
			if now.mood == said {
				continue
			}
			q.sayChange(said, now)
			said = now.mood
			pause(ctx, sayAtMost)
		case <-tick.C:
			if now := q.status(); now.waiting > 0 && (now.failing || now.full || now.oldest >= slow) {
				q.say("delivering to " + q.Name + ": " + now.String())
				said = now.mood
			}
		}
	}
}

func (q *Queue) sayChange(said mood, now status) {
	text := now.String()
	if said.failing && !now.failing {
		text = "works again, " + text
	}
	q.say("delivering to " + q.Name + ": " + text)
}

func (q *Queue) say(line string) {
	if q.Say != nil {
		q.Say(line)
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// noteChange says that there may be something to say. It does not block.
func (q *Queue) noteChange() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// Summary says at the end what became of all that came. undelivered is how much of it
// was neither delivered nor kept, in DeadLetters or for a later run.
func (q *Queue) Summary() (text string, undelivered int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	text = fmt.Sprintf("%s: %d delivered, %d repeated, %d given up, %d waiting",
		q.Name, q.done.delivered, q.done.repeated, q.done.givenUp, q.waiting)
	if q.Latest {
		text += fmt.Sprintf(", %d merged", q.done.merged)
	}
	if q.waiting > 0 && q.reason != nil && (q.failing > 0 || q.outage.down) {
		text += "; the last failure: " + explain(q.reason)
	}
	if q.Store != nil {
		return text, q.done.lost
	}
	return text, q.waiting + q.done.lost
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
		Waiting: q.waiting, Bytes: q.used, Oldest: now.oldest,
		Reached: q.done.delivered+q.done.refused > 0, Down: now.down, Full: now.full,
	}
}

// Kept returns how much waits in the Store, for a later run.
func (q *Queue) Kept() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.Store == nil {
		return 0
	}
	return q.waiting
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
