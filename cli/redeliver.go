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

// identify prepares a receiver that has to know which cluster the events are of.
func (j *job) identify(ctx context.Context, connect func() (*cluster.Cluster, error)) (err error) {
	if j.delivery.receiver.begin == nil {
		return nil
	}
	if j.Cluster, err = connect(); err != nil {
		return err
	}
	defer j.Close()
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
	var r redelivered
	var err error
	r.events, err = d.again.Feed(ctx, d.queue, func(line int, err error) {
		r.damaged++
		report.Line(j.stderr, fmt.Sprintf("%s:%d: %v", j.redeliver, line, err))
	})
	if err != nil && ctx.Err() != nil {
		r.unread, err = true, nil // it is how the end was noticed
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
	return errors.Join(err, d.queue.Err(), r.end(j))
}

// redelivered is what was found in the file of --redeliver.
type redelivered struct {
	events, damaged int  // lines
	unread          bool // there may be more
}

// end says what became of the file, and what to do with it. It returns an error if not all
// of it was delivered.
func (r redelivered) end(j *job) error {
	d, file := j.delivery, output.Line(j.redeliver)
	summary, _ := d.queue.Summary()
	report.Line(j.reports, summary)
	stats := d.queue.Stats()
	var left []string
	failed := r.events - stats.Delivered
	if failed > 0 {
		left = append(left, fmt.Sprintf("%d of %d events of %s were not delivered to %s", failed, r.events, file, d.queue.Name))
	}
	if r.damaged > 0 {
		left = append(left, fmt.Sprintf("damaged lines in %s: %d", file, r.damaged))
	}
	if r.unread {
		left = append(left, "the rest of "+file+" was not read")
	}
	dead := output.Line(j.deadLetters)
	switch isKept := dead != "" && stats.GivenUp > 0; {
	case len(left) == 0:
		all := fmt.Sprintf("all %d events of %s are delivered", r.events, file)
		if r.events == 1 {
			all = "the event of " + file + " is delivered"
		}
		report.Line(j.reports, all+": it can be removed")
		return nil
	case !isKept:
		left = append(left, file+" is as it was")
	case stats.GivenUp == failed && len(left) == 1:
		left = append(left, fmt.Sprintf("%s has them: %s can be removed", dead, file))
	default:
		left = append(left, fmt.Sprintf("%s has %d of them, and %s is as it was", dead, stats.GivenUp, file))
	}
	return errors.New(strings.Join(left, "; "))
}
