package run

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
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/source"
	"dwatch/watcher/until"
)

// member is one of several clusters. Its goroutine connects and watches again and again until it is stopped. It is one type
// because each connection replaces the session that the goroutine uses and others read.
type member struct {
	of      *clusters
	context cluster.KubeContext
	name    string
	console *console.Console // names the cluster
	tried   bool             // the result of the first try is known; guarded by clusters.mu

	memberState

	// What other goroutines read:
	unreachable lastReason // why the cluster does not answer
	session     atomic.Pointer[Session]
	reporter    atomic.Pointer[report.Reporter]
	watches     atomic.Bool
	origin      atomic.Pointer[string] // the source of CloudEvents

	stop  context.CancelFunc
	ended chan struct{} // closed when the goroutine has ended
}

// memberState belongs to the goroutine of a member.
type memberState struct {
	everAnswered  bool
	answered      bool           // an event came in this try
	targets       []event.Target // that have joined
	lost          event.Type     // the status event that was delivered since they were lost, or empty
	pastDelivered bool           // --since, --before: the past was delivered
	sameCluster   string         // another name of this cluster, which was reported
}

// lastReason is a message that is reported when it changes.
type lastReason struct {
	mu   sync.Mutex
	text string
}

func (r *lastReason) set(text string) (changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed = r.text != text
	r.text = text
	return changed
}

func (r *lastReason) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text
}

func (c *clusters) newMember(of cluster.KubeContext) *member {
	return &member{of: c, context: of, name: of.Name, console: c.console.ForCluster(of.Name), ended: make(chan struct{})}
}

// start runs the member in a goroutine until ctx ends or it leaves.
func (m *member) start(ctx context.Context, working *sync.WaitGroup) {
	ctx, m.stop = context.WithCancel(ctx)
	working.Go(func() {
		defer close(m.ended)
		defer m.stop()
		m.run(ctx)
	})
}

var (
	errContextRemoved = errors.New("the context is no longer in the kubeconfig")
	errContextChanged = errors.New("context changed, restarting its watches")
	errNotPlanned     = errors.New("the server no longer has the resource")
)

// leave ends the watch, and delivers the reason for all targets.
func (m *member) leave(ctx context.Context, why error) {
	m.stop()
	<-m.ended
	if s := m.session.Load(); s != nil {
		m.of.left.Store(m.name, s)
	}
	restarts := errors.Is(why, errContextChanged)
	if restarts { // before the condition forgets the objects, which might decide it
		m.of.run.condition.clusterRestarts(m.awaited())
	}
	var batch []event.Event
	for _, t := range m.targets {
		batch = append(batch, event.Event{Type: event.Left, Target: t, Time: time.Now(), Err: why})
	}
	m.console.Say(why.Error())
	m.of.run.metrics.RemoveCluster(m.name) // before the events are delivered
	if len(batch) > 0 {
		_ = m.of.Deliver(ctx, batch) // an error ends the run by itself
	}
	m.of.forget(m, restarts)
}

// run watches again and again until ctx ends or events are lost. With --before, it tries only once.
func (m *member) run(ctx context.Context) {
	sayAliases(m.console, m.context)
	var backoff source.Backoff
	for {
		err := m.watch(ctx)
		switch {
		case ctx.Err() != nil || err == nil:
			return
		case IsLoss(err):
			m.of.fail(err)
			return
		}
		if m.of.tried(m, err); ctx.Err() != nil {
			return
		}
		why := strings.Join(fail.Explain(err), "; ")
		if m.of.run.cfg.OnlyPast() {
			m.of.missPast(ctx, m, why)
			return
		}
		// --quiet does not hide this: all changes of the cluster are missing.
		if m.unreachable.set(why) {
			m.console.Warn(why + "; trying again")
		}
		if !backoff.Wait(ctx, err) {
			return
		}
	}
}

