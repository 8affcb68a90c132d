// Command dwatch shows what changes in a Kubernetes cluster.
//
//	argv -> cli: a command -> run.Config + Source + Destination -> cli/run: Do
//	                                                               |
//	server -> watcher -> stages (cli/run/pipeline.go, in order) -> destination
//
// docs/contributing/architecture.md describes the parts.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"dwatch/cli"
)

// sameAct is how long after the first signal another one is taken for the same: timeout(1)
// signals the program and then its whole process group, and a wrapper passes on the Ctrl-C
// that the terminal has sent to all. A user who presses Ctrl-C again is slower.
const sameAct = 250 * time.Millisecond

func main() {
	// When the reader closes the pipe, dwatch ends in good order: see cli/reader.go.
	// It is caught, not ignored: programs that dwatch runs would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// The first signal ends in good order, a second one by the system's default.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(sameAct, stop) })
	os.Exit(cli.Run(ctx, os.Args, cli.Streams{Out: os.Stdout, Err: os.Stderr}))
}
