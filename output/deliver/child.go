package deliver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// child is one run of the program of a Process.
type child struct {
	process *Process
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed at its end, when err is set
	err     error         // what became of all that it had not acknowledged

	writing sync.Mutex // for stdin

	mu sync.Mutex
	// expected has what it was sent, or will be, by ids, of which two objects may have
	// the same: one that is served as two resources.
	expected     map[string][]chan error
	retired      bool // it gets nothing more
	acknowledged bool // something
}

// errStdin ends a program that has closed its stdin.
var errStdin = errors.New("it no longer reads its stdin")

// start starts the program.
func (p *Process) start() (*child, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &child{process: p, cancel: cancel, ended: make(chan struct{}), expected: map[string][]chan error{}}
	c.cmd = exec.CommandContext(ctx, p.command.Path, p.command.Args...)
	c.cmd.WaitDelay = graceAfterEnd
	inGroup(c.cmd)
	ids := &lines{take: c.acknowledge}
	text := p.command.lines(p.name)
	c.cmd.Stdout, c.cmd.Stderr = ids, text
	stdin, err := c.cmd.StdinPipe()
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	c.stdin = stdin
	go func() {
		err := c.cmd.Wait()
		c.retire() // before the last answer: it gets nothing more
		ids.end()
		text.end()
		c.end(err, context.Cause(ctx))
		cancel(nil)
	}()
	return c, nil
}

// expect returns what gets the answer to the message with an id; nil if the program gets
// nothing more.
func (c *child) expect(id string) chan error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.retired {
		return nil
	}
	answer := make(chan error, 1)
	c.expected[id] = append(c.expected[id], answer)
	return answer
}

// write sends a line. It blocks while the program does not read, until it is killed.
func (c *child) write(line []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.stdin.Write(line); err != nil {
		// It is about to end, and may have something to say until then.
		time.AfterFunc(graceAfterEnd, func() { c.kill(errStdin) })
	}
}

// acknowledge takes a line that the program has printed.
func (c *child) acknowledge(line []byte) {
	id := strings.TrimSpace(string(line))
	c.mu.Lock()
	answers := c.expected[id]
	switch len(answers) {
	case 0:
	case 1:
		delete(c.expected, id)
	default:
		c.expected[id] = answers[1:]
	}
	c.acknowledged = c.acknowledged || len(answers) > 0
	c.mu.Unlock()
	if len(answers) == 0 {
		c.process.sayStrange(id)
		return
	}
	answers[0] <- nil
}

// kill kills the program and what it has started. It does not wait for their end.
func (c *child) kill(cause error) {
	c.retire()
	c.cancel(cause)
}

func (c *child) retire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
}

// end: the program has ended with err, and was killed if there is a cause.
func (c *child) end(err, cause error) {
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // only its output was not closed
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retired = true
	failed := err
	switch {
	case errors.Is(cause, errDeadline):
		c.err = errors.New("killed with another event that took too long (--deadline)")
	case cause != nil:
		c.err = cause
	case err == nil:
		c.err = errors.New("it ended before it acknowledged this")
	default:
		c.err = fmt.Errorf("it ended before it acknowledged this: %w", err)
	}
	if !c.acknowledged && !errors.Is(cause, errDeadline) {
		c.err = &DownError{Err: c.err}
	}
	if len(c.expected) == 0 && failed != nil && cause == nil {
		c.process.say(fmt.Sprintf("%s ended: %v", c.process.name, failed))
	}
	for _, answers := range c.expected {
		for _, answer := range answers {
			answer <- c.err
		}
	}
	c.expected = nil
	close(c.ended)
}
