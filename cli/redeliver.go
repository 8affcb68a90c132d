package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/output/deliver"
	"dwatch/output/deliver/jetstream"
)

// redelivery sends again what was given up: dwatch send --redeliver FILE.
type redelivery struct {
	connection *cluster.Flags
	timeout    time.Duration // 0: none
	delivery
}

func (r *redelivery) goesOn() bool { return true }

// run implements runner. It ends when all of the file is delivered or given up, or with ctx.
func (r *redelivery) run(ctx context.Context, c *console) error {
	if err := r.prepare(c); err != nil {
		return err
	}
	defer r.close()
	again, err := deliver.OpenRedelivery(r.RedeliverFile)
	if err != nil {
		return fail.Usage(fmt.Errorf("--redeliver: %w", err))
	}
	ctx, cancel := bounded(ctx, r.timeout)
	defer cancel()
	if err := r.identify(ctx, c, again); err != nil {
		return err
	}
	ctx, fails := context.WithCancelCause(ctx)
	defer fails(nil)
	r.newQueue(c, fails)
	c.asked.is(inLine(r.queue.Status))
	finish := r.work(ctx)
	var found redelivered
	found.events, err = again.Feed(ctx, r.queue, func(line int, err error) {
		found.damaged++
		c.warn(fmt.Sprintf("%s:%d: %v", r.RedeliverFile, line, err))
	})
	if err != nil && ctx.Err() != nil {
		found.unread, err = true, nil // it is how the end was noticed
	}
	r.queue.Drain()
	finish(c, ctx.Done())
	return errors.Join(err, r.queue.Err(), found.end(c, &r.delivery))
}

// identify prepares a receiver that has to know which cluster the events are of. Those of several say it themselves.
func (r *redelivery) identify(ctx context.Context, c *console, again *deliver.Redelivery) error {
	if r.remote == nil {
		return nil
	}
	several, unsaid, err := again.ScanSources()
	if err != nil {
		return fail.Usage(fmt.Errorf("--redeliver: %w", err))
	}
	if stream, isStream := r.remote.(*jetstream.Receiver); isStream {
		stream.MultiCluster, stream.AlsoWithoutCluster = several, several && unsaid
	}
	switch {
	case unsaid && r.connection.HasMultipleContexts():
		return fail.Usage(fmt.Errorf("--redeliver: %s has events that do not say from which cluster they are: choose that with --context", output.EscapeLine(r.RedeliverFile)))
	case unsaid:
		k, err := r.connection.Connect(c.connection())
		if err != nil {
			return err
		}
		if err := k.Login(ctx); err != nil {
			return fail.FromServer(k.Host, err)
		}
		return r.begin(ctx, c, k)
	}
	return r.check(ctx, c)
}

type redelivered struct {
	events, damaged int  // lines
	unread          bool // there may be more
}

// end says what became of the file, and what to do with it. It returns an error if not all
// of it was delivered.
func (r redelivered) end(c *console, d *delivery) error {
	file := output.EscapeLine(d.RedeliverFile)
	summary, _ := d.queue.Summary()
	c.say(summary)
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
	dead := output.EscapeLine(string(d.DeadLetters))
	switch isKept := dead != "" && stats.GivenUp > 0; {
	case len(left) == 0:
		all := fmt.Sprintf("all %d events of %s are delivered", r.events, file)
		if r.events == 1 {
			all = "the event of " + file + " is delivered"
		}
		c.say(all + ": it can be removed")
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
