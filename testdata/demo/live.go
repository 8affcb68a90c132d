package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

// Command lines of the views that update in place: the page runs during the demo, the live table at the end.
var (
	pageArguments = []string{"serve", "deploy,rs,po,ct", "-q", "--addr", "127.0.0.1:0"}
	liveArguments = []string{"live", "deploy,rs,po"}
)

// stays reports whether the demo runs until the user ends it.
func stays() bool { return os.Getenv("DEMO") == "stay" }

// startPage starts the page, which prints its address. The caller must end it.
func startPage(ctx context.Context, program, kubeconfig string, s *screen) (*dwatch, error) {
	s.say("the same as a page, which also shows the next steps: click on its address, or copy it into a browser")
	s.command("dwatch " + strings.Join(pageArguments, " "))
	d, _, err := start(ctx, program, kubeconfig, pageArguments, nil, s.out, s.out)
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), d.end())
	case <-time.After(s.pace() / 2): // the address must be on the screen before the next output
		return d, nil
	}
}

// playLive shows a rollout in the live table, which needs a terminal. With DEMO=stay the user ends it.
func (c *cluster) playLive(ctx context.Context, program string, w *watch, s *screen) error {
	if !s.terminal {
		err := c.play(ctx, w, liveSteps, s)
		if err == nil && stays() {
			<-ctx.Done()
		}
		return err
	}
	s.say("a rollout in the live table")
	s.command("dwatch " + strings.Join(liveArguments, " "))
	live, _, err := start(ctx, program, c.Kubeconfig, liveArguments, os.Stdin, s.out, s.out)
	if err != nil {
		return err
	}
	time.Sleep(pace) // the viewer sees the previous state first
	err = c.play(ctx, w, liveSteps, s)
	if err == nil && stays() {
		return live.cmd.Wait()
	}
	return errors.Join(err, live.end())
}
