package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dwatch/cli/report"
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
	begin func(context.Context, *job) error
	// close ends what it keeps open; nil: nothing is.
	close func()
}

// scheme is a kind of receiver that --to takes.
type scheme struct {
	example string
	open    func(*job) (*receiver, error) // prepares it; it may be down
}

// schemes are the kinds by the scheme of their URL.
var schemes = map[string]scheme{
	"https": {"https://HOST/PATH", openWebhook},
	"http":  {"http://HOST/PATH", openWebhook},
	"nats":  {"nats://HOST/PREFIX", openJetStream},
	"tls":   {"tls://HOST/PREFIX", openJetStream},
}

// schemeNames lists examples of what --to takes.
func schemeNames() string {
	var examples []string
	for _, name := range slices.Sorted(maps.Keys(schemes)) {
		examples = append(examples, schemes[name].example)
	}
	return strings.Join(slices.Compact(examples), ", ")
}

// newReceiver prepares the receiver of a run. What is wrong with it is wrong usage.
func (j *job) newReceiver() (*receiver, error) {
	if j.address != nil {
		return schemes[j.address.Scheme].open(j)
	}
	command, err := deliver.NewCommand(j.command)
	if err != nil {
		return nil, err
	}
	command.Deadline, command.Text = j.deadline, j.stderr
	if !j.batch {
		return &receiver{Receiver: command, name: j.command[0]}, nil
	}
	process := deliver.NewProcess(command, output.Line(j.command[0]), func(line string) { report.Line(j.stderr, line) })
	return &receiver{Receiver: process, name: j.command[0], finish: process.Finish}, nil
}

// parseAddress reads --to. No error repeats what may hold a password.
func (o *options) parseAddress(r *request) error {
	address, err := url.Parse(o.to)
	switch {
	case err != nil:
		return fmt.Errorf("invalid --to: it takes a URL such as %s", schemeNames())
	case address.User != nil:
		return fmt.Errorf("--to must not hold a user or a password: everybody who sees the processes sees them; see the flags for credentials")
	case schemes[address.Scheme].open == nil:
		return fmt.Errorf("invalid --to: a URL begins with one of %s, not with %q", schemeNames(), output.Line(address.Scheme+":"))
	case address.Hostname() == "":
		return fmt.Errorf("invalid --to: the URL has no host; it takes one such as %s", schemeNames())
	}
	if port := address.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("invalid --to: the port of the URL is a number from 1 to 65535")
		}
	}
	r.address = address
	switch {
	case isWebhook(address.Scheme):
		return o.parseWebhook(r)
	case isNATS(address.Scheme):
		return o.parseNATS(r)
	}
	return nil
}
