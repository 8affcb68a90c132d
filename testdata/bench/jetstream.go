package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dwatch/testdata/testenv"
)

// Names of the contenders that publish, and the maximum number of unacknowledged messages of each.
const (
	natsName       = "dwatch send --to nats://"
	publishName    = "bare nats.go"
	publishWorkers = 64
)

// jetStream measures dwatch, and a minimal client that publishes the same events.
func (b *bench) jetStream(ctx context.Context, n int, file string) error {
	// Each round has its own server. The stream of an earlier round would drop the same events as duplicates for
	// two minutes, and later store them twice.
	dir, err := os.MkdirTemp(b.dir, "nats-")
	if err != nil {
		return err
	}
	s, err := testenv.StartNATS(dir)
	if err != nil {
		return err
	}
	defer func() { s.Kill() }()
	streams := map[string]string{"bare": publishName}
	for _, v := range b.versions {
		streams[v.named("dwatch")], streams[v.named("dwatch-kept")] = v.named(natsName), v.named(natsName+stateSuffix)
	}
	for prefix := range streams {
		if err := withStream(ctx, s, prefix, func(jetstream.Stream) error { return nil }); err != nil {
			return err
		}
	}
	for _, v := range b.versions {
		if err := b.deliverToStream(ctx, s, n, v, v.named("dwatch")); err != nil {
			return err
		}
		if err := b.deliverToStream(ctx, s, n, v, v.named("dwatch-kept"), "--state", b.stateFile("nats")); err != nil {
			return err
		}
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if text, err := b.child(ctx, program, publishCommand, s.Address, file).CombinedOutput(); err != nil {
		return fmt.Errorf("bare nats.go: %w\n%s", err, text)
	}
	for prefix, name := range streams {
		err := withStream(ctx, s, prefix, func(stream jetstream.Stream) error {
			rate, err := storedRate(ctx, stream, n)
			b.found.add(name, sentRate, rate)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// askEvery is the interval at which dwatch is asked for the length of its queue.
const askEvery = 50 * time.Millisecond

// deliverToStream runs dwatch until all events are in the stream of a prefix. It starts the server when all events are
// in dwatch's queue.
func (b *bench) deliverToStream(ctx context.Context, s *testenv.NATS, n int, v version, prefix string, flags ...string) error {
	s.Kill()
	cmd := b.send(ctx, v, append([]string{"pods", "-n", heavy, "--where", fmt.Sprintf("object.metadata.name <= 'pod-%05d'", n),
		"--to", "nats://" + s.Address + "/" + prefix, "--workers", strconv.Itoa(publishWorkers), "--max-backoff", "100ms"}, flags...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	lines, text, all := bufio.NewScanner(stderr), "", fmt.Sprintf(" %d waiting,", n)
	for lines.Scan() {
		if text == "" { // dwatch handles the signal from its first line on
			go func() {
				tick := time.NewTicker(askEvery)
				defer tick.Stop()
				for asking.Err() == nil {
					cmd.Process.Signal(syscall.SIGUSR1)
					<-tick.C
				}
			}()
		}
		if text += lines.Text() + "\n"; asking.Err() == nil && strings.Contains(lines.Text(), all) {
			stop()
			err = errors.Join(s.Restart(), awaitStored(ctx, s, prefix, n), cmd.Process.Signal(os.Interrupt))
		}
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}

// awaitStored waits until a stream contains at least n messages.
func awaitStored(ctx context.Context, s *testenv.NATS, prefix string, n int) error {
	return withStream(ctx, s, prefix, func(stream jetstream.Stream) error {
		tick := time.NewTicker(askEvery)
		defer tick.Stop()
		for {
			info, err := stream.Info(ctx)
			if err != nil || info.State.Msgs >= uint64(n) {
				return err
			}
			<-tick.C
		}
	})
}

// withStream calls do with the stream for subjects that start with prefix, and creates the stream if necessary.
func withStream(ctx context.Context, s *testenv.NATS, prefix string, do func(jetstream.Stream) error) error {
	nc, err := nats.Connect(s.Address)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: prefix, Subjects: []string{prefix + ".>"}})
	if err != nil {
		return err
	}
	return do(stream)
}

// storedRate returns the number of messages that a stream has stored per second, by the clock of the server.
func storedRate(ctx context.Context, s jetstream.Stream, n int) (float64, error) {
	state := s.CachedInfo().State
	if state.Msgs != uint64(n) {
		return 0, fmt.Errorf("the stream has %d of %d events", state.Msgs, n)
	}
	return float64(n-1) / state.LastTime.Sub(state.FirstTime).Seconds(), nil
}

// publishCommand runs this program as the minimal NATS client: publishCommand ADDRESS FILE publishes each line of a
// file with an ID.
const publishCommand = "publish"

func publishAll(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: publish ADDRESS FILE")
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	nc, err := nats.Connect(args[0])
	if err != nil {
		return err
	}
	defer nc.Close()
	var failed error // the error of a message; the handler is called before PublishAsyncComplete
	js, err := jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(publishWorkers),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { failed = err }))
	if err != nil {
		return err
	}
	n := 0
	for body := range bytes.Lines(text) {
		n++
		m := &nats.Msg{Subject: fmt.Sprint("bare.core.pods.bench.pod-", n), Data: body}
		if _, err := js.PublishMsgAsync(m, jetstream.WithMsgID(strconv.Itoa(n)), jetstream.WithStallWait(deliveryTimeout)); err != nil {
			return err
		}
	}
	<-js.PublishAsyncComplete()
	return failed
}
