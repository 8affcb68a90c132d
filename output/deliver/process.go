package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"dwatch/output"
)

// Process is a Receiver that sends all messages to one program, as lines of JSON on its stdin. A line has the body of a message, with
// a member "id" in front. A message is delivered when the program prints its id as a line. The program may have several messages at a
// time, and may acknowledge them in any order. Lines on its stderr go to Output of the Command.
//
// The program is started for the first message. If it ends, all unacknowledged messages fail, and the next message starts it again.
// If one message exceeds its deadline, the program is killed, and the other messages fail, too.
type Process struct {
	command *Command
	name    string
	say     func(line string)

	mu      sync.Mutex
	child   *child // the latest run of the program; nil before the first one
	strange bool   // true once a printed line that is no id was reported
}

// child is one run of the program. The mutex of the Process guards expected, retired and acknowledged.
type child struct {
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed when the program has ended
	writing sync.Mutex    // guards writes to stdin
	stdin   io.WriteCloser
	// expected has a channel for the result of each unacknowledged message, by id. An object that is served as two resources can
	// cause two messages with the same id.
	expected     map[string][]chan error
	retired      bool // true if the program gets no more messages
	acknowledged bool // true once the program has acknowledged a message
}

var _ Receiver = (*Process)(nil)

// NewProcess returns a Process that runs a command. name is its name in messages. say gets warnings about the program that do not
// belong to a failed message.
func NewProcess(c *Command, name string, say func(line string)) *Process {
	return &Process{command: c, name: name, say: say}
}

// Send implements Receiver.
func (p *Process) Send(ctx context.Context, m *Message) error {
	id := strings.TrimSpace(output.EscapeLine(m.ID)) // so that the program can print it as a line
	line, err := lineOf(id, m.Body)
	if err != nil {
		return &RefusedError{Err: err}
	}
	c, answer, err := p.expect(id)
	if err != nil {
		return notStarted(err)
	}
	defer context.AfterFunc(ctx, func() { p.kill(c, context.Cause(ctx)) })()
	p.write(c, line)
	return killed(ctx, <-answer)
}

// lineOf returns the line for a message.
func lineOf(id string, body []byte) ([]byte, error) {
	if len(id) >= longestLine {
		return nil, errors.New("its id is too long for a line")
	}
	name, _ := json.Marshal(id) // it cannot fail for a string
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil || !bytes.HasPrefix(line.Bytes(), []byte(`{"`)) {
		return nil, errors.New("--batch sends JSON, and this event is not JSON")
	}
	return fmt.Appendf(nil, `{"id":%s,%s`+"\n", name, line.Bytes()[1:]), nil
}

// expect returns the running program, to which the caller must send the message with this id, and a channel that gets the result. It
// starts the program if necessary.
func (p *Process) expect(id string) (*child, <-chan error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child == nil || p.child.retired {
		c, err := p.startLocked()
		if err != nil {
			return nil, nil, err
		}
		p.child = c
	}
	answer := make(chan error, 1)
	p.child.expected[id] = append(p.child.expected[id], answer)
	return p.child, answer, nil
}

func (p *Process) startLocked() (*child, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	c := &child{cancel: cancel, ended: make(chan struct{}), expected: map[string][]chan error{}}
	cmd, text := p.command.prepare(ctx, p.name)
	ids := &lines{take: func(line []byte) { p.acknowledge(c, strings.TrimSpace(string(line))) }}
	cmd.Stdout = ids
	var err error
	if c.stdin, err = cmd.StdinPipe(); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel(nil)
		return nil, err
	}
	go func() {
		defer close(c.ended)
		defer cancel(nil)
		err := cmd.Wait()
		p.retire(c) // first, so that no message is added after end has reported the results
		ids.end()
		text.end()
		p.end(c, err, context.Cause(ctx))
	}()
	return c, nil
}

// write writes a line. It blocks while the program does not read, until it is killed.
func (p *Process) write(c *child, line []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.stdin.Write(line); err != nil {
		// The program is probably about to end. It may still print ids or errors.
		time.AfterFunc(graceAfterEnd, func() { p.kill(c, errors.New("it no longer reads its stdin")) })
	}
}

// acknowledge handles a line that the program has printed on stdout. It reports the first line that is no expected id.
func (p *Process) acknowledge(c *child, id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if answers := c.expected[id]; len(answers) > 0 {
		answers[0] <- nil
		c.expected[id], c.acknowledged = answers[1:], true
		if len(answers) == 1 {
			delete(c.expected, id)
		}
	} else if !p.strange {
		p.strange = true
		p.say(fmt.Sprintf("%s printed %q, which is not the id of an event that it has; such lines on its stdout are ignored", p.name, explain(errors.New(id))))
	}
}

// kill kills the program and its child processes. It does not wait for their end.
func (p *Process) kill(c *child, cause error) {
	p.retire(c)
	c.cancel(cause)
}

func (p *Process) retire(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.retired = true
}

// end reports the result of all unacknowledged messages. err is the result of the program. If cause is not nil, the program was
// killed.
func (p *Process) end(c *child, err, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // only the output of the program was not closed
	}
	if len(c.expected) == 0 && err != nil && cause == nil {
		p.say(fmt.Sprintf("%s ended: %v", p.name, err))
	}
	_, isLate := errors.AsType[*DeadlineError](cause)
	switch {
	case isLate:
		err = errors.New("killed with another event that took too long (--deadline)")
	case cause != nil:
		err = cause
	case err == nil:
		err = errors.New("it ended before it acknowledged this")
	default:
		err = fmt.Errorf("it ended before it acknowledged this: %w", err)
	}
	if !c.acknowledged && !isLate {
		err = &DownError{Err: err}
	}
	for _, answers := range c.expected {
		for _, answer := range answers {
			answer <- err
		}
	}
}

// Shutdown closes the stdin of the program and waits for its end. When ctx is done, it kills the program and its child processes. Send
// must not be called afterwards.
func (p *Process) Shutdown(ctx context.Context) {
	p.mu.Lock()
	c := p.child
	p.mu.Unlock()
	if c == nil {
		return
	}
	defer context.AfterFunc(ctx, func() { p.kill(c, context.Cause(ctx)) })()
	c.stdin.Close()
	<-c.ended
}
