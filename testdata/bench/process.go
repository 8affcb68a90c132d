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

// pipeSize is the buffer size of the pipe from a child, in bytes. It is the maximum that Linux allows without
// privileges, so that a reader that is late for a moment does not block the child.
const pipeSize = 1 << 20

// process is a running child whose output is read.
type process struct {
	cmd     *exec.Cmd
	started time.Time // just before it was started
	stdout  *os.File
	stderr  bytes.Buffer // complete after Wait
	lines   *lineReader

	page         *pageTap // nil if the contender has no page
	closeViewers context.CancelFunc
	viewers      sync.WaitGroup // goroutines that view the page
}

// start starts a child. If page is true, the process reads the messages to a viewer of its page instead of stdout. The
// caller must call end.
func start(ctx context.Context, argv, env []string, page bool) (*process, error) {
	stdout, writeEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if err := enlarge(stdout, pipeSize); err != nil {
		return nil, errors.Join(err, stdout.Close(), writeEnd.Close())
	}
	p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), stdout: stdout, lines: newLineReader(stdout)}
	ctx, p.closeViewers = context.WithCancel(ctx)
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, writeEnd, &p.stderr
	if page {
		p.page = newPageTap()
		p.cmd.Stdout, p.cmd.Stderr = nil, io.MultiWriter(&p.stderr, p.page)
		p.viewers.Go(func() { p.readPage(ctx, writeEnd) })
	} else {
		defer writeEnd.Close() // the child has its own descriptor
	}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		p.closeViewers()
		p.viewers.Wait()
		return nil, errors.Join(err, stdout.Close())
	}
	return p, nil
}

// pid returns the process id of the child.
func (p *process) pid() int { return p.cmd.Process.Pid }

// since returns the seconds from the start of the child to a moment.
func (p *process) since(moment time.Time) float64 { return moment.Sub(p.started).Seconds() }

// end kills the child if it is still running, and waits for it. If err is not nil, it returns err with the
// stderr of the child.
func (p *process) end(err error) error {
	p.cmd.Process.Kill()
	p.cmd.Wait()
	p.stdout.Close()
	p.closeViewers()
	p.viewers.Wait()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		err = fmt.Errorf("%w: it ended too early: %v", err, p.cmd.ProcessState)
	}
	return fmt.Errorf("%s: %w\n%s", p.cmd, err, &p.stderr)
}
