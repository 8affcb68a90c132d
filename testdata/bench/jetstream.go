package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"dwatch/testdata/bed"
)

// The contenders that publish, and how many acknowledgements each has under way.
const (
	natsName    = "dwatch --to nats://"
	publishName = "bare nats.go"
	publishing  = 64
)

// jetStream measures dwatch, and a bare client that publishes the same events.
func (b *bench) jetStream(ctx context.Context, n int, file string) error {
	s, err := bed.StartNATS(filepath.Join(b.dir, "nats"))
	if err != nil {
		return err
	}
	defer func() { s.Kill() }()
	for _, prefix := range []string{"dwatch", "bare"} {
		if err := withStream(ctx, s, prefix, func(jetstream.Stream) error { return nil }); err != nil {
			return err
		}
	}
	if err := b.deliverToStream(ctx, s, n); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if text, err := b.child(ctx, program, publishCommand, s.Address, file).CombinedOutput(); err != nil {
		return fmt.Errorf("bare nats.go: %w\n%s", err, text)
	}
	for prefix, name := range map[string]string{"dwatch": natsName, "bare": publishName} {
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

// deliverToStream runs dwatch, whose events all wait in its queue when the server comes.
func (b *bench) deliverToStream(ctx context.Context, s *bed.NATS, n int) error {
	s.Kill()
	cmd := b.child(ctx, b.options.dwatch, "pods", "-n", heavy, "--count", strconv.Itoa(n),
		"--to", "nats://"+s.Address+"/dwatch", "--workers", strconv.Itoa(publishing), "--max-backoff", "100ms", "--drain", deliveryPatience.String())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines, text := bufio.NewScanner(stderr), ""
	for lines.Scan() {
		text += lines.Text() + "\n"
		if strings.HasPrefix(lines.Text(), "waiting up to ") {
			err = errors.Join(err, s.Restart())
		}
	}
	if err := errors.Join(err, cmd.Wait()); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}

// withStream calls do with the stream that takes what begins with prefix, which is made
// if it is not there.
func withStream(ctx context.Context, s *bed.NATS, prefix string, do func(jetstream.Stream) error) error {
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