// watch is one try. It returns why it ended, or nil when ctx has ended.
func (m *member) watch(ctx context.Context) error {
	m.answered = false
	k, err := m.context.Flags.Connect(m.console.Connection())
	if err != nil {
		return err
	}
	s, err := m.open(ctx, k)
	if err != nil {
		return err
	}
	note, err := m.resumeFromState(ctx, s)
	if err != nil {
		return err
	}
	r := m.of.run
	o := r.watchOptions(s)
	o.History = r.state.historyOf(m.name, &m.of.mu)
	if verified := o.OnVerified; verified != nil {
		o.OnVerified = func(v watcher.Verification) {
			v.Target.Cluster = m.name
			verified(v)
		}
	}
	recorder, err := r.recordings.forCluster(s.Console, m.name)
	if err != nil {
		return err
	}
	if recorder != nil {
		if err := recorder.begin(ctx, s, &o); err != nil {
			recorder.abandon()
			return err
		}
	}
	watch, err := watcher.New(o)
	if err == nil {
		err = m.follow(ctx, s, note+recorder.note(), recorder, watch)
	}
	if err = recorder.endTry(m.answered, err); err == nil || IsLoss(err) {
		return err
	}
	return m.lose(ctx, s.Rights.DescribeDenials(ctx, err))
}

// open opens a session. If this cluster lacks a resource that another one may have, it waits for it.
func (m *member) open(ctx context.Context, k *cluster.Cluster) (*Session, error) {
	of := m.of.run.cfg.Selection
	s, err := OpenSession(ctx, m.console, k, of)
	if unknown, ok := errors.AsType[*mapper.UnknownError](err); ok {
		m.of.tried(m, SuggestWait(err)) // this ends the run if no cluster has the resource
		if ctx.Err() != nil || unknown.Hint != "" {
			return nil, err
		}
		of.Request.WaitForResources = true
		if m.of.run.cfg.OnlyPast() { // it does not wait
			m.console.Say(strings.Join(fail.Explain(unknown), "; "))
			if s, err = OpenSession(ctx, m.console.WithoutReports(), k, of); err == nil {
				s.Console = m.console
			}
			return s, err
		}
		s, err = OpenSession(ctx, m.console, k, of)
	}
	return s, err
}

// resumeFromState gets the UID of the cluster, if a receiver or the state file needs it, and adds the cluster to the state file. note
// says that the run continues from the file.
func (m *member) resumeFromState(ctx context.Context, s *Session) (note string, err error) {
	r := m.of.run
	if !r.needs.Identity && r.state == nil {
		return "", nil
	}
	uid, err := s.Cluster.Identity(ctx)
	if err != nil {
		return "", fail.FromServer(s.Cluster.Host, err)
	}
	origin := CloudEventSource(uid, s.Cluster.Host)
	m.origin.Store(&origin)
	if r.state == nil {
		return "", nil
	}
	m.of.mu.Lock()
	defer m.of.mu.Unlock()
	return r.state.addCluster(m.name, uid, s)
}

// follow watches what a session has planned.
func (m *member) follow(ctx context.Context, s *Session, note string, recorder *recorder, watch *watcher.Watcher) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	scope := newWatchScope(s)
	var asked sync.WaitGroup
	asked.Go(func() { m.identify(ctx, s.Cluster, scope) })
	defer asked.Wait()
	r := m.of.run
	of := &clusterPipeline{
		session: s, name: m.name, warn: m.of.warnOnce(m), answered: func() { m.answered = true; m.noteAnswer() }, recorder: recorder,
		past: m.newClusterPast(s), report: reportOptions(s, m.of.note(m.name)),
	}
	of.report.IsExpected = m.of.holdsWithoutObjects
	head, err := (&pipeline{Run: r, ctx: ctx}).buildCluster(of, m.of)
	if err != nil {
		return err
	}
	m.begin(s, of.reporter, note)
	if !s.Request.AllNamespaces {
		of.reporter.ReportMissingNamespaces(ctx, s.Request.Namespaces)
	}
	s.subject.check(ctx, s, r.cfg.Selection, of.reporter)
	defer of.reporter.Wait()
	for _, wait := range of.waits {
		defer wait()
	}
	defer stop()
	if err := m.join(ctx, s); err != nil {
		return err
	}
	if of.past != nil {
		if err := of.past.deliverIfSynced(ctx); err != nil { // without targets no event would do that
			return err
		}
	}
	m.watches.Store(true)
	defer m.watches.Store(false)
	return watch.Run(ctx, head)
}

