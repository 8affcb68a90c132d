package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/output/deliver"
)

// checkRedelivery finds what makes no sense where nothing is watched.
func (o *options) checkRedelivery(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("--redeliver sends what a file holds, and watches nothing: it does not go with %q", output.Line(args[0]))
	}
	if o.timeout < 0 {
		return errInvalidTimeout(o.timeout)
	}
	var wrong string
	for _, g := range new(options).newFlagGroups() {
		g.flags.VisitAll(func(f *pflag.Flag) {
			sends := g.title == receiverGroup || g.title == accessGroup || g.title == messageGroup || f.Name == "timeout"
			asks := g.title == connectionGroup && o.given("to") // which cluster it is
			if (!sends && !asks || f.Name == "listen" || f.Name == "latest") && o.given(f.Name) {
				wrong = f.Name
			}
		})
	}
	if wrong != "" {
		return fmt.Errorf("--redeliver sends what a file holds, as it is there: it does not go with --%s", wrong)
	}
	return nil
}

// openRedelivery opens a file with what was given up.
func (d *delivery) openRedelivery(path string) (err error) {
	if d.again, err = deliver.OpenRedelivery(path); err != nil {
		return fail.Usage(fmt.Errorf("--redeliver: %w", err))
	}
	if err := d.again.Keeps(d.letters); err != nil {
		return fail.Usage(fmt.Errorf("--dead-letters: %w", err))
	}
	d.receiver.Receiver = d.again.Receiver(d.receiver.Receiver)
	return nil
}

// identify prepares a receiver that has to know which cluster the events are of.
func (j *job) identify(ctx context.Context, connect func() (*cluster.Cluster, error)) (err error) {
	if j.delivery.receiver.begin == nil {
		return nil
	}
	if j.Cluster, err = connect(); err != nil {
		return err
	}
	if err := j.Login(ctx); err != nil {
		return fail.Server(j.Host, err)
	}
	return j.delivery.receiver.begin(ctx, j)
}

// redeliverAll sends again what the file of --redeliver holds. It ends when all of it is
// delivered or given up, or with ctx.
func (j *job) redeliverAll(ctx context.Context, connect func() (*cluster.Cluster, error)) error {
	ctx, cancel := j.bounded(ctx)
	defer cancel()
	if err := j.identify(ctx, connect); err != nil {
		return err
	}
	ctx, fails := context.WithCancelCause(ctx)
	defer fails(nil)
	d := j.delivery
	d.queue = deliver.New(d.receiver, d.options(j, fails))
	j.asked.is(d.queue.Status)
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.queue.Run(working)
	}()
	damaged := 0
	messages, err := d.again.Feed(ctx, d.queue, func(line int, err error) {
		damaged++
		report.Line(j.stderr, fmt.Sprintf("%s:%d: %v; it stays there", j.redeliver, line, err))
	})
	var rest bool
	if err != nil && ctx.Err() != nil {
		rest, err = true, nil // it is how the end was noticed
	}
	d.queue.Finish()
	select {
	case <-done:
	case <-ctx.Done():
		defer j.drains(stop)()
		<-done
	}
	if d.receiver.finish != nil {
		d.receiver.finish(working)
	}
	return errors.Join(err, d.again.Save(), d.queue.Err(), j.redelivered(messages, damaged, rest))
}

// redelivered says what became of the messages of a file, and returns an error if not all
// of it was delivered. rest means that there are more than were counted.
func (j *job) redelivered(messages, damaged int, rest bool) error {
	d := j.delivery
	summary, _ := d.queue.Summary()
	report.Line(j.reports, summary)
	delivered, kept := d.again.Results()
	var left []string
	if stay := messages - delivered - kept; stay > 0 {
		left = append(left, fmt.Sprintf("%s in %s", stays(stay, "event"), j.redeliver))
	}
	if damaged > 0 {
		left = append(left, fmt.Sprintf("%s in %s", stays(damaged, "damaged line"), j.redeliver))
	}
	if kept > 0 {
		left = append(left, fmt.Sprintf("%s in %s", stays(kept, "event"), j.deadLetters))
	}
	if rest {
		left = append(left, "the rest is in "+j.redeliver)
	}
	if len(left) == 0 {
		return nil
	}
	return fmt.Errorf("not all was delivered to %s: %s", d.queue.Name, strings.Join(left, ", "))
}

func stays(n int, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}
