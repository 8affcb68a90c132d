package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/lookup"
	"dwatch/cli/plan"
	"dwatch/watcher/event"
	"dwatch/watcher/until"
)

// fleet is a run at several clusters: each is a member with connections, discovery and rights of its
// own, and none waits for another. They meet in front of the stages, one batch after the other.
type fleet struct {
	*watching
	members atomic.Pointer[[]*member] // at present; changed by what owns the set
	left    sync.Map                  // the last session of each that has left, by its name
	differ  bool                      // the namespaces of their contexts do
	stages  *stages
	stop    context.CancelFunc // ends the members
	known   identities

	mu       sync.Mutex // of all below, and of what the stages take
	sink     event.Sink
	failed   error                    // ends the run
	untried  int                      // members of which the first try goes on
	answered bool                     // one has answered
	refusals map[string]error         // of those that have not, at their first try
	said     map[string]bool          // what the same is in all clusters, and is said of one
	pasts    map[string]reconstructed // with --before, of those that are done

	names sync.Mutex // of short
	short map[schema.GroupVersionResource]string
}

// runFleet is run for several clusters.
func runFleet(ctx context.Context, w *watching, c *console) error {
	w.request.AwaitsObjects = w.ending.Until.IsSet()
	chosen, err := w.connection.SelectedContexts(w.isPlaced())
	if err != nil {
		return err
	}
	ctx, cancel := bounded(ctx, w.ending.Timeout)
	defer cancel()
	f := &fleet{
		watching: w, differ: differ(chosen), untried: len(chosen), refusals: map[string]error{}, said: map[string]bool{},
		short: map[schema.GroupVersionResource]string{}, pasts: map[string]reconstructed{},
	}
	w.session = &session{console: c, scope: w.request, plan: &plan.Plan{}, fleet: f}
	var members []*member
	for _, m := range chosen {
		members = append(members, f.newMember(c, m))
	}
	f.members.Store(&members)
	if w.state, err = w.openSeveralState(); err != nil {
		return err
	}
	err = w.state.end(w.ending.unanswered(ctx, f.run(ctx)))
	return ended(ctx, err, false)
}

// all are the members at present.
func (f *fleet) all() []*member { return *f.members.Load() }

func (f *fleet) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error
	if f.stages, err = f.newStages(ctx, cancel); err != nil {
		return err
	}
	defer f.sayHidden()
	f.sink = blamed(&tuned{next: f.metrics.InputStage(f.stages.first), gc: fleetGC})
	for _, m := range f.all() {
		f.metrics.AddCluster(m.name)
	}
	f.metrics.Begin(nil)
	f.asked.is(func() []string { return append([]string{f.status()}, f.to.look()...) })
	return f.to.around(ctx, cancel, f.watching, func() error {
		running, stop := context.WithCancel(ctx)
		defer stop()
		f.stop = stop
		var all sync.WaitGroup
		for _, m := range f.all() {
			m.launch(running, &all)
		}
		all.Go(func() { f.beat(running) })
		all.Go(func() { f.follow(running, &all) })
		all.Wait()
		f.endPast(ctx)
		f.failed = f.settleAll(ctx, f.failed)
		f.metrics.SetStopping()
		f.sayUnanswered(ctx)
		return f.end(ctx, f.stages.wait, f.stages.printed, f.failed)
	})
}

// sayUnanswered names, at the end, those of which nothing was ever known, where others have answered. A
// condition that does not hold, and --before, say it themselves, and nobody asks where the reader has gone.
func (f *fleet) sayUnanswered(ctx context.Context) {
	f.mu.Lock()
	answered := f.answered
	f.mu.Unlock()
	if !answered || f.past.ends() || f.ending.Until.IsSet() || errors.Is(context.Cause(ctx), errReaderGone) {
		return
	}
	for _, m := range f.all() {
		if m.heard {
			continue
		}
		m.console.warn("it could never be watched: nothing is known of what happened there")
	}
}

// Deliver implements event.Sink, for all members.
func (f *fleet) Deliver(ctx context.Context, batch []event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil {
		return f.failed
	}
	err := f.sink.Deliver(ctx, batch)
	if err != nil {
		f.failWith(err)
	}
	return err
}

func (f *fleet) failWith(err error) {
	if f.failed == nil {
		f.failed = err
	}
	f.stop()
}

// fail ends the run.
func (f *fleet) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failWith(err)
}

// tried takes what became of a member's first try. When all are refused, as of one cluster, the run
// ends.
func (f *fleet) tried(m *member, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m.tried {
		return
	}
	m.tried = true
	f.untried--
	if err == nil {
		f.answered = true
		return
	}
	f.refusals[m.name] = errorOf(m.name, err)
	if f.untried == 0 && !f.answered {
		var all []error
		for _, m := range f.all() {
			all = append(all, f.refusals[m.name])
		}
		f.failWith(errors.Join(all...))
	}
}

