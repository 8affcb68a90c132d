package source

import (
	"context"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"dwatch/watcher/event"
)

// A live watch does not show how far it is behind. With Options.Bookmarks, each connection finds
// that out with probes: it asks the server for its current resourceVersion, at the start and then
// every few seconds. When the stream reaches that resourceVersion, every change from before the
// probe has arrived. If the answer was late, or if a change from before the probe arrived late, the
// stream may have stalled in between, which is reported. Without changes, the stream reaches the
// resourceVersion by a bookmark, which servers send two seconds before the end of a watch. Until
// the stream is known to have caught up, its watches are therefore short. If nothing in the cluster
// changes, it has caught up from the start. Without bookmarks, a comparison of lists can show that
// nothing changed, see compare.
//
// Each target has its own probes every few seconds, so 60 resources cause 12 requests per second.
// Two ways to save requests do not work:
//   - One probe for several resources. The resources of one server may be stored in different etcds (--etcd-servers-overrides, aggregated APIs), and clients can't tell which. Compared with a smaller number of another etcd, a stream would count as caught up although it is not. Kubernetes only defines the order of resourceVersions within one resource.
//   - The bookmarks that servers send anyway, about once a minute. They show where a stream is, but not when the server was there. Only a probe that was sent before can show that. One probe just before each bookmark would prove as much for quiet resources, but a change that arrives up to a minute late would count as recent.
//
// One probe could serve all targets of one resource in several namespaces, whose resourceVersions
// are comparable. All of them would then have to receive the answer immediately, even if the target
// that sent the probe ends.

// shortLife is the life of a watch that should show whether the stream has caught up.
const shortLife = 4 * time.Second

// maxShort is the maximum number of consecutive short watches, because some servers send no
// bookmarks.
const maxShort = 3

// proof tracks whether a stream has caught up with the server.
type proof struct {
	caughtUp bool
	short    int // consecutive short watches that did not show that the stream has caught up
	// lastEvent is when the last event other than a bookmark was passed on.
	lastEvent time.Time
	// probes are the probes that the stream has not reached, in order. lastProbe is when the last
	// answered probe was sent.
	probes    []probe
	lastProbe time.Time
	// compared is the latest comparison. It is valid while the stream has arrived at compared.to.
	compared comparison
}

// restart discards the knowledge that the stream has caught up.
func (p *proof) restart() { p.caughtUp, p.short, p.lastEvent = false, 0, time.Time{} }

// watchLife returns how long the next watch should be live: d, or shortLife if the stream may be
// behind. It counts the short watches.
func (s *stream) watchLife(d time.Duration) time.Duration {
	if !s.session.options.Bookmarks || s.syncing || s.proof.caughtUp || s.proof.short >= maxShort {
		return d
	}
	s.proof.short++
	return shortLife
}

// probe is one answered request for the server's current resourceVersion.
type probe struct {
	sent            time.Time
	resourceVersion string
	// late is true if the stream may have been behind between the previous probe and this one,
	// because the answer or a change from before the probe was late, or because a probe between the
	// two is missing.
	late bool
}

// maxProbes is the maximum number of probes that wait for the stream.
const maxProbes = 64

// elapsed returns the time since t, by the clock that shows more. The monotonic clock stands still
// while a machine sleeps, and the wall clock may be set back.
func elapsed(t time.Time) time.Duration { return between(t, time.Now()) }

func between(a, b time.Time) time.Duration { return max(b.Sub(a), b.Round(0).Sub(a.Round(0))) }

// addProbe adds a probe and the server's answer. An empty resourceVersion means that there was
// none.
func (p *proof) addProbe(sent time.Time, resourceVersion string) {
	if resourceVersion == "" {
		return
	}
	missed := !p.lastProbe.IsZero() && between(p.lastProbe, sent) > event.ProbeInterval+event.ProbeTimeout
	p.probes = append(p.probes, probe{sent: sent, resourceVersion: resourceVersion, late: missed || elapsed(sent) > event.ProbeTimeout})
	p.lastProbe = sent
	if len(p.probes) > maxProbes {
		p.probes = p.probes[1:]
		p.probes[0].late = true
	}
}

// noteChange records that a change has arrived. A probe that was sent more than ProbeTimeout ago is
// late if the change is not newer than its answer.
func (p *proof) noteChange(resourceVersion string) {
	for i := range p.probes {
		if a := &p.probes[i]; !a.late && elapsed(a.sent) > event.ProbeTimeout {
			order, err := resourceversion.CompareResourceVersion(resourceVersion, a.resourceVersion)
			a.late = err != nil || order <= 0
		}
	}
}

// takeReached removes and returns the probes that the stream has reached with resourceVersion.
func (p *proof) takeReached(resourceVersion string) (reached []probe) {
	n := 0
	for n < len(p.probes) {
		if order, err := resourceversion.CompareResourceVersion(resourceVersion, p.probes[n].resourceVersion); err != nil || order < 0 {
			break
		}
		n++
	}
	reached, p.probes = p.probes[:n:n], p.probes[n:]
	return reached
}

