package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/output/deliver"
	"dwatch/output/deliver/jetstream"
	"dwatch/output/deliver/webhook"
)

// remoteReceiver is a receiver that is reached by an address.
type remoteReceiver interface {
	deliver.Receiver
	SetSource(source string)
	Close()
}

// abortable is a remoteReceiver that goes on with what no try waits for any more.
type abortable interface {
	// Abort ends that.
	Abort()
}

// prepared is a remoteReceiver that needs something to be there: a stream, a topic.
type prepared interface {
	Check(ctx context.Context) error
}

// newReceiver prepares the receiver of a run, and names it: without a password. What is
// wrong with it is wrong usage.
func (d *delivery) newReceiver(c *console) (err error) {
	switch {
	case d.IsNATS():
		d.Name = d.URL.Scheme + "://" + d.URL.Host + d.URL.Path
		d.remote, err = d.newJetStream(c)
	case d.IsKafka():
		d.Name = d.URL.Scheme + "://" + d.URL.Host + d.URL.Path
		o := d.Kafka
		o.TLS, o.NoPlain = d.TLS, d.SendsPlaintext()
		if d.remote, err = newKafka(o); err == nil && d.SendsPlaintext() {
			c.say("warning: --to kafka:// sends the events in the clear: anybody on the way can read and change them")
		}
	case d.URL != nil:
		d.Name = d.Origin()
		o := d.Webhook
		o.URL, o.UserAgent, o.Workers, o.TLS = d.URL, userAgent(), d.Workers, d.TLS
		if d.chat != nil && slices.Contains(webhook.Services(), d.chat.Form) {
			o.Service = d.chat.Form
		}
		if d.remote, err = webhook.New(o); err == nil && d.SendsPlaintext() {
			c.say("warning: --to http:// sends the events in the clear: anybody on the way can read and change them")
		}
	default:
		return d.newCommand(c)
	}
	d.receiver = d.remote
	return err
}

func (d *delivery) newCommand(c *console) error {
	command, err := deliver.NewCommand(d.Command)
	if err != nil {
		return err
	}
	d.Name, command.Output, d.receiver = d.Command[0], c.stderr, command
	if d.Batch {
		d.process = deliver.NewProcess(command, output.EscapeLine(d.Name), c.warn)
		d.receiver = d.process
	}
	return nil
}

func (d *delivery) newJetStream(c *console) (*jetstream.Receiver, error) {
	o, a := d.NATS, d.URL
	o.Server, o.Prefix = a.Scheme+"://"+a.Host, strings.TrimPrefix(a.Path, "/")
	o.Rule = d.rule
	o.Deadline, o.TLS, o.Log = d.Deadline, d.TLS, func(line string) { c.say(output.EscapeLine(line)) }
	if a.RawQuery != "" || a.ForceQuery || a.Fragment != "" {
		return nil, fmt.Errorf("invalid --to: it is %s://HOST/PREFIX, with nothing behind", a.Scheme)
	}
	if err := jetstream.CheckPrefix(o.Prefix); err != nil {
		return nil, fmt.Errorf("invalid --to: %s://HOST/PREFIX takes a prefix of subjects, such as dwatch or events.prod: %w", a.Scheme, err)
	}
	return jetstream.New(o)
}

// begin prepares what takes a server that answers, before the first message: which cluster
// the events are of, and what the receiver needs.
func (d *delivery) begin(ctx context.Context, c *console, k *cluster.Cluster) error {
	uid, err := k.Identity(ctx)
	if err != nil {
		return fail.FromServer(k.Host, err)
	}
	d.remote.SetSource(sourceOf(uid, k.Host))
	if _, needs := d.remote.(prepared); needs && d.aside != nil { // a server that does not answer takes its time
		d.aside(func() error { return d.check(ctx, c) })
		return nil
	}
	return d.check(ctx, c)
}

// beginFor is begin for a run, which may be at several clusters.
func (d *delivery) beginFor(ctx context.Context, w *watching) error {
	r, isStream := d.remote.(*jetstream.Receiver)
	switch {
	case w.recorded.isSeveral():
		d.Source = w.recorded.sourceOf
		if isStream {
			r.MultiCluster = true
		}
	case w.recorded != nil:
		d.remote.SetSource(w.recorded.sourceOf(""))
	case w.fleet == nil:
		return d.begin(ctx, w.console, w.Cluster)
	default:
		d.Source = w.fleet.sourceOf
		if isStream {
			r.MultiCluster = true
		}
	}
	return d.check(ctx, w.console)
}

// check looks for what the receiver needs. A server that can't be reached may come later.
func (d *delivery) check(ctx context.Context, c *console) error {
	r, needs := d.remote.(prepared)
	if !needs {
		return nil
	}
	err := r.Check(ctx)
	if setup, ok := errors.AsType[*deliver.SetupError](err); ok {
		return fail.Usage(setup)
	}
	if down, ok := errors.AsType[*deliver.DownError](err); ok && ctx.Err() == nil {
		c.say(fmt.Sprintf("%s: %s; events wait until it is there", d.Name, output.EscapeLine(down.Error())))
		return nil
	}
	return err
}

var uidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// sourceOf is the attribute "source" of CloudEvents of a cluster: its UID, or where that
// is not known, its address.
func sourceOf(uid, host string) string {
	if uidForm.MatchString(uid) {
		return "urn:uuid:" + uid
	}
	return (&url.URL{Scheme: "https", Host: host}).String()
}