// errorOf is an error of one cluster, as people read it, with its exit code.
func errorOf(name string, err error) error {
	code := fail.ExitCode(err)
	var lines []error
	for _, text := range fail.Explain(err) {
		line := errors.New(name + ": " + text)
		switch code {
		case fail.ExitUsage:
			line = fail.Usage(line)
		case fail.ExitIncomplete:
			line = fail.WithExitCode(code, line)
		}
		lines = append(lines, line)
	}
	return errors.Join(lines...)
}

// sayingOnce returns what warns of something at a member, unless the same was said of another one.
func (f *fleet) sayingOnce(m *member) func(line string) {
	return func(line string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if !f.said[line] {
			f.said[line] = true
			m.console.warn(line)
		}
	}
}

// identify says of a cluster that it is another one, too.
func (f *fleet) identify(ctx context.Context, m *member, k *cluster.Cluster) {
	if other := f.known.also(ctx, m.name, k); other != "" && other != m.twin {
		m.twin = other
		m.console.warn(fmt.Sprintf("this is the same cluster as %s: what happens there comes twice", other))
	}
}

// beat reports, as often as those that watch, that a member does not.
func (f *fleet) beat(ctx context.Context) {
	every := cmp.Or(f.beatEvery(), f.metrics.HeartbeatInterval())
	if every == 0 {
		return
	}
	for tick := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case now := <-tick.C:
			for _, m := range f.all() {
				if !m.watches.Load() {
					_ = f.Deliver(ctx, []event.Event{{Type: event.Heartbeat, Target: event.Target{Cluster: m.name}, Time: now}})
				}
			}
		}
	}
}

// awaited are the clusters of which nothing is watched yet, for --until.
func (f *fleet) awaited() (awaited []until.AwaitedTarget) {
	if f == nil {
		return nil
	}
	for _, m := range f.all() {
		awaited = append(awaited, m.awaited())
	}
	return awaited
}

// standing says of each cluster whether it answers.
func (f *fleet) standing() (all []event.Cluster) {
	for _, m := range f.all() {
		all = append(all, event.Cluster{Name: m.name, Started: m.watches.Load(), ConnectError: m.why.String()})
	}
	return all
}

// showsNamespaces reports whether objects are in those of the contexts, and these are different.
func (f *fleet) showsNamespaces(r plan.Request) bool {
	return f != nil && len(r.Namespaces) == 0 && f.differ
}

// shortName asks the members that have answered, and remembers what is shorter than the whole name.
func (f *fleet) shortName(r schema.GroupVersionResource) string {
	f.names.Lock()
	defer f.names.Unlock()
	if short := f.short[r]; short != "" {
		return short
	}
	whole := r.GroupResource().String()
	for _, m := range f.all() {
		s := m.session.Load()
		if s == nil {
			continue
		}
		if short := s.mapper.ShortName(r); short != whole {
			f.short[r] = short
			return short
		}
	}
	return whole
}

// whyNot says why a cluster does not answer; empty if it does, or is none.
func (f *fleet) whyNot(cluster string) string {
	if f == nil {
		return ""
	}
	for _, m := range f.all() {
		if m.name == cluster {
			return m.why.String()
		}
	}
	return ""
}

func (f *fleet) asks(cluster string) *lookup.Client {
	for _, m := range f.all() {
		if s := m.session.Load(); m.name == cluster && s != nil {
			return s.questions
		}
	}
	if s, known := f.left.Load(cluster); known {
		return s.(*session).questions
	}
	return nil // and nothing has come from there to be asked about
}

// sourceOf is what CloudEvents of a cluster have as their source; events have come from there.
func (f *fleet) sourceOf(cluster string) string {
	for _, m := range f.all() {
		if source := m.source.Load(); m.name == cluster && source != nil {
			return *source
		}
	}
	return ""
}

// isWell reports whether it is waited for that an object does not exist.
func (f *fleet) isWell(e *event.Event) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stages.wait != nil && f.stages.wait.HoldsWithoutObjects(e)
}

// status says how the watch of each member is.
func (f *fleet) status() string {
	var parts []string
	for _, m := range f.all() {
		parts = append(parts, m.name+": "+m.status())
	}
	return joinStatus(strings.Join(parts, "; "), f.settling.Status(), f.to.hidden(), f.to.status())
}

// note shows, in order with the events, what becomes of a member's watch.
func (f *fleet) note(name string) func(time.Time, string) {
	if f.stages.note == nil {
		return nil
	}
	return func(at time.Time, text string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.stages.note(at, name+": "+text)
	}
}