// prove observes Proved if the stream has reached a probe, or if a bookmark arrived although no probe
// was answered on this connection. isBookmark is true if the last event was a bookmark.
func (c *connection) prove(ctx context.Context, isBookmark bool) {
	if !c.session.options.Bookmarks {
		return
	}
	if isBookmark && c.proof.lastProbe.Before(c.opened) { // no probe was answered on this connection
		c.session.observeProved(ctx, time.Time{}, c.resumeFrom)
		c.proved(ctx, c.opened)
		return
	}
	var last probe
	for _, a := range c.proof.takeReached(c.resumeFrom) {
		if a.late {
			if !last.sent.IsZero() {
				c.proved(ctx, last.sent)
			}
			c.session.observeProved(ctx, time.Time{}, c.resumeFrom)
			c.renewSoon = c.phase == phaseLive
		}
		last = a
	}
	if !last.sent.IsZero() {
		c.proved(ctx, last.sent)
	}
	if c.renewSoon {
		c.proof.caughtUp, c.proof.short = false, 0
		c.enter(phaseLive, 0)
	}
}

// proved observes Proved up to the time heard, and notes whether the stream has caught up.
func (c *connection) proved(ctx context.Context, heard time.Time) {
	if c.session.observeProved(ctx, heard, c.resumeFrom) && event.IsCaughtUp(heard, c.proof.lastEvent, time.Now()) {
		c.proof.caughtUp, c.proof.short = true, 0
	}
}

// prober sends probes, one at a time, and compares lists for streams without bookmarks.
type prober struct {
	due         *time.Timer // for the next probe
	answers     chan probe
	comparisons chan comparison
	pending     int // messages that will be sent on answers and comparisons
}

// newProber returns a prober. Its first probe is at a random time within ProbeInterval, so that
// watches that began together spread theirs. For a stream without bookmarks, it is at once.
func (c *connection) newProber() *prober {
	q := &prober{answers: make(chan probe, 1), comparisons: make(chan comparison, 1), due: time.NewTimer(rand.N(event.ProbeInterval))}
	if c.noBookmarks {
		q.due.Reset(0)
	}
	if !c.session.options.Bookmarks {
		q.due.Stop()
	}
	return q
}

// send sends a probe, unless one is unanswered or the objects are being listed.
func (p *prober) send(ctx context.Context, c *connection) {
	p.due.Reset(event.ProbeInterval)
	if p.pending > 0 || c.syncing {
		return
	}
	s, at, known, compares := c.stream, time.Now(), comparison{from: c.resumeFrom}, c.noBookmarks
	if c.proof.compared.to == c.resumeFrom {
		known.objects = c.proof.compared.objects
	}
	if p.pending = 1; compares {
		p.pending = 2
	}
	go func() {
		resourceVersion, _ := s.currentVersion(ctx) // after an error, it is empty and proves nothing
		p.answers <- probe{sent: at, resourceVersion: resourceVersion}
		if compares {
			p.comparisons <- s.compare(ctx, known, resourceVersion, at)
		}
	}()
}

// handle processes the answer of a probe.
func (p *prober) handle(ctx context.Context, c *connection, a probe) {
	p.pending--
	c.proof.addProbe(a.sent, a.resourceVersion)
	if c.phase == phaseLive {
		c.prove(ctx, false)
	}
}

// handleComparison advances the stream if nothing changed since its position.
func (p *prober) handleComparison(ctx context.Context, c *connection, unchanged comparison) {
	p.pending--
	if unchanged.to == "" || unchanged.from != c.resumeFrom {
		return
	}
	c.proof.compared = unchanged
	if c.advance(unchanged.to); c.phase == phaseLive {
		c.prove(ctx, false)
	}
}

// wait waits for the messages of the last probe, whose context has ended.
func (p *prober) wait() {
	p.due.Stop()
	for ; p.pending > 0; p.pending-- {
		select {
		case <-p.answers:
		case <-p.comparisons:
		}
	}
}

// observeProved observes Proved after all earlier events have been observed. It returns false if
// that took too long, ctx ended, or Options.Bookmarks is not set.
func (s *session) observeProved(ctx context.Context, heard time.Time, resourceVersion string) bool {
	if !s.options.Bookmarks || !s.drain(ctx) {
		return false
	}
	if !heard.IsZero() {
		heard = time.Now().Round(0).Add(-elapsed(heard)) // in wall time, even if the clock has been set
	}
	s.observer.Observe(Observation{Kind: Proved, Event: event.Event{Heard: heard, ResourceVersion: resourceVersion}})
	return true
}

// observeProgress observes Progressed after all earlier events have been observed.
func (s *session) observeProgress(ctx context.Context, resourceVersion string) {
	if s.options.ReportProgress && s.drain(ctx) {
		s.observer.Observe(Observation{Kind: Progressed, Event: event.Event{ResourceVersion: resourceVersion}})
	}
}
