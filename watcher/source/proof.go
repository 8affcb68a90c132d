package source

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"dwatch/watcher/event"
)

// That a watch goes on says nothing of how far behind it is. With Options.Bookmarks each connection
// finds that out: the server is asked where it is, at its begin and then every few seconds, and once
// the stream is there, all has come that had happened when it was asked. If the answer was late, or
// if something that had happened by then came later, the stream may have stood still meanwhile, which
// is said. A stream of which nothing changes gets there by a bookmark, which
// servers send two seconds before the end of a watch: until it is known to have caught up, its
// watches are short. Where nothing changes at all, it is there from the first.
//
// Each target asks for itself, every few seconds: 60 resources ask 12 times a second. It can't be
// done with fewer questions by these ways:
//   - By one that stands for several resources. Those of one server may be kept in different etcds
//     (--etcd-servers-overrides, aggregated APIs), and nothing that it says tells which are. Taken for
//     that of another, a number that is less makes a stream count as caught up that is not. Kubernetes
//     has resourceVersions compared within one resource alone.
//   - By bookmarks, which come anyway. They say where a stream is, and not when the server was there:
//     only a question that was asked before does. One just before each bookmark, every half a minute, would
//     prove as much of where nothing comes, but a change that comes late would pass for one that has just
//     happened if it is late by that much, and not by some seconds.
//
// It could be one for all targets of the same resource, in several namespaces: its resourceVersions
// can be compared. Each has to get the answer at once then, also if who asked ends meanwhile.

// shortLife is that of a watch by which a stream is to catch up.
const shortLife = 4 * time.Second

// maxShort is how many short watches a stream has in a row: some servers send no bookmarks.
const maxShort = 3

// proof is what is known of how far behind a stream is.
type proof struct {
	known bool // it has caught up
	short int  // watches in a row
	// moved is when an object was passed on last.
	moved time.Time
	// asked are the questions where the server is to which the stream has not come yet, in order, and
	// answered is when the last one was asked that it answered.
	asked    []asked
	answered time.Time
}

// restart forgets that the stream had caught up.
func (p *proof) restart() { p.known, p.short, p.moved = false, 0, time.Time{} }

// life is how long the next watch is to be live: d, or shorter.
func (s *stream) life(d time.Duration) time.Duration {
	if !s.session.options.Bookmarks || s.syncing || s.proof.known || s.proof.short >= maxShort {
		return d
	}
	s.proof.short++
	return shortLife
}

// asked is when the server was asked where it is, and what it said.
type asked struct {
	at              time.Time
	resourceVersion string
	// late: it is not known that the stream was with the server between the time of the one before
	// and this one: the answer came late, or what had happened by then did.
	late bool
}

// maxAsked is how many questions wait for a stream that nothing comes of.
const maxAsked = 64

// elapsed is how long ago a time was, by the clock that shows more: the monotonic one stands still
// while a machine sleeps, and the other one may be put back.
func elapsed(t time.Time) time.Duration { return between(t, time.Now()) }

func between(a, b time.Time) time.Duration { return max(b.Sub(a), b.Round(0).Sub(a.Round(0))) }

// noteAsked takes an answer of the server.
func (p *proof) noteAsked(at time.Time, resourceVersion string) {
	if resourceVersion == "" {
		return
	}
	missed := !p.answered.IsZero() && between(p.answered, at) > event.ProbeInterval+event.ProbeTimeout
	p.asked = append(p.asked, asked{at, resourceVersion, missed || elapsed(at) > event.ProbeTimeout})
	p.answered = at
	if len(p.asked) > maxAsked {
		p.asked = p.asked[1:]
		p.asked[0].late = true
	}
}

// noteChange takes that something changed, which may have happened before questions that were asked
// long ago.
func (p *proof) noteChange(resourceVersion string) {
	for i := range p.asked {
		if a := &p.asked[i]; !a.late && elapsed(a.at) > event.ProbeTimeout {
			order, err := resourceversion.CompareResourceVersion(resourceVersion, a.resourceVersion)
			a.late = err != nil || order <= 0
		}
	}
}

