package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/output"
	"dwatch/output/deliver"
	"dwatch/output/deliver/jetstream"
)

// newJetStream prepares the receiver of --to nats://.
func (d *delivery) newJetStream(c *console) (*receiver, error) {
	a := d.URL
	prefix := strings.TrimPrefix(a.Path, "/")
	if a.RawQuery != "" || a.ForceQuery || a.Fragment != "" {
		return nil, fmt.Errorf("invalid --to: it is %s://HOST/PREFIX, with nothing behind", a.Scheme)
	}
	if err := jetstream.CheckPrefix(prefix); err != nil {
		return nil, fmt.Errorf("invalid --to: %s://HOST/PREFIX takes a prefix of subjects, such as dwatch or events.prod: %w", a.Scheme, err)
	}
	r, err := jetstream.New(jetstream.Options{
		Server:       a.Scheme + "://" + a.Host,
		Prefix:       prefix,
		CreateStream: d.CreateStream,
		Deadline:     d.Deadline,
		Note:         func(line string) { c.say(output.Line(line)) },
		Credentials:  d.Creds,
		NKey:         d.NATS.NKey,
		Login:        d.Login,
		Cert:         d.Cert,
		Key:          d.Key,
		CA:           d.CA,
	})
	if err != nil {
		return nil, err
	}
	return &receiver{
		Receiver: r,
		name:     a.Scheme + "://" + a.Host + a.Path,
		begin: func(ctx context.Context, c *console, k *cluster.Cluster) error {
			if err := giveSource(ctx, k, r.SetSource); err != nil {
				return err
			}
			return findStream(ctx, c, r)
		},
		close: r.Close,
	}, nil
}

// findStream looks for the stream. A server that can't be reached may come later.
func findStream(ctx context.Context, c *console, r *jetstream.Receiver) error {
	err := r.Check(ctx)
	if setup, ok := errors.AsType[*jetstream.SetupError](err); ok {
		return fail.Usage(setup)
	}
	if down, ok := errors.AsType[*deliver.DownError](err); ok && ctx.Err() == nil {
		c.say(fmt.Sprintf("%s: %s; events wait until it is there", r.Server, output.Line(down.Error())))
		return nil
	}
	return err
}
