package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"dwatch/output/deliver"
)

// receiverFlags say where events go in place of stdout, and how. A command is not a flag:
// it is what stands after "--".
type receiverFlags struct {
	natsFlags
	tlsFlags
	webhookFlags
	to          string // an address
	batch       bool
	workers     int
	deadline    time.Duration
	maxBackoff  time.Duration
	rate        float64
	giveUpAfter time.Duration
	deadLetters string
	redeliver   string // a file; empty: none
	drain       time.Duration
	outboxSize  string // a quantity; empty: the default
	latest      bool
}

// receiverOnly are the names of the flags that a receiver takes, and nothing else.
var receiverOnly = []string{"batch", "workers", "deadline", "max-backoff", "rate", "give-up-after", "dead-letters", "redeliver", "drain", "outbox-size", "latest"}

func (o *options) addReceiverFlags(f *pflag.FlagSet) {
	r := &o.receiverFlags
	f.StringVar(&r.to, "to", "", "Send each event to `URL` in place of stdout: "+schemeNames())
	f.BoolVar(&r.batch, "batch", false, "Start the command after -- once: it gets each event as a line of JSON with its id, and prints the id when it has done it")
	f.IntVar(&r.workers, "workers", 0, fmt.Sprintf("Deliver the events of `N` objects at the same time, by default 1, and %d to nats://; those of one object always come one after the other", natsWorkers))
	f.DurationVar(&r.deadline, "deadline", time.Minute, "A try that takes longer than `DURATION` has failed; a command is killed then, and what it has started; 0: never")
	f.DurationVar(&r.maxBackoff, "max-backoff", time.Minute, "Try again what was not delivered after a second, and then later and later up to `DURATION`")
	f.Float64Var(&r.rate, "rate", 0, "Deliver at most `N` times a second")
	f.DurationVar(&r.giveUpAfter, "give-up-after", 0, "Give up an event that could not be delivered for `DURATION`, e.g. 1h; by default never")
	f.StringVar(&r.deadLetters, "dead-letters", "", "Append to `FILE` what is given up, a line of JSON each with the reason")
	f.StringVar(&r.redeliver, "redeliver", "", "Send again what the `FILE` of --dead-letters holds, in place of watching, and take out of it what is delivered")
	f.DurationVar(&r.drain, "drain", 10*time.Second, "At the end wait up to `DURATION` for what is not delivered yet")
	f.StringVar(&r.outboxSize, "outbox-size", "", "Let at most `SIZE` wait, e.g. 512Mi: in the file of --state (by default 1Gi), or in memory (64Mi); when that is full, no more is read from the server")
	f.BoolVar(&r.latest, "latest", false, "Deliver only the last state of each object: what comes takes the place of what waits")
	notEmpty(f, "to", "dead-letters", "redeliver", "outbox-size")
}

// addAccessFlags adds what one kind of receiver takes: forms, credentials, streams.
func (o *options) addAccessFlags(f *pflag.FlagSet) {
	o.addWebhookFlags(f)
	o.addTLSFlags(f)
	o.addNATSFlags(f)
}

// receiving says how events are delivered. The zero value is for stdout.
type receiving struct {
	command []string // with its arguments; nil: none
	address *url.URL // of --to; nil: none
	room    int64    // how many bytes may wait
	receiverFlags
}

// delivers reports whether there is a receiver.
func (r *receiving) delivers() bool { return r.command != nil || r.address != nil }

// hasReceiver reports whether events go somewhere else than to stdout.
func (o *options) hasReceiver() bool { return o.dash() >= 0 || o.given("to") }

// cutCommand takes the command after "--" out of the arguments.
func (o *options) cutCommand(args []string) (rest, command []string) {
	if at := o.dash(); at >= 0 {
		return args[:at], args[at:]
	}
	return args, nil
}

func (o *options) parseReceiver(r *request, command []string) error {
	if err := cmp.Or(o.checkWebhook(), o.checkNATS(), o.checkTLS()); err != nil {
		return err
	}
	if !o.hasReceiver() {
		for _, name := range receiverOnly {
			if o.given(name) {
				return fmt.Errorf("--%s is for a receiver of the events: it needs --to URL, or a command at the end, such as -- ./hook.sh", name)
			}
		}
		return nil
	}
	r.receiving = receiving{command: command, receiverFlags: o.receiverFlags}
	if !o.given("workers") {
		r.workers = 1
	}
	switch {
	case o.given("to") && o.dash() >= 0:
		return errors.New("--to and a command after -- are two receivers: a run has one")
	case o.given("to"):
		if err := o.parseAddress(r); err != nil {
			return err
		}
	case len(command) == 0 || command[0] == "":
		return errors.New("after -- comes the command that gets the events, such as -- ./hook.sh")
	}
	return cmp.Or(o.checkDelivery(), o.checkReceiver(), o.parseRoom(r))
}

const (
	minRoom       = 1 << 20
	defaultOutbox = 1 << 30 // in the file of --state
)

// parseRoom reads --outbox-size.
func (o *options) parseRoom(r *request) error {
	switch size, err := resource.ParseQuantity(o.outboxSize); {
	case !o.given("outbox-size"):
		if r.room = deliver.DefaultRoom; o.given("state") {
			r.room = defaultOutbox
		}
	case err != nil, size.Value() < minRoom:
		return fmt.Errorf("invalid --outbox-size %q: it takes a size of at least 1Mi, such as 512Mi or 4Gi", o.outboxSize)
	default:
		r.room = size.Value()
	}
	return nil
}

// checkDelivery finds values that say nothing sensible about how events are delivered.
func (o *options) checkDelivery() error {
	switch {
	case o.given("workers") && (o.workers < 1 || o.workers > maxWorkers):
		return fmt.Errorf("invalid --workers %d: it takes a number from 1 to %d", o.workers, maxWorkers)
	case o.rate < 0 || o.given("rate") && !(o.rate > 0):
		return fmt.Errorf("invalid --rate %g: it takes a number of times a second, such as 10 or 0.5", o.rate)
	case o.maxBackoff < minBackoff:
		return fmt.Errorf("invalid --max-backoff %s: it takes a duration of at least %s", o.maxBackoff, minBackoff)
	case o.given("give-up-after") && o.giveUpAfter <= 0:
		return fmt.Errorf("invalid --give-up-after %s: it takes a positive duration such as 10m or 1h", o.giveUpAfter)
	case o.deadline < 0 || o.drain < 0:
		return errors.New("--deadline and --drain take a duration such as 30s, or 0")
	}
	return nil
}

const (
	maxWorkers = 1000
	minBackoff = 100 * time.Millisecond
)

// checkReceiver finds flags that make no sense for a receiver.
func (o *options) checkReceiver() error {
	switch {
	case o.given("list"), o.given("print-rbac") && !o.given("to"):
		return errors.New("--list and --print-rbac print to stdout: they do not go with a receiver")
	case o.marks, o.heartbeat != 0:
		return errors.New("--marks and --heartbeat are for stdout: a receiver gets events of objects, and marks are reported on stderr")
	case o.batch && o.given("to"):
		return errors.New("--batch is for a command after --: it does not go with --to")
	case o.batch && o.output == "yaml":
		return errors.New("--batch sends each event as a line of JSON: it does not go with -o yaml")
	case o.given("color"):
		return errors.New("--color is for stdout: it does not go with a receiver")
	case o.output != "json" && o.output != "yaml":
		return fmt.Errorf("a receiver gets json or yaml, not %s", o.output)
	}
	return nil
}
