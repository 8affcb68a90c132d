// Command demo shows dwatch at work. It starts a real API server with its controllers, runs bin/dwatch against it, and
// changes objects.
//
//	cluster.go: the server and the changes   watch.go: dwatch and its events
//	steps.go:   the changes in order         show.go:  the demo's own output
//	live.go:    the page and the live table
//
// make demo runs it in the root of the repository. It leaves no files or processes behind. With DEMO=stay the page
// and the live table stay until Ctrl-C or q.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// pace is the time from one change to the next at a terminal. It is long enough for the dwatch on the screen to show
// the change and to fold its follow-up changes.
const pace = 1500 * time.Millisecond

// patience bounds each wait. It only determines how soon a failure is reported.
const patience = time.Minute

func main() {
	// The first signal ends the demo gracefully, the second one immediately.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := run(ctx, newScreen(os.Stdout))
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo: "+strings.Join(strings.Fields(err.Error()), " "))
		os.Exit(1)
	}
}

func run(ctx context.Context, s *screen) (err error) {
	program, err := program()
	if err != nil {
		return err
	}
	s.say("starting etcd, a Kubernetes API server and its controllers on 127.0.0.1")
	c, err := startCluster(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop()) }()

	page, err := startPage(ctx, program, c.Kubeconfig, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, page.end()) }()

	s.say("dwatch shows what changes in the spec of four resources")
	w, err := startWatch(ctx, program, c.Kubeconfig, s)
	if err != nil {
		return err
	}
	if err := errors.Join(c.play(ctx, w, steps, s), w.view.end()); err != nil {
		return errors.Join(err, w.endStream())
	}
	if err := errors.Join(c.playLive(ctx, program, w, s), w.endStream()); err != nil {
		return err
	}
	return s.summary(ctx, w.stream.Bytes())
}

// program returns the path of the dwatch to show: $DWATCH, or the one that make builds.
func program() (string, error) {
	path := os.Getenv("DWATCH")
	if path == "" {
		path = "bin/dwatch"
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("there is no dwatch, run make demo: %w", err)
	}
	return path, nil
}
