package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/ask"
	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/plan"
	"dwatch/watcher/event"
	"dwatch/watcher/until"
)

// fleet is a run at several clusters: each is a member with connections, discovery and rights of its
// own, and none waits for another. They meet in front of the stages, one batch after the other.
type fleet struct {
	*watching
	members []*member
	stages  *stages
	stop    context.CancelFunc // ends the members

	mu       sync.Mutex // of all below, and of what the stages take
	sink     event.Sink
	failed   error             // ends the run
	untried  int               // members of which the first try goes on
	answered bool              // one has answered
	refusals []error           // of those that have not, at their first try
	known    map[string]string // members by the UID of their cluster

	names sync.Mutex // of short
	short map[schema.GroupVersionResource]string
}

// checkFleet refuses what is not whole yet of a run at several clusters.
func checkFleet(w *watching) error {
	with := ""
	switch {
	case !w.fleets:
		return fail.Usage(cluster.ErrSeveral)
	case w.stateFile != "":
		with = "--state"
	case w.listen != "":
		with = "--listen"
	case w.past.isAsked():
		with = "--since and --before"
	case w.object != nil:
		with = "--for TYPE/NAME"
	case w.prints && !slices.Contains([]string{"", "json", "yaml", "kyaml", "none", flags.Changes}, w.print.Format):
		with = "-o " + w.print.Format
	default:
		return nil
	}
	return fail.Usage(fmt.Errorf("several contexts at once do not go with %s yet: choose one with --context (docs/clusters.md)", with))
}

// runFleet is run for several clusters.
func runFleet(ctx context.Context, w *watching, c *console) error {
	chosen, err := w.connection.Each()
	if err != nil {
		return err
	}
	ctx, cancel := bounded(ctx, w.ending.Timeout)
	defer cancel()
	f := &fleet{watching: w, untried: len(chosen), known: map[string]string{}, short: map[schema.GroupVersionResource]string{}}
	w.session = &session{console: c, scope: w.request, plan: &plan.Plan{Live: true}, fleet: f}
	for _, m := range chosen {
		f.members = append(f.members, f.newMember(c, m))
	}
	return ended(ctx, w.ending.unanswered(ctx, f.run(ctx)), false)
}

func (f *fleet) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var err error
	if f.stages, err = f.newStages(ctx, cancel); err != nil {
		return err
	}
	defer f.sayHidden()
	f.sink = blamed(&tuned{next: f.stages.first})
	f.asked.is(f.status)
	return f.to.around(ctx, cancel, f.watching, func() error {
		running, stop := context.WithCancel(ctx)
		defer stop()
		f.stop = stop
		var all sync.WaitGroup
		for _, m := range f.members {
			all.Go(func() { m.run(running) })
		}
		all.Go(func() { f.beat(running) })
		all.Wait()
		return f.end(ctx, f.stages.wait, f.stages.printed, f.failed)
	})
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
	f.refusals = append(f.refusals, errorOf(m.name, err))
	if f.untried == 0 && !f.answered {
		f.failWith(errors.Join(f.refusals...))
	}
}

// errorOf is an error of one cluster, as people read it, with its exit code.
func errorOf(name string, err error) error {
	isUsage := fail.ExitCode(err) == fail.ExitUsage
	var lines []error
	for _, text := range fail.Explain(err) {
		line := errors.New(name + ": " + text)
		if isUsage {
			line = fail.Usage(line)
		}
		lines = append(lines, line)
	}
	return errors.Join(lines...)
}

// identify says of a cluster that it is another one, too.
func (f *fleet) identify(ctx context.Context, m *member, k *cluster.Cluster) {
	uid, err := k.Identity(ctx)
	if err != nil || uid == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.known[uid]; other != "" && other != m.name {
		m.console.warn(fmt.Sprintf("this is the same cluster as %s: what happens there comes twice", other))
		return
	}
	f.known[uid] = m.name
}

// beat reports, as often as those that watch, that a member does not.
func (f *fleet) beat(ctx context.Context) {
	if f.heartbeat == 0 {
		return
	}
	for tick := time.NewTicker(f.heartbeat); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case now := <-tick.C:
			for _, m := range f.members {
				if !m.watches.Load() {
					_ = f.Deliver(ctx, []event.Event{{Type: event.Heartbeat, Target: event.Target{Cluster: m.name}, Time: now}})
				}
			}
		}
	}
}

// awaited are the clusters of which nothing is watched yet, for --until.
func (f *fleet) awaited() (awaited []until.Awaited) {
	if f == nil {
		return nil
	}
	for _, m := range f.members {
		awaited = append(awaited, until.Awaited{
			Name: m.name, Why: "it has not answered, or lacks the resource",
			Is: func(t event.Target) bool { return t.Cluster == m.name },
		})
	}
	return awaited
}

// showsNamespaces reports whether objects are in those of the contexts, and these are different.
func (f *fleet) showsNamespaces(r plan.Request) bool {
	return f != nil && len(r.Namespaces) == 0 && slices.ContainsFunc(f.members, func(m *member) bool {
		return m.namespace != f.members[0].namespace
	})
}

// shortName asks the members that have answered, and remembers what is shorter than the whole name.
func (f *fleet) shortName(r schema.GroupVersionResource) string {
	f.names.Lock()
	defer f.names.Unlock()
	if short := f.short[r]; short != "" {
		return short
	}
	whole := r.GroupResource().String()
	for _, m := range f.members {
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

func (f *fleet) asks(cluster string) *ask.Client {
	for _, m := range f.members {
		if m.name == cluster {
			return m.session.Load().questions // what is asked about has come from there
		}
	}
	return nil
}

// isWell reports whether it is waited for that an object does not exist.
func (f *fleet) isWell(e *event.Event) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stages.wait != nil && f.stages.wait.HoldsOfNothing(e)
}

// status says how the watch of each member is.
func (f *fleet) status() string {
	var parts []string
	for _, m := range f.members {
		parts = append(parts, m.name+": "+m.status())
	}
	return joinStatus(strings.Join(parts, "; "), f.to.hidden(), f.to.status())
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

// prefixed writes each line behind the name of a cluster.
type prefixed struct {
	w    io.Writer
	name string
}

// Write implements io.Writer, for whole lines.
func (p prefixed) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.name+": "), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}
