// Command dwatch prints what changes in a Kubernetes cluster. cli/run.go puts its
// parts together; docs/architecture.md draws them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"dwatch/cli"
)

func main() {
	// When the reader closes the pipe, dwatch ends in good order: see cli/reader.go.
	signal.Ignore(syscall.SIGPIPE)
	// The first signal ends in good order, a second one by the system's default.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(cli.Run(ctx, os.Args, cli.Streams{Out: os.Stdout, Err: os.Stderr}))
}
