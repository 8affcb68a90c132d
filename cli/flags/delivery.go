package flags

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"dwatch/output/deliver"
	"dwatch/output/deliver/jetstream"
	"dwatch/output/deliver/kafka"
	"dwatch/output/deliver/webhook"
)

// Delivery holds the flags that say where and how events are sent. Its fields are independent settings, and valid after Parse.
// The caller sets those options of deliver, webhook, jetstream and kafka that have no flag.
type Delivery struct {
	deliver.Options
	// Command receives the events: a program and its arguments. If nil, URL receives them.
	Command []string
	// URL is the receiver, or nil. For Kafka, URL.Host is all Brokers, separated by commas.
	URL     *url.URL
	Brokers []string // HOST:PORT of each Kafka broker
	// Batch starts the command once, with events as lines on its stdin, instead of once per event.
	Batch         bool
	RedeliverFile string // dead letters to send instead of watching; empty if there are none
	DrainTimeout  time.Duration
	// Credentials come from files or the environment, because all users can see the arguments of a process.
	TLS     deliver.TLS
	Webhook webhook.Options
	NATS    jetstream.Options
	Kafka   kafka.Options

	to, toFile string // the URL as given, or the file that contains it
	format     string
	outboxSize string // a quantity; if empty, the default
	flags      *pflag.FlagSet
	receivers  *pflag.FlagSet
}

// Defaults by receiver. A request that hangs blocks only one of webhookWorkers, and only for webhookDeadline.
// streamWorkers is the number of messages for NATS or Kafka that await their acknowledgement.
const (
	webhookWorkers  = 8
	webhookDeadline = 30 * time.Second
	streamWorkers   = 64
)

// AddTo adds the flags that are the same for all receivers. AddReceiversTo adds the others.
func (d *Delivery) AddTo(f *pflag.FlagSet) {
	d.flags = f
	f.StringVar(&d.to, "to", "", "Send each event to `URL`: "+addresses)
	describeBriefly(f, "to", "Send to `URL`: https://, nats://, kafka://, ...")
	f.StringVar(&d.toFile, "to-file", "", "Send to the URL in `FILE`, for example a chat webhook, whose URL is a secret")
	describeBriefly(f, "to-file", "Send to the URL in `FILE`")
	f.BoolVar(&d.Batch, "batch", false, "Start the command after -- once: it reads each event as a line of JSON with an id, and prints the id when it has processed the event")
	f.IntVar(&d.Workers, "workers", 0, fmt.Sprintf("Deliver the events of `N` objects in parallel, by default 1, %d to a webhook and %d to nats:// and kafka://; the events of one object stay in order", webhookWorkers, streamWorkers))
	describeBriefly(f, "workers", "Deliver the events of `N` objects in parallel")
	f.DurationVar(&d.Deadline, "deadline", time.Minute, "Fail a delivery attempt that takes longer than `DURATION`, by default "+webhookDeadline.String()+" for a webhook; a command is killed with its child processes; 0 means no limit")
	f.DurationVar(&d.MaxBackoff, "max-backoff", time.Minute, "Retry failed deliveries with a backoff that grows from one second up to `DURATION`")
	f.Float64Var(&d.Rate, "rate", 0, "Deliver at most `N` times a second")
	f.DurationVar(&d.GiveUpAfter, "give-up-after", 0, "Give up an event that could not be delivered for `DURATION`, e.g. 1h; by default never")
	describeBriefly(f, "give-up-after", "Give up an event after `DURATION`, e.g. 1h")
	f.StringVar((*string)(&d.DeadLetters), "dead-letters", "", "Append events that are given up to `FILE`, as one line of JSON each, with the reason")
	describeBriefly(f, "dead-letters", "Append events that are given up to `FILE`")
	f.StringVar(&d.RedeliverFile, "redeliver", "", "Send the events in a --dead-letters `FILE` again, instead of watching")
	f.DurationVar(&d.DrainTimeout, "drain", 10*time.Second, "At the end, wait up to `DURATION` for undelivered events")
	f.StringVar(&d.outboxSize, "outbox-size", "", "Buffer at most `SIZE` of undelivered events, e.g. 512Mi: in the --state file (by default 1Gi) or in memory (by default 64Mi); when the buffer is full, dwatch stops reading from the server")
	f.BoolVar(&d.LatestOnly, "latest", false, "Deliver only the latest state of each object: a newer event replaces an undelivered one")
	notEmpty(f, "to", "to-file", "dead-letters", "redeliver", "outbox-size")
}

