package cli

import (
	"context"
	"errors"
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

// member is one cluster of a fleet. What has no other owner belongs to the goroutine of run.
type member struct {
	cluster.KubeContext
	fleet   *fleet
	name    string
	console *console // says who it is

	tried    bool           // of the fleet
	twin     string         // the member that is the same cluster, which was said
	heard    bool           // it has answered once
	into     event.Sink     // gets what comes of the session: the fleet, or what records it before that
	targets  []event.Target // that have joined
	lost     event.Type     // what was reported of them since; empty: nothing
	answered bool           // at this try
	recalled bool           // what happened before has been told (--since)
	why      reason         // it does not answer
	session  atomic.Pointer[session]
	reporter atomic.Pointer[report.Reporter]
	watches  atomic.Bool
	source   atomic.Pointer[string] // of CloudEvents
	// end ends run, and ended is closed when it has.
	end   context.CancelFunc
	ended chan struct{}
}

// reason is said when it changes, and anybody may ask for it.
type reason struct {
	mu   sync.Mutex
	text string
}

func (r *reason) is(text string) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed = r.text != text
	r.text = text
	return changed
}

func (r *reason) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}

func (f *fleet) newMember(c *console, of cluster.KubeContext) *member {
	return &member{fleet: f, KubeContext: of, name: of.Name, console: c.atCluster(of.Name), ended: make(chan struct{})}
}

// launch runs the member until ctx ends, or it leaves.
func (m *member) launch(ctx context.Context, working *sync.WaitGroup) {
	ctx, m.end = context.WithCancel(ctx)
	working.Go(func() {
		defer close(m.ended)
		defer m.end()
		m.run(ctx)
	})
}

// leave ends the watch, and reports that nothing more comes, and why.
func (m *member) leave(ctx context.Context, why error) {
	m.end()
	<-m.ended
	if s := m.session.Load(); s != nil {
		m.fleet.left.Store(m.name, s)
	}
	anew := errors.Is(why, errOther)
	if anew { // before what is known of it is forgotten, which may decide
		m.fleet.stages.wait.rejoins(m.awaited())
	}
	var batch []event.Event
	for _, t := range m.targets {
		batch = append(batch, event.Event{Type: event.Left, Target: t, Time: time.Now(), Err: why})
	}
	m.console.say(why.Error())
	m.fleet.metrics.RemoveCluster(m.name) // before anybody is told
	if len(batch) > 0 {
		_ = m.fleet.Deliver(ctx, batch) // which ends the run, if it fails
	}
	m.fleet.leaves(m, anew)
}

var (
	errNoContext = errors.New("the context is no longer in the kubeconfig")
	errOther     = errors.New("the context leads elsewhere now, or has other credentials: it is watched anew")
)

// run watches, again and again, until ctx ends.
func (m *member) run(ctx context.Context) {
	m.console.saySame(m.KubeContext)
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
		why := strings.Join(fail.Explain(err), "; ")
		if m.fleet.past.ends() {
			m.fleet.noPast(ctx, m, why)
			return
		}
		// It is said with --quiet, too: all changes of the cluster are missing.
		if m.why.is(why) {
			m.console.warn(why + "; trying again")
		}
		if !backoff.Wait(ctx, err) {
			return
		}
	}
}

// watch is one try: it returns why it can't go on, or nil when ctx has ended.
func (m *member) watch(ctx context.Context) error {
	k, err := m.Flags.Connect(m.console.connection())
	if err != nil {
		return err
	}
	s, err := m.open(ctx, k)
	if err != nil {
		return err
	}
	note, err := m.carryOn(ctx, s)
	if err != nil {
		return err
	}
	o := m.fleet.optionsOf(s)
	o.History = m.fleet.state.pastOf(m.name, &m.fleet.mu)
	if verified := o.OnVerified; verified != nil {
		o.OnVerified = func(v watcher.Verification) {
			v.Target.Cluster = m.name
			verified(v)
		}
	}
	recording, end, err := m.record(ctx, s, &o)
	if err != nil {
		return err
	}
	watch, err := watcher.New(o)
	if err == nil {
		err = m.follow(ctx, s, note+recording, watch)
	}
	if err = recordedTo(end, err); err == nil || isLoss(err) {
		return err
	}
	return m.lose(ctx, s.rights.DescribeDenials(ctx, err))
}

// follow watches what a session has planned, and asks meanwhile what helps people.
func (m *member) follow(ctx context.Context, s *session, note string, watch *watcher.Watcher) error {
	ctx, stop := context.WithCancel(ctx)
	var asked sync.WaitGroup
	asked.Go(func() { m.fleet.identify(ctx, m, s.Cluster) })
	defer asked.Wait()
	reporter := m.report(s, note)
	if !s.scope.AllNamespaces {
		reporter.ReportMissingNamespaces(ctx, s.scope.Namespaces)
	}
	s.about.check(ctx, s, m.fleet.selection, reporter)
	defer reporter.Wait()
	recalling := m.recalling(s, reporter)
	checked, wait := checkFields(s, fieldsNamed(m.fleet.watching), m.fleet.sayingOnce(m), m.named(s.about.before(recalling)))
	defer wait()
	defer stop()
	if err := m.join(ctx, s); err != nil {
		return err
	}
	if err := recalling.tell(ctx); err != nil { // where nothing is to come
		return err
	}
	m.watches.Store(true)
	defer m.watches.Store(false)
	return watch.Run(ctx, checked)
}

