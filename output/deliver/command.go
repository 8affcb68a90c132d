package deliver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"dwatch/output"
)

// Command is a Receiver that runs a program for each message: its body on stdin, what it is about
// in the environment. Exit code 0 means that it is delivered. Each line that the program prints
// goes to Text, with the object in front. When the context of a try ends, it is killed, with the
// processes that it has started.
type Command struct {
	Path   string
	Args   []string
	Output io.Writer // gets a line at a time

	mu sync.Mutex // for Text
}

var _ Receiver = (*Command)(nil)

// NewCommand returns a Command for a program, which is looked for as a shell would, and its
// arguments.
func NewCommand(argv []string) (*Command, error) {
	path, err := exec.LookPath(argv[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil // it is in the working directory, and $PATH says so
	}
	if err == nil {
		return &Command{Path: path, Args: argv[1:], Output: io.Discard}, nil
	}
	name := output.EscapeLine(argv[0])
	info, statErr := os.Stat(argv[0])
	isFile := statErr == nil && info.Mode().IsRegular()
	switch {
	case errors.Is(err, exec.ErrNotFound) && isFile:
		return nil, fmt.Errorf("%s is not in $PATH: to run the one in this directory, say ./%[1]s", name)
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s can't be run: no such program in $PATH", name)
	case errors.Is(err, os.ErrPermission) && isFile:
		return nil, fmt.Errorf("%s can't be run: it is not executable; 'chmod +x' makes it so", name)
	}
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err) // the others name it once more
	}
	return nil, fmt.Errorf("%s can't be run: %w", name, err)
}

// graceAfterEnd is how long the output of a program is waited for after its end: what it has
// started may still hold it.
const graceAfterEnd = time.Second

// Send implements Receiver.
func (c *Command) Send(ctx context.Context, m *Message) error {
	cmd, text := c.prepare(ctx, m.Subject)
	cmd.Env = environment(m)
	cmd.Stdin, cmd.Stdout = bytes.NewReader(m.Body), text
	if err := cmd.Start(); err != nil {
		return notStarted(err)
	}
	err := cmd.Wait()
	text.end()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil // only its output was not closed
	}
	return killed(ctx, err)
}

// prepare returns the program, not started yet. What it prints on stderr is passed on with what it
// is about in front.
func (c *Command) prepare(ctx context.Context, about string) (*exec.Cmd, *lines) {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.WaitDelay = graceAfterEnd
	inGroup(cmd)
	text := &lines{take: func(text []byte) {
		line := output.EscapeLine(strings.ReplaceAll(strings.TrimSuffix(string(text), "\r"), "\t", "    "))
		c.mu.Lock()
		defer c.mu.Unlock()
		fmt.Fprintln(c.Output, about+": "+line)
	}}
	cmd.Stderr = text
	return cmd, text
}

// killed says of a program that has failed if it was killed at the deadline.
func killed(ctx context.Context, err error) error {
	if late, ok := errors.AsType[*DeadlineError](context.Cause(ctx)); ok && err != nil {
		return fmt.Errorf("killed after %s (--deadline)", late.After)
	}
	return err
}

// notStarted explains why a program that is there was not started. No message will fare better.
func notStarted(err error) error {
	if cause, ok := errors.AsType[*os.PathError](err); ok {
		switch err = cause.Err; {
		case errors.Is(err, syscall.ENOEXEC):
			err = fmt.Errorf("%w: a script begins with a line such as #!/bin/sh", err)
		case errors.Is(err, os.ErrNotExist):
			err = fmt.Errorf("%w: it is gone, or the program in its #! line does not exist", err)
		}
	}
	return &DownError{Err: fmt.Errorf("not started: %w", err)}
}

// environment is what a program may want to know without reading JSON, and dwatch's own. Of
// values that come from a server, control characters are escaped: no variable may have a NUL.
func environment(m *Message) []string {
	all := os.Environ()
	for name, value := range map[string]string{
		"ID": m.ID, "TYPE": string(m.Type), "KIND": m.Kind, "NAMESPACE": m.Namespace, "NAME": m.Name,
		"UID": string(m.UID), "RESOURCE_VERSION": m.ResourceVersion,
	} {
		all = append(all, "DWATCH_"+name+"="+output.EscapeLine(value))
	}
	if m.Cluster != "" {
		all = append(all, "DWATCH_CLUSTER="+output.EscapeLine(m.Cluster))
	}
	return all
}
