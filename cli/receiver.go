package cli

import (
	"context"
	"net/url"
	"regexp"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/output/deliver"
)

// receiver is where the messages of a run go.
type receiver struct {
	deliver.Receiver
	// name is what it is called in messages: it has no password in it.
	name string
	// finish, at a good end, waits for what it does until ctx ends; nil: for nothing.
	finish func(ctx context.Context)
	// begin prepares what takes a server that answers, before the first message; nil:
	// nothing does.
	begin func(context.Context, *console, *cluster.Cluster) error
	// close ends what it keeps open; nil: nothing is.
	close func()
}

// newReceiver prepares the receiver of a run. What is wrong with it is wrong usage.
func (d *delivery) newReceiver(c *console) (*receiver, error) {
	switch {
	case d.IsNATS():
		return d.newJetStream(c)
	case d.URL != nil:
		return d.newWebhook(c)
	}
	command, err := deliver.NewCommand(d.Command)
	if err != nil {
		return nil, err
	}
	command.Deadline, command.Text = d.Deadline, c.stderr
	if !d.Batch {
		return &receiver{Receiver: command, name: d.Command[0]}, nil
	}
	process := deliver.NewProcess(command, output.Line(d.Command[0]), c.warn)
	return &receiver{Receiver: process, name: d.Command[0], finish: process.Finish}, nil
}

// giveSource gives a receiver the attribute "source" of its messages.
func giveSource(ctx context.Context, k *cluster.Cluster, set func(source string)) error {
	uid, err := k.Identity(ctx)
	if err != nil {
		return fail.Server(k.Host, err)
	}
	set(sourceOf(uid, k.Host))
	return nil
}

// sourceOf is the attribute "source" of CloudEvents of a cluster: its UID, or where that
// is not known, its address.
func sourceOf(uid, host string) string {
	if is, _ := regexp.MatchString(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`, uid); is {
		return "urn:uuid:" + uid
	}
	return (&url.URL{Scheme: "https", Host: host}).String()
}
