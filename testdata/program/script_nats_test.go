package program

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rogpeppe/go-internal/testscript"

	"dwatch/testdata/bed"
)

// natsCommand runs a NATS server beside a script.
func natsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: nats up|down|stream|read ...")
	}
	b := of(ts)
	switch what, args := args[0], args[1:]; {
	case what == "up" && b.nats == nil:
		s, err := bed.StartNATS(ts.MkAbs(".nats"), args...)
		ts.Check(err)
		b.nats = s
		ts.Setenv("NATS", s.Address)
	case what == "up":
		ts.Check(b.nats.Restart())
	case what == "down":
		b.nats.Kill()
	case what == "stream" && len(args) == 2:
		ts.Check(b.withNATS(func(ctx context.Context, js jetstream.JetStream) error {
			_, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{Name: args[0], Subjects: strings.Split(args[1], ",")})
			return err
		}))
	case what == "read" && len(args) == 1:
		ts.Check(b.withNATS(func(ctx context.Context, js jetstream.JetStream) error {
			return readStream(ctx, ts, js, args[0])
		}))
	default:
		ts.Fatalf("nats %s takes other arguments", what)
	}
}

// withNATS calls a function with a client of the server.
func (b *bench) withNATS(do func(context.Context, jetstream.JetStream) error) error {
	nc, err := nats.Connect(b.nats.Address)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return do(ctx, js)
}

// readStream prints the messages of a stream: the subject, the headers that events have,
// and the body.
func readStream(ctx context.Context, ts *testscript.TestScript, js jetstream.JetStream, name string) error {
	s, err := js.Stream(ctx, name)
	if err != nil {
		return err
	}
	state := s.CachedInfo().State
	for i := state.FirstSeq; i <= state.LastSeq && state.Msgs > 0; i++ {
		m, err := s.GetMsg(ctx, i)
		if err != nil {
			return err
		}
		fmt.Fprintln(ts.Stdout(), m.Subject)
		for _, header := range headersOf(m.Header) {
			fmt.Fprintln(ts.Stdout(), " ", header)
		}
		fmt.Fprintln(ts.Stdout(), " ", strings.TrimSuffix(string(m.Data), "\n"))
	}
	return nil
}

// headersOf returns headers in the order of their names.
func headersOf(h nats.Header) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			lines = append(lines, name+": "+value)
		}
	}
	return lines
}
