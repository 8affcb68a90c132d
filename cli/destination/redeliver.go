package destination

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/run"
	"dwatch/output"
	"dwatch/output/deliver"
	"dwatch/output/deliver/jetstream"
)

// Redelivery sends the dead letters of a file again: dwatch send --redeliver FILE.
type Redelivery struct {
	Connection *cluster.Flags
	Timeout    time.Duration // zero means none
	Delivery   flags.Delivery
}

// Run ends when all of the file is delivered or given up, or with ctx.
func (r *Redelivery) Run(ctx context.Context, c *console.Console) error {
	d := NewReceiver(ReceiverOptions{Delivery: r.Delivery})
	if err := d.Prepare(c); err != nil {
		return err
	}
	defer d.Close()
	letters, err := deliver.OpenRedelivery(d.RedeliverFile)
	if err != nil {
		return fail.Usage(fmt.Errorf("--redeliver: %w", err))
	}
	ctx, cancel := run.WithTimeout(ctx, r.Timeout)
	defer cancel()
	if err := r.identify(ctx, c, d, letters); err != nil {
		return err
	}
	ctx, failed := context.WithCancelCause(ctx)
	defer failed(nil)
	d.newQueue(c, failed)
	c.Status.Set(func() []string { return []string{d.queue.Status()} })
	drain := d.start(ctx)
	var found redelivered
	found.events, err = letters.Feed(ctx, d.queue, func(line int, err error) {
		found.damaged++
		c.Warn(fmt.Sprintf("%s:%d: %v", d.RedeliverFile, line, err))
	})
	if err != nil && ctx.Err() != nil {
		found.unread, err = true, nil // the error only shows that ctx has ended
	}
	d.queue.Drain()
	drain(c, ctx.Done())
	return errors.Join(err, d.queue.Err(), found.end(c, d))
}

// identify finds out which cluster the events come from, if the receiver has to know and the events do not say it.
func (r *Redelivery) identify(ctx context.Context, c *console.Console, d *Receiver, letters *deliver.Redelivery) error {
	if d.remote == nil {
		return nil
	}
	several, unknown, err := letters.ScanSources()
	if err != nil {
		return fail.Usage(fmt.Errorf("--redeliver: %w", err))
	}
	if stream, isStream := d.remote.(*jetstream.Receiver); isStream {
		stream.MultiCluster, stream.AlsoWithoutCluster = several, several && unknown
	}
	switch {
	case unknown && r.Connection.HasMultipleContexts():
		return fail.Usage(fmt.Errorf("--redeliver: %s has events without a cluster: choose one with --context", output.EscapeLine(d.RedeliverFile)))
	case unknown:
		k, err := r.Connection.Connect(c.Connection())
		if err != nil {
			return err
		}
		if err := k.Login(ctx); err != nil {
			return fail.FromServer(k.Host, err)
		}
		uid, err := k.Identity(ctx)
		if err != nil {
			return fail.FromServer(k.Host, err)
		}
		d.remote.SetSource(run.CloudEventSource(uid, k.Host))
	}
	return d.check(ctx, c)
}

// redelivered counts the lines that were read of a file.
type redelivered struct {
	events, damaged int  // lines
	unread          bool // there may be more
}

// end reports what became of the file. It returns an error if not everything was delivered.
func (r redelivered) end(c *console.Console, d *Receiver) error {
	file := output.EscapeLine(d.RedeliverFile)
	summary, _ := d.queue.Summary()
	c.Say(summary)
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
		c.Say(all + ": you can delete the file")
		return nil
	case !isKept:
		left = append(left, file+" is unchanged")
	case stats.GivenUp == failed && len(left) == 1:
		left = append(left, fmt.Sprintf("%s contains them, so %s can be removed", dead, file))
	default:
		left = append(left, fmt.Sprintf("%s has %d of them, and %s is unchanged", dead, stats.GivenUp, file))
	}
	return errors.New(strings.Join(left, "; "))
}
