// Command nats is a NATS server with the flags of nats-server, for tests. Its JetStream
// is on if a directory for it is given (--store_dir DIR), or a configuration (-c FILE).
//
// Once ready it prints its URL to stdout, and nothing else. It ends by SIGINT or SIGTERM,
// and when its standard input closes: so it does not outlive a test that holds the pipe.
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
