package deliver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"dwatch/output"
)

// Process is a Receiver with one program that gets all messages, each as a line of JSON on
// its stdin: the body, with a member "id" in front. A message is delivered when the program
// has printed its id as a line. It may have several at a time, and acknowledge them in any
// order. What it prints on stderr goes to Text of the command.
//
// The program is started with the first message, and again with the next after its end.
// What it had not acknowledged by then has failed. That is so, too, when it is killed at
// the deadline of one message.
type Process struct {
	command *Command
	name    string
	say     func(line string)

	mu    sync.Mutex
	child *child // the last one; nil: none yet

	strange atomic.Bool // it was said that it prints what is no id
}

var _ Receiver = (*Process)(nil)

// NewProcess returns a Process that runs a command, which people know by a name. say gets
// what is wrong with it beside messages that fail.
func NewProcess(c *Command, name string, say func(line string)) *Process {
	return &Process{command: c, name: name, say: say}
}

// Send implements Receiver.
func (p *Process) Send(ctx context.Context, m *Message) error {
	id := idLine(m.ID)
	line, err := lineOf(id, m.Body)
	if err != nil {
		return &RefusedError{Err: err}
	}
	if d := p.command.Deadline; d > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, d, errDeadline)
		defer stop()
	}
	c, answer, err := p.expect(id)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { c.kill(context.Cause(ctx)) })
	defer stop()
	c.write(line)
	err = <-answer
	if err != nil && errors.Is(context.Cause(ctx), errDeadline) {
		return fmt.Errorf("killed after %s (--deadline)", p.command.Deadline)
	}
	return err
}

// idLine is an id as it can be printed as a line.
func idLine(id string) string { return strings.TrimSpace(output.Line(id)) }

// lineOf is a message as the program gets it.
func lineOf(id string, body []byte) ([]byte, error) {
	if len(id) >= longestLine {
		return nil, errors.New("its id is too long for a line")
	}
	name, err := json.Marshal(id)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer
	if err := json.Compact(&line, body); err != nil || !bytes.HasPrefix(line.Bytes(), []byte(`{"`)) {
		return nil, errors.New("--batch sends JSON, and this event is none")
	}
	members := line.Bytes()[1:]
	return fmt.Appendf(nil, `{"id":%s,%s`+"\n", name, members), nil
}

// expect returns a running program that will be sent the message with an id, and what
// gets its answer.
func (p *Process) expect(id string) (*child, <-chan error, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.child != nil {
		if answer := p.child.expect(id); answer != nil {
			return p.child, answer, nil
		}
	}
	c, err := p.start()
	if err != nil {
		return nil, nil, notStarted(err)
	}
	p.child = c
	answer := c.expect(id)
	if answer == nil { // it has ended already
		<-c.ended
		return nil, nil, c.err
	}
	return c, answer, nil
}

// sayStrange says once what a program prints that is the id of nothing it has.
func (p *Process) sayStrange(line string) {
	if p.strange.CompareAndSwap(false, true) {
		p.say(fmt.Sprintf("%s printed %q, which is not the id of an event that it has; such lines on its stdout are ignored", p.name, explain(errors.New(line))))
	}
}

// Finish closes the stdin of the program and waits for its end, or kills it with what it
// has started when ctx ends. Send is not called any more.
func (p *Process) Finish(ctx context.Context) {
	p.mu.Lock()
	c := p.child
	p.mu.Unlock()
	if c == nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { c.kill(context.Cause(ctx)) })
	defer stop()
	c.stdin.Close()
	<-c.ended
}
