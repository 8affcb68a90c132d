package destination

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lease"
	"dwatch/cli/run"
	"dwatch/cli/version"
	"dwatch/output"
	"dwatch/output/chat"
	"dwatch/output/deliver"
	"dwatch/output/deliver/jetstream"
	"dwatch/output/deliver/webhook"
	"dwatch/watcher/event"
)

// Receiver sends events to a webhook, a NATS server, Kafka, or a command (dwatch send). It embeds its options because most
// steps of a delivery read some of them.
type Receiver struct {
	ReceiverOptions

	receiver  deliver.Receiver
	remote    remote           // receiver if it has an address, or nil
	process   *deliver.Process // receiver if it is one program for all messages (--batch), or nil
	queue     *deliver.Queue
	endAborts func() // ends the aborts that an expired Lease causes, or nil
}

// ReceiverOptions say where events go, and how. Its fields are independent settings.
type ReceiverOptions struct {
	flags.Delivery
	Needs run.Requirements
	// Chat makes messages for people. If nil, programs get the events.
	Chat *flags.Chat
	// Rule is the name of the rule that the receiver belongs to, or empty.
	Rule string
	// StateFile is the path of --state, or empty.
	StateFile string
	// Term is the term of a Lease in which events are delivered, or nil.
	Term *lease.Term
	// Async, if not nil, runs a check of the receiver in the background. Its error ends the run.
	Async func(check func() error)
	// DrainUntil, if not nil, is called when the watch has ended. The queue is delivered until the channel is closed, and only then
	// --drain begins. It may return nil.
	DrainUntil func() <-chan struct{}
}

var _ run.Destination = (*Receiver)(nil)

// NewReceiver returns the Receiver for o.
func NewReceiver(o ReceiverOptions) *Receiver { return &Receiver{ReceiverOptions: o} }

// remote is a receiver that has an address.
type remote interface {
	deliver.Receiver
	SetSource(source string)
	Close()
}

// aborter is a remote that continues what no attempt waits for any more, until it is aborted.
type aborter interface{ Abort() }

// checker is a remote that needs a stream or a topic.
type checker interface {
	Check(ctx context.Context) error
}

// Requirements implements run.Destination.
func (d *Receiver) Requirements() run.Requirements {
	n := d.Needs
	n.Identity, n.Outbox, n.Workers = true, true, d.Workers
	return n
}

// Prepare makes the receiver and checks its files.
func (d *Receiver) Prepare(c *console.Console) error {
	if err := d.connect(c); err != nil {
		return fail.Usage(err)
	}
	if err := d.checkDeadLetters(deliver.DeadLetterFile.Check); err != nil {
		return err
	}
	if d.DeadLetters != "" {
		c.WarnIfReadable("--dead-letters", string(d.DeadLetters))
	}
	return nil
}

// Check finds out whether the receiver can be made, without creating files.
func (d *Receiver) Check(c *console.Console) error {
	if err := d.CheckDeadLetters(); err != nil {
		return err
	}
	if err := d.connect(c); err != nil {
		return fail.Usage(err)
	}
	d.Close()
	return nil
}

// CheckDeadLetters finds out whether dead letters could be written.
func (d *Receiver) CheckDeadLetters() error {
	return d.checkDeadLetters(deliver.DeadLetterFile.CheckPath)
}

func (d *Receiver) checkDeadLetters(check func(deliver.DeadLetterFile) error) error {
	if d.DeadLetters == "" {
		return nil
	}
	for flag, path := range map[string]string{"--state": d.StateFile, "--redeliver": d.RedeliverFile} {
		if SameFile(string(d.DeadLetters), path) {
			return fail.Usage(fmt.Errorf("--dead-letters and %s are the same file: give each its own", flag))
		}
	}
	if err := check(d.DeadLetters); err != nil {
		return fail.Usage(fmt.Errorf("--dead-letters: %w", err))
	}
	return nil
}

// SameFile reports whether two paths lead to one file, which need not exist. An empty path leads nowhere.
func SameFile(a, b string) bool {
	switch {
	case a == "" || b == "":
		return false
	case filepath.Clean(a) == filepath.Clean(b):
		return true
	}
	same := func(a, b string) bool {
		one, errOne := os.Stat(a)
		other, errOther := os.Stat(b)
		return errOne == nil && errOther == nil && os.SameFile(one, other)
	}
	return same(a, b) || filepath.Base(a) == filepath.Base(b) && same(filepath.Dir(a), filepath.Dir(b))
}

