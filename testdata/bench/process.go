package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// pipeSize is the room between a child and its reader, in bytes: the most that
// Linux grants without privilege, so that a reader that is late by a moment
// holds up no child.
const pipeSize = 1 << 20

// process is a running child whose stdout is read.
type process struct {
	cmd     *exec.Cmd
	started time.Time // just before it was started
	stdout  *os.File
	stderr  bytes.Buffer // complete once the child was waited for
	lines   *lineReader

	page    *pageTap // nil: it has none
	leave   context.CancelFunc
	viewers sync.WaitGroup // of its page
}

// start starts a child. Of one with a page, stdout is what a viewer of it gets. The caller
// must call end.
func start(ctx context.Context, argv, env []string, page bool) (*process, error) {
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if err := enlarge(stdout, pipeSize); err != nil {
		return nil, errors.Join(err, stdout.Close(), theirs.Close())
	}
	p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), stdout: stdout, lines: newLineReader(stdout)}
	ctx, p.leave = context.WithCancel(ctx)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, theirs, &p.stderr
	if page {
		p.page = newPageTap()
		p.cmd.Stdout, p.cmd.Stderr = nil, io.MultiWriter(&p.stderr, p.page)
		p.viewers.Go(func() { p.readPage(ctx, theirs) })
	} else {
		defer theirs.Close() // the child has its own descriptor
	}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		p.leave()
		p.viewers.Wait()
		return nil, errors.Join(err, stdout.Close())
	}
	return p, nil
}

// pid returns the process id of the child.
func (p *process) pid() int { return p.cmd.Process.Pid }

// since returns the seconds from the start of the child to a moment.
func (p *process) since(moment time.Time) float64 { return moment.Sub(p.started).Seconds() }

// end kills the child, if it still runs, and waits for it. It returns err, with
// what the child wrote to stderr if that is an error.
func (p *process) end(err error) error {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.stdout.Close()
	p.leave()
	p.viewers.Wait()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("%w: it ended too early: %v", err, p.cmd.ProcessState)
	}
	return fmt.Errorf("%s: %w\n%s", p.cmd, err, &p.stderr)
}
