package jetstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dwatch/output/deliver"
)

// DuplicateWindow is how long a stream that dwatch creates remembers the IDs of messages.
const DuplicateWindow = 10 * time.Minute

// findStream looks for streams that store the subjects. If there is none, it creates the stream of Options.CreateStream or fails.
func (r *Receiver) findStream(ctx context.Context, c *conn) error {
	found, err := r.streams(ctx, c)
	if _, isDenied := errors.AsType[*deniedError](err); isDenied {
		r.note(fmt.Sprintf("the user at %s may not list streams: dwatch cannot check whether a stream takes %s", r.Server, r.subjects()))
		c.hasAll.Store(false)
		c.hasStream.Store(true)
		return nil
	}
	if err == nil && len(found) == 0 {
		err = r.noStream(ctx, c)
	}
	if err != nil {
		return err
	}
	var subjects, parts []string
	for _, s := range found {
		subjects = append(subjects, s.Config.Subjects...)
		parts = append(parts, fmt.Sprintf("%s takes %s", s.Config.Name, strings.Join(s.Config.Subjects, ", ")))
	}
	all := takesAll(subjects, r.published())
	if !all && len(found) > 0 {
		r.note(fmt.Sprintf("some subjects in %s may have no stream: %s; events without a stream wait", r.subjects(), strings.Join(parts, "; ")))
	}
	c.hasAll.Store(all || len(found) == 0)
	c.hasStream.Store(true)
	return nil
}

func (r *Receiver) subjects() string { return r.Prefix + ".>" }

// published returns patterns for the subjects of messages. They have four tokens after the prefix, or five with a cluster.
func (r *Receiver) published() (all []string) {
	one := r.Prefix + ".*.*.*.*"
	if r.MultiCluster {
		all = append(all, one+".*")
	}
	if !r.MultiCluster || r.AlsoWithoutCluster {
		all = append(all, one)
	}
	return all
}

// takesAll reports whether streams with these subjects store all published subjects.
func takesAll(subjects, published []string) bool {
	for _, one := range published {
		if !slices.ContainsFunc(subjects, func(s string) bool { return covers(s, one) }) {
			return false
		}
	}
	return true
}

// covers reports whether the subject of a stream matches all subjects of the pattern all.
func covers(subject, all string) bool {
	taken := strings.Split(subject, ".")
	published := strings.Split(all, ".")
	for i, t := range taken {
		switch {
		case t == ">":
			return i < len(published)
		case i >= len(published), t != "*" && t != published[i]:
			return false
		}
	}
	return len(taken) == len(published)
}

// streams returns the streams that store any of the subjects.
func (r *Receiver) streams(ctx context.Context, c *conn) (found []*jetstream.StreamInfo, err error) {
	for _, subject := range r.published() {
		err = c.ask(ctx, jetstream.DefaultAPIPrefix+"STREAM.LIST", func(ctx context.Context) error {
			list := c.js.ListStreams(ctx, jetstream.WithStreamListSubject(subject))
			for s := range list.Info() {
				if !slices.ContainsFunc(found, func(o *jetstream.StreamInfo) bool { return o.Config.Name == s.Config.Name }) {
					found = append(found, s)
				}
			}
			return list.Err()
		})
		if err != nil {
			break
		}
	}
	return found, r.explainAPI(err)
}

// noStream creates the stream of Options.CreateStream. If that is empty, it returns an error that explains how to create a stream.
func (r *Receiver) noStream(ctx context.Context, c *conn) error {
	if r.CreateStream == "" {
		name := streamName(r.Prefix)
		return &deliver.SetupError{Err: fmt.Errorf("no stream at %s takes %s: --create-stream %s creates one, or 'nats stream add %s --subjects \"%s\" --dupe-window %s --defaults'",
			r.Server, r.subjects(), name, name, r.subjects(), "10m")}
	}
	err := c.ask(ctx, jetstream.DefaultAPIPrefix+"STREAM.CREATE."+r.CreateStream, func(ctx context.Context) error {
		_, err := c.js.CreateStream(ctx, jetstream.StreamConfig{
			Name:        r.CreateStream,
			Description: "events of Kubernetes objects, from dwatch",
			Subjects:    []string{r.subjects()},
			Duplicates:  DuplicateWindow,
		})
		return err
	})
	refused, isRefused := errors.AsType[*jetstream.APIError](err)
	switch {
	case errors.Is(err, jetstream.ErrStreamNameAlreadyInUse):
		return &deliver.SetupError{Err: fmt.Errorf("the stream %s at %s exists, and does not take %s: 'nats stream edit %s --subjects ...' can add that", r.CreateStream, r.Server, r.subjects(), r.CreateStream)}
	case isRefused && refused.Code < 500:
		return &deliver.SetupError{Err: fmt.Errorf("create the stream %s at %s: %w", r.CreateStream, r.Server, err)}
	case err != nil:
		return r.explainAPI(fmt.Errorf("create the stream %s: %w", r.CreateStream, err))
	}
	r.note(fmt.Sprintf("created the stream %s at %s for %s, with a duplicate window of %s and no limits", r.CreateStream, r.Server, r.subjects(), DuplicateWindow))
	return nil
}

// streamName returns a name to suggest for the stream of a prefix.
func streamName(prefix string) string {
	return strings.ToUpper(strings.NewReplacer(".", "_", "%", "_", "$", "_", ":", "_").Replace(prefix))
}

// explainAPI converts an error of the JetStream API into a SetupError or a DownError. It returns a deniedError unchanged.
func (r *Receiver) explainAPI(err error) error {
	_, isDenied := errors.AsType[*deniedError](err)
	switch {
	case err == nil, isDenied:
		return err
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return &deliver.SetupError{Err: fmt.Errorf("the server at %s has no JetStream (for this user): start it with 'nats-server -js'", r.Server)}
	case errors.Is(err, context.DeadlineExceeded):
		return &deliver.DownError{Err: errors.New("JetStream does not answer")}
	default:
		return &deliver.DownError{Err: fmt.Errorf("JetStream: %w", err)}
	}
}