// carryOn finds out which cluster it is, where that has to be known: for a receiver, or for the file of
// --state, of which one part is of this cluster. note says that it goes on from there.
func (m *member) carryOn(ctx context.Context, s *session) (note string, err error) {
	if _, delivers := m.fleet.to.(*delivery); !delivers && m.fleet.state == nil {
		return "", nil
	}
	uid, err := s.Identity(ctx)
	if err != nil {
		return "", fail.FromServer(s.Host, err)
	}
	source := sourceOf(uid, s.Host)
	m.source.Store(&source)
	if m.fleet.state == nil {
		return "", nil
	}
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	return m.fleet.state.join(m.name, uid, s)
}

// open begins a session. A resource that this cluster lacks, and another one may have, is waited for.
func (m *member) open(ctx context.Context, k *cluster.Cluster) (*session, error) {
	of := m.fleet.selection
	s, err := m.console.open(ctx, k, of)
	if unknown, ok := errors.AsType[*mapper.UnknownError](err); ok {
		m.fleet.tried(m, orWait(err)) // which ends the run if no cluster has it
		if ctx.Err() != nil || unknown.Hint != "" {
			return nil, err
		}
		of.request.WaitForResources = true
		if m.fleet.past.ends() { // nothing is waited for
			m.console.say(strings.Join(fail.Explain(unknown), "; "))
			if s, err = m.console.silent().open(ctx, k, of); err == nil {
				s.console = m.console
			}
			return s, err
		}
		s, err = m.console.open(ctx, k, of)
	}
	return s, err
}

func (m *member) report(s *session, note string) *report.Reporter {
	o := reporting(s, m.fleet.note(output.EscapeLine(m.name)))
	o.IsExpected = m.fleet.isWell
	reporter := report.New(m, o)
	if m.targets == nil {
		reporter.AnnounceTargets(m.planned(s), note+s.about.note())
	} else {
		reporter.SetTargets(m.planned(s))
	}
	m.reporter.Store(reporter)
	m.session.Store(s)
	return reporter
}

// join reports which targets are watched from now on, and has --until wait for what is not there.
func (m *member) join(ctx context.Context, s *session) error {
	now, before := m.planned(s), m.targets
	isIn := func(all []event.Target, t event.Target) bool {
		return slices.ContainsFunc(all, func(o event.Target) bool { return o.Key() == t.Key() })
	}
	var batch []event.Event
	for _, t := range before {
		if !isIn(now, t) {
			batch = append(batch, event.Event{Type: event.Left, Target: t, Time: time.Now(), Err: errUnplanned})
		}
	}
	for _, t := range now {
		if !isIn(before, t) {
			batch = append(batch, event.Event{Type: event.Joined, Target: t, Time: time.Now()})
		}
	}
	m.targets = now
	m.fleet.metrics.SetClusterConnected(m.name)
	if before == nil {
		m.fleet.stages.wait.opened(m.name, m.missing(s), s.plan.MatchesNoNamespace())
	}
	if s.plan.MatchesNoNamespace() {
		m.console.say("no namespace matches " + s.scope.NamespaceFlag() + " yet; waiting for one")
	}
	if len(s.plan.Targets) == 0 { // there is nothing of which something would be heard
		m.answers()
	}
	if len(batch) == 0 {
		return nil
	}
	return m.fleet.Deliver(ctx, batch)
}

var errUnplanned = errors.New("the server no longer has the resource")

// awaited is the cluster, of which nothing is watched yet.
func (m *member) awaited() until.AwaitedTarget {
	return until.AwaitedTarget{
		Name: m.name, Cluster: m.name, Reason: "it has not answered, or lacks the resource",
		Matches: func(t event.Target) bool { return t.Cluster == m.name },
	}
}

// missing is what --until waits for as the cluster does not have it.
func (m *member) missing(s *session) (missing []until.AwaitedTarget) {
	for _, miss := range s.plan.Missing {
		missing = append(missing, until.AwaitedTarget{
			Name: m.name + " " + miss.Name, Cluster: m.name, Reason: notServed,
			Matches: func(t event.Target) bool { return t.Cluster == m.name && miss.Matches(t) },
		})
	}
	return missing
}

// lose reports that the watch could not be started, of all targets or of one that will never be: then
// the others leave, which come again at the next try.
func (m *member) lose(ctx context.Context, err error) error {
	kind := event.Disconnected
	switch {
	case m.answered:
		kind = event.Left
	case apierrors.IsForbidden(err):
		kind = event.Denied
	}
	if kind == m.lost {
		return err
	}
	m.lost = kind
	var batch []event.Event
	for _, t := range m.targets {
		batch = append(batch, event.Event{Type: kind, Target: t, Time: time.Now(), Err: err})
	}
	if kind == event.Left {
		m.targets = nil
	}
	if failed := m.fleet.Deliver(ctx, batch); failed != nil {
		return failed
	}
	return err
}

// planned is what is planned at this cluster, as everything behind the watcher knows it.
func (m *member) planned(s *session) []event.Target {
	own := make([]event.Target, len(s.plan.Targets)) // not nil
	for i, t := range s.plan.Targets {
		own[i] = t
		own[i].Cluster = m.name
	}
	return own
}

// named is a Sink before next that says of each event where it comes from. The first of an object,
// or of a sync, is the answer to the first try.
func (m *member) named(next event.Sink) event.Sink {
	m.answered = false
	return event.SinkFunc(func(ctx context.Context, batch []event.Event) error {
		for i := range batch {
			batch[i].Target.Cluster = m.name
			if !m.answered && batch[i].Type != event.Heartbeat {
				m.answered = true
				m.answers()
			}
		}
		return next.Deliver(ctx, batch)
	})
}

func (m *member) answers() {
	m.lost, m.heard = "", true
	m.fleet.tried(m, nil)
	if m.why.is("") {
		m.console.say("answers")
	}
}

func (m *member) status() string {
	reporter, why := m.reporter.Load(), m.why.String()
	switch {
	case why != "":
		return "trying again: " + why
	case reporter == nil:
		return "connecting"
	}
	return reporter.Status()
}
