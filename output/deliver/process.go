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

// Process is a Receiver with one program that gets all messages, each as a line of JSON on its
// stdin: the body, with a member "id" in front. A message is delivered when the program has printed
// its id as a line. It may have several at a time, and acknowledge them in any order. What it
// prints on stderr goes to Text of the command.
//
// The program is started with the first message, and again with the next after its end. What it had
// not acknowledged by then has failed, also when it is killed at the deadline of one message.
type Process struct {
	command *Command
	name    string
	say     func(line string)

	mu      sync.Mutex
	child   *child // the last one; nil: none yet
	strange bool   // it was said that it prints what is no id
}

// child is one run of the program, guarded by the lock of its Process, but for writing.
type child struct {
	cancel  context.CancelCauseFunc
	ended   chan struct{} // closed at its end
	writing sync.Mutex    // for stdin
	stdin   io.WriteCloser
	// expected has what it was sent, or will be, by ids, of which two objects may have the same:
	// one that is served as two resources.
	expected     map[string][]chan error
	retired      bool // it gets nothing more
	acknowledged bool // something
}

var _ Receiver = (*Process)(nil)

// NewProcess returns a Process that runs a command, which people know by a name. say gets what is
// wrong with it beside messages that fail.
func NewProcess(c *Command, name string, say func(line string)) *Process {
	return &Process{command: c, name: name, say: say}
}

// Send implements Receiver.
func (p *Process) Send(ctx context.Context, m *Message) error {
	id := strings.TrimSpace(output.EscapeLine(m.ID)) // as it can be printed as a line
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

// lineOf is a message as the program gets it.
func lineOf(id string, body []byte) ([]byte, error) {
	if len(id) >= longestLine {
		return nil, errors.New("its id is too long for a line")
	}
	name, _ := json.Marshal(id) // a string has a JSON form
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil || !bytes.HasPrefix(line.Bytes(), []byte(`{"`)) {
		return nil, errors.New("--batch sends JSON, and this event is none")
	}
	return fmt.Appendf(nil, `{"id":%s,%s`+"\n", name, line.Bytes()[1:]), nil
}

// expect returns a running program that will be sent the message with an id, and what gets its
// answer.
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
		p.retire(c) // before the last answer: it gets nothing more
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
		// It is about to end, and may have something to say until then.
		time.AfterFunc(graceAfterEnd, func() { p.kill(c, errors.New("it no longer reads its stdin")) })
	}
}

// acknowledge takes a line that the program has printed. Once it is said that one is no id.
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

// kill kills the program and what it has started. It does not wait for their end.
func (p *Process) kill(c *child, cause error) {
	p.retire(c)
	c.cancel(cause)
}

func (p *Process) retire(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.retired = true
}

// end: the program has ended with err, and was killed if there is a cause.
func (p *Process) end(c *child, err, cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // only its output was not closed
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

// Finish closes the stdin of the program and waits for its end, or kills it with what it has
// started when ctx ends. Send is not called any more.
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
