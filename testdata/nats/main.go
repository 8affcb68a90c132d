// Command nats is a NATS server for tests. It has the flags of nats-server. JetStream is on with --store_dir DIR or a
// configuration (-c FILE).
//
// When it is ready it prints its URL to stdout and nothing else. It ends on SIGINT or SIGTERM, and when its standard
// input closes, so that it does not outlive the test that started it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const readyWithin = time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "nats:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("nats", flag.ContinueOnError)
	help := func() { fmt.Fprintln(os.Stderr, "nats [flags of nats-server]") }
	options, err := server.ConfigureOptions(flags, args, help, help, help)
	if err != nil || options == nil {
		return err
	}
	options.NoSigs = true
	options.JetStream = options.JetStream || options.StoreDir != ""
	s, err := server.NewServer(options)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(readyWithin) {
		return errors.New("the server is not ready")
	}
	fmt.Println(s.ClientURL())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	closed := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	select {
	case <-signals:
	case <-closed:
	}
	return nil
}
