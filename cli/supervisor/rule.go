package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"

	"dwatch/cli/console"
	"dwatch/cli/destination"
	"dwatch/cli/fail"
	"dwatch/cli/run"
	"dwatch/output"
	"dwatch/watcher/broadcast"
	"dwatch/watcher/event"
)

// activeRule is the run of a rule: prepared (receiver), opened (session), begun (stages), running, leaving, done. It is one
// type because each phase of a rule needs what the earlier phases have made.
type activeRule struct {
	*Rule
	set      *Supervisor
	console  *console.Console
	messages *heldMessages         // holds messages until the rule is accepted, or nil
	receiver *destination.Receiver // nil for a replica that stands by
	run      *run.Run
	session  *run.Session
	state    *run.State     // nil without --state
	asked    []event.Target // its targets, and further ones from its state file
	sub      *broadcast.Subscriber
	wait     func()    // waits for questions to the server
	began    time.Time // when the stages were made

	succession
	stop         context.CancelFunc // ends the rule
	draining     context.Context    // when it ends, a rule with keepsOn has --drain left to deliver what waits
	stopDraining context.CancelFunc // ends draining; nil until the rule runs
	drained      chan struct{}      // closed when the stages have all events
	done         chan struct{}      // closed when all of the rule has ended
	waits        atomic.Bool        // it does not run yet
	leaves       atomic.Bool        // it was removed or changed, and ends nothing but itself
	keepsOn      atomic.Bool        // after it left, it delivers what waits until draining ends
}

// succession is how a rule continues another one.
type succession struct {
	replaces    bool        // a rule with the same name ran before
	predecessor *activeRule // whose checkpoint it continues from, or nil
	skipped     *activeRule // a rule between the two that never ran, or nil
	newState    bool        // its state file did not exist
}

// newActiveRule returns a rule that has not been prepared.
func newActiveRule(r *Rule, set *Supervisor) *activeRule {
	one := &activeRule{Rule: r, set: set, drained: make(chan struct{}), done: make(chan struct{})}
	one.waits.Store(true)
	return one
}

// prepare makes the receiver. Messages about a rule that is added while others run wait until it is accepted.
func (r *activeRule) prepare() error {
	s := r.set
	r.console = s.console.ForRule(r.Name)
	if s.started && !r.console.IsQuiet() {
		r.messages = &heldMessages{next: r.console.Reports}
		r.console.Reports = r.messages
	}
	cfg := r.Config
	cfg.Verify = 0 // the shared watch verifies
	var to run.Destination = destination.Nothing{}
	if s.standBy {
		cfg = run.StandBy(cfg)
	} else {
		o := r.Receiver
		o.Rule, o.Term, o.DrainUntil = r.Name, s.term, r.drainUntil
		o.OnBlocked = func(held bool) { r.sub.SetBlocked(held) }
		r.receiver = destination.NewReceiver(o)
		to = r.receiver
	}
	r.run = run.New(r.console, cfg, to)
	r.run.SetTerm(s.term)
	if s.measured != nil || s.Listen != "" {
		cfg.Verify = s.Verify
		r.run.SetMetrics(run.NewMetrics(&cfg))
	}
	if err := r.run.Prepare(); err != nil {
		r.run = nil
		return s.errorOf(r, err)
	}
	return nil
}

// open resolves the names of the rule. A mistake is a usage error with its place in the file.
func (r *activeRule) open(ctx context.Context) error {
	of, err := r.Config.Selection.WithShard()
	if err != nil {
		return err
	}
	r.session, err = run.OpenSession(ctx, r.console, r.set.cluster, of)
	switch {
	case err != nil && fail.ExitCode(err) == fail.ExitUsage:
		return run.PrefixError(r.FlagPosition("resource")+": rule "+r.Name, run.SuggestWait(err))
	case err != nil:
		return r.set.errorOf(r, err)
	case !r.set.started:
		return nil // the watch finds out whether the server understands the selector, and ends the process
	}
	if err := r.checkFieldSelector(ctx); err != nil {
		return run.PrefixError(r.FlagPosition("field-selector")+": rule "+r.Name, err)
	}
	return nil
}