// connect makes the receiver and sets its name, without a password. Its errors are usage errors.
func (d *Receiver) connect(c *console.Console) (err error) {
	switch {
	case d.IsNATS():
		d.Name = d.URL.Scheme + "://" + d.URL.Host + d.URL.Path
		d.remote, err = d.newJetStream(c)
	case d.IsKafka():
		d.Name = d.URL.Scheme + "://" + d.URL.Host + d.URL.Path
		o := d.Kafka
		o.TLS, o.NoPlain = d.TLS, d.SendsPlaintext()
		if d.remote, err = newKafka(o); err == nil && d.SendsPlaintext() {
			c.Say("warning: --to kafka:// sends the events unencrypted: others can read and change them")
		}
	case d.URL != nil:
		d.Name = d.Origin()
		o := d.Webhook
		o.URL, o.UserAgent, o.Workers, o.TLS = d.URL, version.UserAgent(), d.Workers, d.TLS
		if d.Chat != nil && slices.Contains(webhook.Services(), d.Chat.Form) {
			o.Service = d.Chat.Form
		}
		if d.remote, err = webhook.New(o); err == nil && d.SendsPlaintext() {
			c.Say("warning: --to http:// sends the events unencrypted: others can read and change them")
		}
	default:
		return d.newCommand(c)
	}
	d.receiver = d.remote
	return err
}

func (d *Receiver) newCommand(c *console.Console) error {
	command, err := deliver.NewCommand(d.Command)
	if err != nil {
		return err
	}
	d.Name, command.Output, d.receiver = d.Command[0], c.Err, command
	if d.Batch {
		d.process = deliver.NewProcess(command, output.EscapeLine(d.Name), c.Warn)
		d.receiver = d.process
	}
	return nil
}

func (d *Receiver) newJetStream(c *console.Console) (*jetstream.Receiver, error) {
	o, a := d.NATS, d.URL
	o.Server, o.Prefix = a.Scheme+"://"+a.Host, strings.TrimPrefix(a.Path, "/")
	o.Rule = d.Rule
	o.Deadline, o.TLS, o.Log = d.Deadline, d.TLS, func(line string) { c.Say(output.EscapeLine(line)) }
	if a.RawQuery != "" || a.ForceQuery || a.Fragment != "" {
		return nil, fmt.Errorf("invalid --to: it is %s://HOST/PREFIX, with nothing behind", a.Scheme)
	}
	if err := jetstream.CheckPrefix(o.Prefix); err != nil {
		return nil, fmt.Errorf("invalid --to: %s://HOST/PREFIX takes a prefix of subjects, such as dwatch or events.prod: %w", a.Scheme, err)
	}
	return jetstream.New(o)
}

// Close closes the connections.
func (d *Receiver) Close() {
	if d.endAborts != nil {
		d.endAborts()
	}
	if d.remote != nil {
		d.remote.Close()
	}
}

// Open makes the queue of events.
func (d *Receiver) Open(ctx context.Context, env *run.Environment) (_ run.Output, err error) {
	if err := d.Identify(ctx, env.Console, env.Scope); err != nil {
		return run.Output{}, err
	}
	if d.Encode, err = d.newEncoder(env); err != nil {
		return run.Output{}, err
	}
	d.Subject = func(e event.Event) string { return env.Scope.Subject(e.Target, e.Object) }
	if env.State != nil {
		d.Store = env.State.Outbox()
		if !env.State.IsNew() {
			run.TuneLong() // reading what waits takes more memory than the way to the first event
		}
	}
	d.newQueue(env.Console, env.Fail)
	waiting, err := d.queue.Restore()
	if err != nil {
		return run.Output{}, fail.Usage(err)
	}
	if env.State != nil {
		env.State.SetWaiting(waiting)
	}
	env.Metrics.SetDeliveryStats(d.queue.Stats)
	around := func(ctx context.Context, _ context.CancelCauseFunc, watch func() error) error {
		return d.around(ctx, env, watch)
	}
	return run.Output{Sink: d.queue, Around: around, Status: d.Status}, nil
}

// Identify tells a receiver with an address which cluster the events come from, and checks what it needs.
func (d *Receiver) Identify(ctx context.Context, c *console.Console, scope *run.Scope) error {
	if d.remote == nil {
		return nil
	}
	if scope.Clusters != nil {
		d.Source = func(cluster string) string {
			source, _ := scope.Origin(ctx, cluster) // a cluster whose events come has answered
			return source
		}
		if r, isStream := d.remote.(*jetstream.Receiver); isStream {
			r.MultiCluster = true
		}
		return d.check(ctx, c)
	}
	source, err := scope.Origin(ctx, "")
	if err != nil {
		return err
	}
	d.remote.SetSource(source)
	if _, needs := d.remote.(checker); needs && d.Async != nil {
		d.Async(func() error { return d.check(ctx, c) })
		return nil
	}
	return d.check(ctx, c)
}

// check looks for the stream or topic that the receiver needs. A server that cannot be reached may come later.
func (d *Receiver) check(ctx context.Context, c *console.Console) error {
	r, needs := d.remote.(checker)
	if !needs {
		return nil
	}
	err := r.Check(ctx)
	if setup, ok := errors.AsType[*deliver.SetupError](err); ok {
		return fail.Usage(setup)
	}
	if down, ok := errors.AsType[*deliver.DownError](err); ok && ctx.Err() == nil {
		c.Say(fmt.Sprintf("%s: %s; buffering events and retrying", d.Name, output.EscapeLine(down.Error())))
		return nil
	}
	return err
}

