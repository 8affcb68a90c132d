// Command dwatch prints what changes in a Kubernetes cluster.
//
//	argv -> options -> mapper.Resolve -> targets -> watcher.Run -> a Sink -> stdout
//	        (parse)    (names)           (merge)    (events)       (stages)
//
//	a Sink:  tuned -> reporter (marks to stderr) -> state (--state) -> filter (--watch-only, --types, --marks) -> printer
//	                    \_ queue (what takes a question to the server first)
//
// All of it is composed in cli/run.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"dwatch/cli"
)

func main() {
	// A reader that closes the pipe is a way to end, not to die: see cli/reader.go.
	signal.Ignore(syscall.SIGPIPE)
	// The first signal ends in good order, a second one by the system's default.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, os.Args, cli.Streams{Out: os.Stdout, Err: os.Stderr}))
}