// selectorTimeout is how long the server may take to check a field selector.
const selectorTimeout = 10 * time.Second

// checkFieldSelector returns a usage error if the server does not understand the field selector. Any other error is left to the watch.
func (r *activeRule) checkFieldSelector(ctx context.Context) error {
	s := r.session.Plan.Selection
	if s.Fields == "" {
		return nil
	}
	k := r.session.Cluster
	objects, err := metadata.NewForConfigAndClient(k.QuietConfig(), k.HTTP)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, selectorTimeout)
	defer cancel()
	asked := map[event.Key]bool{}
	for _, t := range r.session.Plan.Targets {
		of := t
		of.Name = ""
		if asked[of.Key()] {
			continue
		}
		asked[of.Key()] = true
		_, err := objects.Resource(t.Resource()).Namespace(t.Namespace).List(ctx, metav1.ListOptions{FieldSelector: s.Fields, Limit: 1})
		if err != nil && isMalformed(err) {
			return fail.Usage(&event.TargetError{Target: t, Err: err})
		}
	}
	return nil
}

// checkSuccession returns an error if the rule cannot continue from the checkpoint of its predecessor.
func (r *activeRule) checkSuccession(ctx context.Context) error {
	if err := r.checkState(); err != nil {
		return fail.Usage(err)
	}
	if r.receiver == nil {
		return nil
	}
	return r.receiver.Identify(ctx, r.console, r.session.Scope())
}

func (r *activeRule) checkState() error {
	if r.stateFile() == "" {
		return nil
	}
	p := r.predecessor
	if before, now := p.session.Plan.Selection, r.session.Plan.Selection; !before.Equal(now) {
		return fmt.Errorf("its state file %s was made for %s, not for %s: give it another name", output.EscapeLine(r.stateFile()), before, now)
	}
	if p.state == nil {
		return nil
	}
	err := p.state.CheckFormat(r.Config.Print.Format)
	if hasEnded(p.done) { // the file was closed: opening it finds out
		return nil
	}
	return err
}

func (r *activeRule) stateFile() string { return r.run.Config().StateFile }

// begin opens the state file and makes the stages and the subscriber.
func (r *activeRule) begin(ctx context.Context) (err error) {
	r.began = time.Now()
	_, err = os.Stat(r.stateFile())
	r.newState = r.stateFile() != "" && errors.Is(err, fs.ErrNotExist)
	sink, wait, err := r.run.Subscribe(ctx, r.session, r.fails)
	if err != nil {
		return err
	}
	plan := r.session.Plan
	r.wait, r.state = wait, r.run.State()
	r.asked = slices.Concat(plan.Targets, r.state.OrphanedTargets(plan))
	r.sub, err = broadcast.NewSubscriber(sink, broadcast.Options{
		Targets: r.asked, AllTargets: plan.IsDynamic() || r.session.HasSubject(),
		History: r.history(), KeepContent: r.run.Needs().Old,
		FallbackWatch: r.watchAlone,
		OnDetached: func() {
			r.console.Warn("outbox full, detached from the shared watch: it continues with a watch of its own when there is room")
		},
	})
	if note := strings.TrimPrefix(r.state.Note(), ", "); note != "" {
		r.console.Say(note)
	}
	return err
}

// history is the checkpoint: the state file, or what the predecessor has delivered if it asked for the same.
func (r *activeRule) history() event.HistoryFunc {
	if p := r.predecessor; r.state == nil && p != nil && p.sub != nil && r.session.Plan.Selection.Equal(p.session.Plan.Selection) {
		return p.sub.History
	}
	return r.state.History()
}

