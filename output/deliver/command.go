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

// Command is a Receiver that runs a program for each message. The program gets the body on stdin, and facts about the message in the
// environment. Exit code 0 means that the message is delivered. Each line that the program prints goes to Output, with the object
// in front. When the context of an attempt is done, the program and its child processes are killed.
type Command struct {
	Path   string
	Args   []string
	Output io.Writer // gets one line per write

	mu sync.Mutex // guards Output
}

var _ Receiver = (*Command)(nil)

// NewCommand returns a Command for a program and its arguments. It looks for the program in $PATH, as a shell does.
func NewCommand(argv []string) (*Command, error) {
	path, err := exec.LookPath(argv[0])
	if errors.Is(err, exec.ErrDot) {
		err = nil // $PATH includes the working directory
	}
	if err == nil {
		return &Command{Path: path, Args: argv[1:], Output: io.Discard}, nil
	}
	name := output.EscapeLine(argv[0])
	info, statErr := os.Stat(argv[0])
	isFile := statErr == nil && info.Mode().IsRegular()
	switch {
	case errors.Is(err, exec.ErrNotFound) && isFile:
		return nil, fmt.Errorf("%s is not in $PATH: to run the one in this directory, use ./%[1]s", name)
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("%s can't be run: no such program in $PATH", name)
	case errors.Is(err, os.ErrPermission) && isFile:
		return nil, fmt.Errorf("%s can't be run: it is not executable; use 'chmod +x'", name)
	}
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err) // the outer errors repeat the name
	}
	return nil, fmt.Errorf("%s can't be run: %w", name, err)
}

// graceAfterEnd is how long the Command reads the output after the end of a program whose child processes keep it open.
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

// prepare returns the program without starting it. Each line that the program prints on stderr goes to Output with about in front.
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

// killed returns an error that mentions the deadline if that is why the program was killed. Otherwise it returns err.
func killed(ctx context.Context, err error) error {
	if late, ok := errors.AsType[*DeadlineError](context.Cause(ctx)); ok && err != nil {
		return fmt.Errorf("killed after %s (--deadline)", late.After)
	}
	return err
}

// notStarted returns the DownError for a program that can't be started.
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

// environment returns dwatch's environment with the variables DWATCH_*, whose values are escaped. A variable must not contain NUL.
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
