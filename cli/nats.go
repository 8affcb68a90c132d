package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/output/deliver"
	"dwatch/output/deliver/jetstream"
)

// openJetStream prepares the receiver of --to nats://.
func openJetStream(j *job) (*receiver, error) {
	a := j.address
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
		CreateStream: j.createStream,
		Deadline:     j.deadline,
		Note:         func(line string) { report.Line(j.reports, output.Line(line)) },
		Credentials:  j.natsCreds,
		NKey:         j.natsNKey,
		Login:        j.natsLogin,
		Cert:         j.toCert,
		Key:          j.toKey,
		CA:           j.toCA,
	})
	if err != nil {
		return nil, err
	}
	return &receiver{
		Receiver: r,
		name:     a.Scheme + "://" + a.Host + a.Path,
		begin: func(ctx context.Context, j *job) error {
			if err := j.giveSource(ctx, r.SetSource); err != nil {
				return err
			}
			return j.findStream(ctx, r)
		},
		close: r.Close,
	}, nil
}

// findStream looks for the stream. A server that can't be reached may come later.
func (j *job) findStream(ctx context.Context, r *jetstream.Receiver) error {
	err := r.Check(ctx)
	if setup, ok := errors.AsType[*jetstream.SetupError](err); ok {
		return fail.Usage(setup)
	}
	if down, ok := errors.AsType[*deliver.DownError](err); ok && ctx.Err() == nil {
		report.Line(j.reports, fmt.Sprintf("%s: %s; events wait until it is there", r.Server, output.Line(down.Error())))
		return nil
	}
	return err
}
