package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/source"
	"dwatch/watcher/until"
)

// member is one cluster of a fleet.
type member struct {
	fleet *fleet
	name  string
	flags cluster.Flags
	// namespace is that of the context.
	namespace string
	same      []string
	console   *console // says who it is

	tried    bool       // of the fleet
	said     string     // last, of why it does not answer
	joined   bool       // its targets have
	lost     event.Type // what was reported of them since; empty: nothing
	session  atomic.Pointer[session]
	reporter atomic.Pointer[report.Reporter]
	watches  atomic.Bool
}

func (f *fleet) newMember(c *console, of cluster.Member) *member {
	own := *c
	name := output.Line(of.Name)
	own.stderr = prefixed{c.stderr, name}
	if own.reports = own.stderr; c.isQuiet() {
		own.reports = io.Discard
	}
	return &member{fleet: f, name: of.Name, namespace: of.Namespace, flags: of.Flags, same: of.Same, console: &own}
}

// run watches, again and again, until ctx ends.
func (m *member) run(ctx context.Context) {
	if len(m.same) > 0 {
		m.console.say("the same cluster, user and namespace as " + output.Line(strings.Join(m.same, ", ")) + ": it is watched once")
	}
	var backoff source.Backoff
	for {
		err := m.watch(ctx)
		switch {
		case ctx.Err() != nil || err == nil:
			return
		case isLoss(err):
			m.fleet.fail(err)
			return
		}
		if m.fleet.tried(m, err); ctx.Err() != nil {
			return
		}
		m.sayWhy(err)
		if !backoff.Wait(ctx, err) {
			return
		}
	}
}

// sayWhy says why the cluster does not answer, if that is something else than before. With --quiet,
// too: all its changes are missing.
func (m *member) sayWhy(err error) {
	why := strings.Join(fail.Explain(err), "; ")
	if why == m.said {
		return
	}
	m.said = why
	m.console.warn(why + "; trying again")
}

// watch is one try: it returns why it can't go on, or nil when ctx has ended.
func (m *member) watch(ctx context.Context) error {
	k, err := m.flags.Connect(m.console.connection())
	if err != nil {
		return err
	}
	s, err := m.open(ctx, k)
	if err != nil {
		return err
	}
	watch, err := watcher.New(m.fleet.optionsOf(s))
	if err != nil {
		return err
	}
	asking, stop := context.WithCancel(ctx)
	var asked sync.WaitGroup
	asked.Go(func() { m.fleet.identify(asking, m, k) })
	defer asked.Wait()
	defer stop()
	reporter := m.report(s)
	if !s.scope.AllNamespaces {
		reporter.CheckNamespaces(asking, s.scope.Namespaces)
	}
	defer reporter.Wait()
	defer stop()
	if err := m.join(ctx, s); err != nil {
		return err
	}
	m.watches.Store(true)
	defer m.watches.Store(false)
	err = watch.Run(asking, m.named(reporter))
	if err == nil || isLoss(err) {
		return err
	}
	return m.lose(ctx, s, s.rights.Detail(ctx, err))
}

// open begins a session. A resource that this cluster lacks, and another one may have, is waited for.
func (m *member) open(ctx context.Context, k *cluster.Cluster) (*session, error) {
	of := m.fleet.selection
	s, err := m.console.open(ctx, k, of)
	if unknown, ok := errors.AsType[*mapper.UnknownError](err); ok {
		m.fleet.tried(m, orWait(err)) // which ends the run if no cluster has it
		if ctx.Err() != nil || unknown.Instead != "" {
			return nil, err
		}
		of.request.Wait = true
		s, err = m.console.open(ctx, k, of)
	}
	if err != nil && fail.ExitCode(err) == fail.ExitUsage {
		m.fleet.fail(err) // what was typed makes no sense
	}
	return s, err
}

func (m *member) report(s *session) *report.Reporter {
	o := reporting(s, m.fleet.note(output.Line(m.name)))
	o.IsWell = m.fleet.isWell
	reporter := report.New(m.fleet, o)
	if !m.joined {
		reporter.Begin(m.targets(s), "")
	}
	m.reporter.Store(reporter)
	m.session.Store(s)
	return reporter
}

// join reports that the targets are watched from now on, and has --until wait for what is not there.
func (m *member) join(ctx context.Context, s *session) error {
	if m.joined {
		return nil
	}
	m.joined = true
	var batch []event.Event
	for _, t := range m.targets(s) {
		batch = append(batch, event.Event{Type: event.Joined, Target: t, Time: time.Now()})
	}
	if wait := m.fleet.stages.wait; wait != nil && m.fleet.request.Wait {
		var missing []until.Awaited
		for _, miss := range s.plan.Missing {
			missing = append(missing, until.Awaited{
				Name: m.name + " " + miss.Name, Why: notServed,
				Is: func(t event.Target) bool { return t.Cluster == m.name && miss.Is(t) },
			})
		}
		wait.await(missing)
	}
	return m.fleet.Deliver(ctx, batch)
}

// lose reports that all targets were refused at the start.
func (m *member) lose(ctx context.Context, s *session, err error) error {
	kind := event.Disconnected
	if apierrors.IsForbidden(err) {
		kind = event.Denied
	}
	if kind == m.lost {
		return err
	}
	m.lost = kind
	var batch []event.Event
	for _, t := range m.targets(s) {
		batch = append(batch, event.Event{Type: kind, Target: t, Time: time.Now(), Err: err})
	}
	if failed := m.fleet.Deliver(ctx, batch); failed != nil {
		return failed
	}
	return err
}

// targets are what is planned at this cluster, as everything behind the watcher knows it.
func (m *member) targets(s *session) []event.Target {
	own := slices.Clone(s.plan.Targets)
	for i := range own {
		own[i].Cluster = m.name
	}
	return own
}

// named is a Sink before next that says of each event where it comes from. The first of an object,
// or of a sync, is the answer to the first try.
func (m *member) named(next event.Sink) event.Sink {
	answered := false
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for i := range batch {
			batch[i].Target.Cluster = m.name
			if !answered && batch[i].Type != event.Heartbeat {
				answered = true
				m.answers()
			}
		}
		return next.Deliver(ctx, batch)
	})
}

func (m *member) answers() {
	m.lost = ""
	m.fleet.tried(m, nil)
	if m.said != "" {
		m.said = ""
		m.console.say("answers")
	}
}

func (m *member) status() string {
	if r := m.reporter.Load(); r != nil {
		return r.Status()
	}
	return "not watched yet"
}