// Parse validates the flags and sets the fields of d. command is the arguments after "--", or nil if there is no
// "--". hasState is whether --state is given, which then stores the pending events.
func (d *Delivery) Parse(command []string, hasState bool) error {
	d.Command = command
	switch name := given(d.flags, "to", "to-file"); {
	case name != "" && command != nil:
		return fmt.Errorf("--%s and a command after -- are two receivers: a run has one", name)
	case name == "to" && d.toFile != "":
		return errors.New("--to and --to-file are two receivers: a run has one")
	}
	if err := d.readAddress(); err != nil {
		return err
	}
	if err := cmp.Or(d.checkReceivers(), d.parseAddress()); err != nil {
		return err
	}
	switch {
	case d.Batch && d.URL != nil:
		return errors.New("--batch is for a command after --: it cannot be combined with --to")
	case d.URL == nil && command == nil:
		return errors.New("say where to send events: with --to URL, or a command at the end, such as -- ./hook.sh")
	case d.URL == nil && (len(command) == 0 || command[0] == ""):
		return errors.New("no command after --: give the command that receives the events, such as -- ./hook.sh")
	}
	workers, deadline := 1, d.Deadline
	switch {
	case isNATS(d.to), isKafka(d.to):
		workers = streamWorkers
	case isWebhook(d.to):
		workers, deadline = webhookWorkers, webhookDeadline
	}
	if !d.flags.Changed("workers") {
		d.Workers = workers
	}
	if !d.flags.Changed("deadline") {
		d.Deadline = deadline
	}
	return cmp.Or(d.checkNumbers(), d.parseOutboxSize(hasState))
}

const (
	maxWorkers    = 1000
	minBackoff    = 100 * time.Millisecond
	defaultOutbox = 1 << 30 // bytes in the --state file
)

// parseOutboxSize sets MaxBytes from --outbox-size, or to the default.
func (d *Delivery) parseOutboxSize(hasState bool) error {
	switch size, ok := parseSize(d.outboxSize, minKept, maxKept); {
	case !d.flags.Changed("outbox-size") && hasState:
		d.MaxBytes = defaultOutbox
	case !d.flags.Changed("outbox-size"):
		d.MaxBytes = deliver.DefaultMaxBytes
	case !ok:
		return fmt.Errorf("invalid --outbox-size %q: it takes a size from 1Mi to 1Pi, such as 512Mi or 4Gi", d.outboxSize)
	default:
		d.MaxBytes = size
	}
	return nil
}

// checkNumbers returns an error for a number or duration that is out of range.
func (d *Delivery) checkNumbers() error {
	given := d.flags.Changed
	switch {
	case given("workers") && (d.Workers < 1 || d.Workers > maxWorkers):
		return fmt.Errorf("invalid --workers %d: it takes a number from 1 to %d", d.Workers, maxWorkers)
	case d.Rate < 0 || given("rate") && !(d.Rate > 0):
		return fmt.Errorf("invalid --rate %g: it takes a number of times a second, such as 10 or 0.5", d.Rate)
	case d.MaxBackoff < minBackoff:
		return fmt.Errorf("invalid --max-backoff %s: it takes a duration of at least %s", d.MaxBackoff, minBackoff)
	case given("give-up-after") && d.GiveUpAfter <= 0:
		return fmt.Errorf("invalid --give-up-after %s: it takes a positive duration such as 10m or 1h", d.GiveUpAfter)
	case d.Deadline < 0 || d.DrainTimeout < 0:
		return errors.New("--deadline and --drain take a duration such as 30s, or 0")
	}
	return nil
}