// identify warns if another context leads to the same cluster and may watch the same objects.
func (m *member) identify(ctx context.Context, k *cluster.Cluster, scope watchScope) {
	if other := m.of.uids.identify(ctx, m.name, k, scope); other != "" && other != m.sameCluster {
		m.sameCluster = other
		m.console.Warn(describeSameCluster(other, "events may be reported twice"))
	}
}

// begin announces the watched targets. If the member has no targets yet, or has lost all of them, it announces all targets with note.
func (m *member) begin(s *Session, reporter *report.Reporter, note string) {
	if m.targets == nil {
		reporter.AnnounceTargets(m.planned(s), note+s.subject.note())
	} else {
		reporter.SetTargets(m.planned(s))
	}
	m.reporter.Store(reporter)
	m.session.Store(s)
}

// join delivers which targets are watched, and makes --until wait for the resources that the cluster lacks.
func (m *member) join(ctx context.Context, s *Session) error {
	now, before := m.planned(s), m.targets
	isIn := func(all []event.Target, t event.Target) bool {
		return slices.ContainsFunc(all, func(o event.Target) bool { return o.Key() == t.Key() })
	}
	var batch []event.Event
	for _, t := range before {
		if !isIn(now, t) {
			batch = append(batch, event.Event{Type: event.Left, Target: t, Time: time.Now(), Err: errNotPlanned})
		}
	}
	for _, t := range now {
		if !isIn(before, t) {
			batch = append(batch, event.Event{Type: event.Joined, Target: t, Time: time.Now()})
		}
	}
	m.targets = now
	m.of.run.metrics.SetClusterConnected(m.name)
	if before == nil {
		m.of.run.condition.clusterOpened(m.name, m.missing(s), s.Plan.MatchesNoNamespace())
	}
	if s.Plan.MatchesNoNamespace() {
		m.console.Say("no namespace matches " + s.Request.NamespaceFlag() + " yet; waiting for one")
	}
	if len(s.Plan.Targets) == 0 { // no event will show that the cluster answers
		m.noteAnswer()
	}
	if len(batch) == 0 {
		return nil
	}
	return m.of.Deliver(ctx, batch)
}

// awaited is the cluster itself, for --until, as long as nothing of it is watched.
func (m *member) awaited() until.AwaitedTarget {
	return until.AwaitedTarget{
		Name: m.name, Cluster: m.name, Reason: "it has not answered, or lacks the resource",
		Matches: func(t event.Target) bool { return t.Cluster == m.name },
	}
}

// missing are the resources that the cluster lacks, for --until.
func (m *member) missing(s *Session) (missing []until.AwaitedTarget) {
	for _, miss := range s.Plan.Missing {
		missing = append(missing, until.AwaitedTarget{
			Name: m.name + " " + miss.Name, Cluster: m.name, Reason: notServed,
			Matches: func(t event.Target) bool { return t.Cluster == m.name && miss.Matches(t) },
		})
	}
	return missing
}

// lose delivers that the watch has ended with err. If the cluster had answered in this try, all targets leave, and the next try starts
// without them. --until then waits for the cluster. Otherwise the targets are disconnected or denied. lose returns err, or the error
// of the delivery.
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
		m.of.run.condition.clusterRestarts(m.awaited()) // before the condition forgets the objects, which might decide it
	}
	if failed := m.of.Deliver(ctx, batch); failed != nil {
		return failed
	}
	return err
}

// planned are the targets of a session with the name of the cluster. They are never nil.
func (m *member) planned(s *Session) []event.Target {
	own := make([]event.Target, len(s.Plan.Targets))
	for i, t := range s.Plan.Targets {
		own[i] = t
		own[i].Cluster = m.name
	}
	return own
}

// noteAnswer notes that the cluster answers.
func (m *member) noteAnswer() {
	m.lost, m.everAnswered = "", true
	m.of.tried(m, nil)
	if m.unreachable.set("") {
		m.console.Say("answers")
	}
}

func (m *member) status() string {
	reporter, why := m.reporter.Load(), m.unreachable.String()
	switch {
	case why != "":
		return "trying again: " + why
	case reporter == nil:
		return "connecting"
	}
	return reporter.Status()
}