// takeReached returns the questions that a stream has answered by now that has come to a
// resourceVersion.
func (p *proof) takeReached(resourceVersion string) (reached []asked) {
	n := 0
	for n < len(p.asked) {
		if order, err := resourceversion.CompareResourceVersion(resourceVersion, p.asked[n].resourceVersion); err != nil || order < 0 {
			break
		}
		n++
	}
	reached, p.asked = p.asked[:n:n], p.asked[n:]
	return reached
}

// prove observes up to when all that happened has been passed on, if that is known by what came.
// isBookmark: that is what came last.
func (c *connection) prove(ctx context.Context, isBookmark bool) {
	if !c.session.options.Bookmarks {
		return
	}
	if isBookmark && c.proof.answered.Before(c.opened) { // it was sent on this connection
		c.session.mark(ctx, time.Time{}, c.resumeFrom)
		c.proved(ctx, c.opened)
		return
	}
	var last asked
	for _, a := range c.proof.takeReached(c.resumeFrom) {
		if a.late {
			if !last.at.IsZero() {
				c.proved(ctx, last.at)
			}
			c.session.mark(ctx, time.Time{}, c.resumeFrom)
			c.again = c.phase == phaseLive
		}
		last = a
	}
	if !last.at.IsZero() {
		c.proved(ctx, last.at)
	}
	if c.again {
		c.proof.known, c.proof.short = false, 0
		c.enter(phaseLive, 0)
	}
}

func (c *connection) proved(ctx context.Context, heard time.Time) {
	if c.session.mark(ctx, heard, c.resumeFrom) && event.IsCaughtUp(heard, c.proof.moved, time.Now()) {
		c.proof.known, c.proof.short = true, 0
	}
}

// questions asks the server again and again where it is, one question at a time.
type questions struct {
	due     *time.Timer
	answers chan asked
	busy    bool
}

// newQuestions spreads the questions of watches that began together.
func (c *connection) newQuestions() *questions {
	q := &questions{answers: make(chan asked, 1), due: time.NewTimer(rand.N(event.ProbeInterval))}
	if !c.session.options.Bookmarks {
		q.due.Stop()
	}
	return q
}

// ask asks, unless an answer is still to come, or all is listed.
func (q *questions) ask(ctx context.Context, c *connection) {
	q.due.Reset(event.ProbeInterval)
	if q.busy || c.syncing {
		return
	}
	q.busy = true
	s, at := c.stream, time.Now()
	go func() {
		resourceVersion, _ := s.present(ctx) // without an answer nothing is proven
		q.answers <- asked{at: at, resourceVersion: resourceVersion}
	}()
}

// answer takes an answer.
func (q *questions) answer(ctx context.Context, c *connection, a asked) {
	q.busy = false
	c.proof.noteAsked(a.at, a.resourceVersion)
	if c.phase == phaseLive {
		c.prove(ctx, false)
	}
}

// end waits for what was asked, whose context has ended.
func (q *questions) end() {
	if q.due.Stop(); q.busy {
		<-q.answers
	}
}

// mark observes that all that happened up to a time has been passed on, once it has been observed
// itself; zero: that what was passed on since the last such time may have been late.
func (s *session) mark(ctx context.Context, heard time.Time, resourceVersion string) bool {
	if !s.options.Bookmarks || !s.drain(ctx) {
		return false
	}
	if !heard.IsZero() {
		heard = time.Now().Round(0).Add(-elapsed(heard)) // so that the clock may be set meanwhile
	}
	s.observer.Observe(Observation{Kind: Proved, Event: event.Event{Heard: heard, ResourceVersion: resourceVersion}})
	return true
}

// reach observes where a watch has come to, once all before it has been observed.
func (s *session) reach(ctx context.Context, resourceVersion string) {
	if s.options.ReportProgress && s.drain(ctx) {
		s.observer.Observe(Observation{Kind: Progressed, Event: event.Event{ResourceVersion: resourceVersion}})
	}
}
