package flags

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

// Delivery says where events are sent, and how.
type Delivery struct {
	// Command is started with its arguments; nil: events go to URL.
	Command []string
	URL     *url.URL
	// Batch: the command is started once, and gets events as lines.
	Batch bool

	Workers     int
	Deadline    time.Duration // of a try; 0: none
	MaxBackoff  time.Duration
	Rate        float64       // a second; 0: any
	GiveUpAfter time.Duration // 0: never
	DeadLetters string        // a file; empty: none
	Redeliver   string        // a file to send from, in place of watching; empty: none
	Drain       time.Duration
	Room        int64 // how many bytes may wait
	Latest      bool

	Webhook
	NATS
	TLS
}

// Deliveries are the flags for it.
type Deliveries struct {
	d          Delivery
	to         string
	outboxSize string // a quantity; empty: the default
	flags      *pflag.FlagSet
}

// AddTo adds the flags to f.
func (s *Deliveries) AddTo(f *pflag.FlagSet) {
	s.flags = f
	d := &s.d
	f.StringVar(&s.to, "to", "", "Send each event to `URL`: "+Addresses)
	f.BoolVar(&d.Batch, "batch", false, "Start the command after -- once: it gets each event as a line of JSON with its id, and prints the id when it has done it")
	f.IntVar(&d.Workers, "workers", 0, fmt.Sprintf("Deliver the events of `N` objects at the same time, by default 1, %d to a webhook and %d to nats://; those of one object always come one after the other", webhookWorkers, natsWorkers))
	f.DurationVar(&d.Deadline, "deadline", time.Minute, "A try that takes longer than `DURATION` has failed, by default "+webhookDeadline.String()+" to a webhook; a command is killed then, and what it has started; 0: never")
	f.DurationVar(&d.MaxBackoff, "max-backoff", time.Minute, "Try again what was not delivered after a second, and then later and later up to `DURATION`")
	f.Float64Var(&d.Rate, "rate", 0, "Deliver at most `N` times a second")
	f.DurationVar(&d.GiveUpAfter, "give-up-after", 0, "Give up an event that could not be delivered for `DURATION`, e.g. 1h; by default never")
	f.StringVar(&d.DeadLetters, "dead-letters", "", "Append to `FILE` what is given up, a line of JSON each with the reason")
	f.StringVar(&d.Redeliver, "redeliver", "", "Send again what the `FILE` of --dead-letters holds, in place of watching")
	f.DurationVar(&d.Drain, "drain", 10*time.Second, "At the end wait up to `DURATION` for what is not delivered yet")
	f.StringVar(&s.outboxSize, "outbox-size", "", "Let at most `SIZE` wait, e.g. 512Mi: in the file of --state (by default 1Gi), or in memory (64Mi); when that is full, no more is read from the server")
	f.BoolVar(&d.Latest, "latest", false, "Deliver only the last state of each object: what comes takes the place of what waits")
	notEmpty(f, "to", "dead-letters", "redeliver", "outbox-size")
}

// AddReceiversTo adds what one kind of receiver takes: forms, credentials, streams.
func (s *Deliveries) AddReceiversTo(f *pflag.FlagSet) {
	s.d.Webhook.addTo(f)
	s.d.TLS.addTo(f)
	s.d.NATS.addTo(f)
}

// Parse returns what is asked for. command is what stands after "--"; nil: there is no
// "--". With a state, what waits is in a file.
func (s *Deliveries) Parse(command []string, hasState bool) (Delivery, error) {
	d := s.d
	d.Command = command
	if s.flags.Changed("to") && command != nil {
		return d, errors.New("--to and a command after -- are two receivers: a run has one")
	}
	if err := cmp.Or(d.Webhook.parse(s.to), d.NATS.check(s.to), d.TLS.check(s.to)); err != nil {
		return d, err
	}
	if s.flags.Changed("to") {
		if err := d.parseAddress(s.to); err != nil {
			return d, err
		}
	}
	switch {
	case d.Batch && d.URL != nil:
		return d, errors.New("--batch is for a command after --: it does not go with --to")
	case d.URL == nil && command == nil:
		return d, errors.New("say where to send events: with --to URL, or a command at the end, such as -- ./hook.sh")
	case d.URL == nil && (len(command) == 0 || command[0] == ""):
		return d, errors.New("after -- comes the command that gets the events, such as -- ./hook.sh")
	}
	if !s.flags.Changed("workers") {
		d.Workers = d.defaultWorkers()
	}
	if !s.flags.Changed("deadline") && d.isWebhook() {
		d.Deadline = webhookDeadline
	}
	return d, cmp.Or(s.check(), s.parseRoom(&d, hasState))
}

// defaultWorkers is how many objects' events are delivered at once if nobody says.
func (d *Delivery) defaultWorkers() int {
	switch {
	case d.IsNATS():
		return natsWorkers
	case d.isWebhook():
		return webhookWorkers
	}
	return 1
}

const (
	minRoom       = 1 << 20
	defaultOutbox = 1 << 30 // in the file of --state
)

// parseRoom reads --outbox-size.
func (s *Deliveries) parseRoom(d *Delivery, hasState bool) error {
	switch size, err := resource.ParseQuantity(s.outboxSize); {
	case !s.flags.Changed("outbox-size"):
		if d.Room = deliver.DefaultRoom; hasState {
			d.Room = defaultOutbox
		}
	case err != nil, size.Value() < minRoom:
		return fmt.Errorf("invalid --outbox-size %q: it takes a size of at least 1Mi, such as 512Mi or 4Gi", s.outboxSize)
	default:
		d.Room = size.Value()
	}
	return nil
}

const (
	maxWorkers = 1000
	minBackoff = 100 * time.Millisecond
)

// check finds values that say nothing sensible about how events are delivered.
func (s *Deliveries) check() error {
	d, given := &s.d, s.flags.Changed
	switch {
	case given("workers") && (d.Workers < 1 || d.Workers > maxWorkers):
		return fmt.Errorf("invalid --workers %d: it takes a number from 1 to %d", d.Workers, maxWorkers)
	case d.Rate < 0 || given("rate") && !(d.Rate > 0):
		return fmt.Errorf("invalid --rate %g: it takes a number of times a second, such as 10 or 0.5", d.Rate)
	case d.MaxBackoff < minBackoff:
		return fmt.Errorf("invalid --max-backoff %s: it takes a duration of at least %s", d.MaxBackoff, minBackoff)
	case given("give-up-after") && d.GiveUpAfter <= 0:
		return fmt.Errorf("invalid --give-up-after %s: it takes a positive duration such as 10m or 1h", d.GiveUpAfter)
	case d.Deadline < 0 || d.Drain < 0:
		return errors.New("--deadline and --drain take a duration such as 30s, or 0")
	}
	return nil
}