// watchAlone watches for the rule alone when its subscriber was detached from a shared watch.
func (r *activeRule) watchAlone(ctx context.Context, sink event.Sink, targets []event.Target, past event.HistoryFunc) error {
	r.set.stopIdleWatches()
	w := &sharedWatch{set: r.set, rules: []*activeRule{r}, targets: targets, history: past, sink: sink, isLate: true}
	w.Session, w.Selection, w.Namespaces = r.session, r.Config.Selection, r.session.Request.Namespaces
	r.set.mu.Lock()
	r.set.watches = append(slices.Clone(r.set.watches), w)
	r.set.mu.Unlock()
	defer r.set.removeWatch(w)
	return w.run(ctx)
}

// fails ends the process with the error of the rule, unless the rule leaves.
func (r *activeRule) fails(err error) {
	if !r.leaves.Load() {
		r.set.fail(err)
	}
}

// drainUntil makes the receiver deliver what waits until draining ends, if the rule was changed and has no state file.
func (r *activeRule) drainUntil() <-chan struct{} {
	if !r.keepsOn.Load() {
		return nil
	}
	return r.draining.Done()
}

// start runs the rule in a goroutine.
func (r *activeRule) start(process context.Context) {
	var ctx context.Context
	r.draining, r.stopDraining = context.WithCancel(process)
	ctx, r.stop = context.WithCancel(process)
	r.waits.Store(false)
	r.set.running.Go(func() {
		defer close(r.done)
		defer r.stopDraining()
		defer r.stop()
		defer r.run.Close()
		err := r.deliver(ctx)
		switch {
		case err == nil:
		case r.leaves.Load():
			r.leftWith(err, process.Err() != nil)
		default:
			r.set.end(err)
		}
	})
}

// deliver delivers what the subscriber gets until it is unsubscribed.
func (r *activeRule) deliver(ctx context.Context) error {
	watch := func() error {
		err := r.sub.Run(ctx)
		if err != nil && !run.IsLoss(err) && fail.ExitCode(err) != fail.ExitUsage {
			err = run.LossError{Err: err}
		}
		return err
	}
	err := r.run.Deliver(ctx, r.fails, watch, func(err error) error {
		if err != nil { // the others do not wait for what this one has to drain
			r.fails(err)
		}
		r.wait()
		close(r.drained)
		return err
	})
	if err = r.run.CloseState(err); err != nil {
		return run.LossError{Err: fmt.Errorf("rule %s: %w", r.Name, err)}
	}
	return nil
}

// leftWith reports the error of a rule that leaves. The process fails with it if the process ends now, or if keepsOn is set.
func (r *activeRule) leftWith(err error, ends bool) {
	if !ends {
		for _, line := range fail.Explain(err) {
			r.set.console.Warn(line)
		}
	}
	if ends || r.keepsOn.Load() {
		r.set.addFailure(err)
	}
}

// checkReceiver finds out whether the receiver and its files can be made.
func (r *Rule) checkReceiver(c *console.Console) error {
	d := destination.NewReceiver(r.Receiver)
	if err := d.CheckDeadLetters(); err != nil {
		return fmt.Errorf("%s: rule %s: %w", r.FlagPosition("dead-letters"), r.Name, err)
	}
	err := d.Check(c)
	if err == nil {
		return nil
	}
	at := r.FlagPosition("to")
	if at == r.Position {
		at = r.FlagPosition("to-file")
	}
	return fail.Usage(fmt.Errorf("%s: rule %s: %w", at, r.Name, err))
}

// heldMessages buffers the messages about a rule until the rule is accepted, so that a retry of the file does not repeat them.
type heldMessages struct {
	mu       sync.Mutex
	next     io.Writer
	lines    [][]byte
	released bool
}

// Write implements io.Writer. Each call must contain whole lines.
func (m *heldMessages) Write(line []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.released {
		return m.next.Write(line)
	}
	m.lines = append(m.lines, slices.Clone(line))
	return len(line), nil
}

// release writes the messages. A nil one has none.
func (m *heldMessages) release() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, line := range m.lines {
		_, _ = m.next.Write(line) // there is no other place to report an error of stderr
	}
	m.lines, m.released = nil, true
}