func (d *Receiver) newEncoder(env *run.Environment) (func([]byte, event.Event) ([]byte, error), error) {
	if d.Chat == nil {
		return output.NewEncoder(env.Print)
	}
	view := changesOptions(env, flags.View{})
	view.Width, view.Color = nil, false
	place := ""
	switch scope := env.Scope; {
	case scope.Clusters != nil: // each event names its cluster
	case scope.IsRecorded():
		place = cmp.Or(d.Chat.Cluster, scope.Server)
	default:
		place = cmp.Or(d.Chat.Cluster, scope.Cluster)
	}
	return chat.NewEncoder(chat.Options{Format: d.Chat.Form, Template: d.Chat.Template, Cluster: place, View: view, Warn: env.Console.Warn})
}

func (d *Receiver) newQueue(c *console.Console, failed func(error)) {
	if d.Term != nil {
		d.BeginAttempt = d.Term.HeldContext
		d.abortWith(d.Term)
	}
	d.Log, d.Warn, d.OnStorageError, d.Options.Rule = c.Say, c.Warn, failed, d.Rule
	d.queue = deliver.New(d.receiver, d.Options)
}

// abortWith makes sure that no attempt, cut short or earlier, is still under way when another replica may hold the Lease.
func (d *Receiver) abortWith(term *lease.Term) {
	remote, is := d.remote.(aborter)
	if !is {
		return
	}
	d.endAborts = term.OnExpire(remote.Abort)
	d.BeginAttempt = func(ctx context.Context) (context.Context, context.CancelFunc, error) {
		try, end, err := term.HeldContext(ctx)
		return try, func() {
			if try.Err() != nil {
				remote.Abort()
			}
			end()
		}, err
	}
}

// Status says how much waits and how the receiver is.
func (d *Receiver) Status() string {
	if d == nil || d.queue == nil {
		return ""
	}
	return d.queue.Status()
}

// Waiting is the number of events that wait.
func (d *Receiver) Waiting() int {
	if d == nil || d.queue == nil {
		return 0
	}
	return d.queue.Stats().Waiting
}

// drainReported is how long draining may take before a message reports it.
const drainReported = time.Second

// around delivers while watch runs, and then drains the queue.
func (d *Receiver) around(ctx context.Context, env *run.Environment, watch func() error) error {
	drain := d.start(ctx)
	err := watch()
	d.queue.Drain()
	var until <-chan struct{}
	if d.DrainUntil != nil {
		until = d.DrainUntil()
	}
	drain(env.Console, until)
	return run.JoinUndelivered(ctx, err, d.undelivered(env))
}

// start starts to deliver. drain waits until the queue is empty or, with a state file, the receiver is down. It waits until the channel is
// closed, and then for at most --drain. If the Lease is lost, it does not wait for deliveries.
func (d *Receiver) start(ctx context.Context) (drain func(c *console.Console, until <-chan struct{})) {
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.queue.Run(working)
	}()
	return func(c *console.Console, until <-chan struct{}) {
		defer stop()
		if run.HasLostLease(ctx) { // another replica delivers what waits
			stop()
		}
		if until != nil {
			select {
			case <-done:
			case <-until:
			}
		}
		defer time.AfterFunc(d.DrainTimeout, stop).Stop()
		defer time.AfterFunc(drainReported, func() {
			c.Say(fmt.Sprintf("waiting up to %s for undelivered events; Ctrl-C ends dwatch at once", d.DrainTimeout))
		}).Stop()
		<-done
		if d.process != nil {
			d.process.Shutdown(working)
		}
	}
}

// undelivered reports what became of the events, and returns an error if some were not delivered.
func (d *Receiver) undelivered(env *run.Environment) error {
	summary, undelivered := d.queue.Summary()
	say, state := env.Console.Say, env.State
	say(summary)
	switch kept := d.queue.Stats().Waiting; {
	case state == nil || kept == 0:
	case state.Check() != nil: // closing the file reports it
	case kept == 1:
		say("1 event waits in " + state.Path() + ": the next run with it delivers it")
	default:
		say(fmt.Sprintf("%d events wait in %s: the next run with it delivers them", kept, state.Path()))
	}
	switch broken := d.queue.Err(); {
	case broken != nil:
		return run.LossError{Err: broken}
	case undelivered == 1:
		return run.LossError{Err: fmt.Errorf("1 event was not delivered to %s", d.queue.Name)}
	case undelivered > 1:
		return run.LossError{Err: fmt.Errorf("%d events were not delivered to %s", undelivered, d.queue.Name)}
	}
	return nil
}
