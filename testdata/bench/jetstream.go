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

// The contenders that publish, and how many acknowledgements each has under way.
const (
	natsName    = "dwatch send --to nats://"
	publishName = "bare nats.go"
	publishing  = 64
)

// jetStream measures dwatch, and a bare client that publishes the same events.
func (b *bench) jetStream(ctx context.Context, n int, file string) error {
	// A stream keeps what it has, and drops repeats for two minutes: in that of a round
	// before, the same events would be stored twice, or not at all.
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
		streams[v.named("dwatch")], streams[v.named("dwatch-kept")] = v.named(natsName), v.named(natsName+kept)
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

// askEvery is how often dwatch is asked how much waits.
const askEvery = 50 * time.Millisecond

// deliverToStream runs dwatch, whose events all wait when the server comes, until all are
// in the stream of a prefix.
func (b *bench) deliverToStream(ctx context.Context, s *testenv.NATS, n int, v version, prefix string, flags ...string) error {
	s.Kill()
	cmd := b.send(ctx, v, append([]string{"pods", "-n", heavy, "--where", fmt.Sprintf("object.metadata.name <= 'pod-%05d'", n),
		"--to", "nats://" + s.Address + "/" + prefix, "--workers", strconv.Itoa(publishing), "--max-backoff", "100ms"}, flags...)...)
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
		if text == "" { // now it knows what the signal means
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

// awaitStored returns when n messages are in a stream, or more.
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

// withStream calls do with the stream that takes what begins with prefix, which is made
// if it is not there.
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

// storedRate returns how many messages a stream has stored a second, by its own clock.
func storedRate(ctx context.Context, s jetstream.Stream, n int) (float64, error) {
	state := s.CachedInfo().State
	if state.Msgs != uint64(n) {
		return 0, fmt.Errorf("%d of %d events are stored", state.Msgs, n)
	}
	return float64(n-1) / state.LastTime.Sub(state.FirstTime).Seconds(), nil
}

// publishCommand makes this program the bare client: publishCommand ADDRESS FILE publishes
// each line of a file, with an id.
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
	var failed error // of one of them, which is told before all are complete
	js, err := jetstream.New(nc,
		jetstream.WithPublishAsyncMaxPending(publishing),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, _ *nats.Msg, err error) { failed = err }))
	if err != nil {
		return err
	}
	n := 0
	for body := range bytes.Lines(text) {
		n++
		m := &nats.Msg{Subject: fmt.Sprint("bare.core.pods.bench.pod-", n), Data: body}
		if _, err := js.PublishMsgAsync(m, jetstream.WithMsgID(strconv.Itoa(n)), jetstream.WithStallWait(deliveryPatience)); err != nil {
			return err
		}
	}
	<-js.PublishAsyncComplete()
	return failed
}
