package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Command lines of the demo: one dwatch shows the changes, one prints JSON.
var (
	viewArguments   = []string{"deploy,rs,po,ct", "--only", "spec"}
	streamArguments = []string{"deploy,ct"}
)

// dwatch is a running dwatch.
type dwatch struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
}

// start starts dwatch, and ends it as Ctrl-C does when ctx is done or end is called. If stdout is nil, start returns
// a pipe with its events. Only the live table reads stdin.
func start(ctx context.Context, program, kubeconfig string, args []string, stdin, stdout, stderr *os.File) (*dwatch, io.Reader, error) {
	ctx, cancel := context.WithCancel(ctx)
	d := &dwatch{exec.CommandContext(ctx, program, args...), cancel}
	d.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(os.Interrupt) }
	d.cmd.WaitDelay = patience // afterwards it is killed
	if stdin != nil {
		d.cmd.Stdin = stdin
	}
	if stderr != nil {
		d.cmd.Stderr = stderr
	}
	var pipe io.Reader
	var err error
	if stdout != nil {
		d.cmd.Stdout = stdout
	} else {
		pipe, err = d.cmd.StdoutPipe()
	}
	if err == nil {
		err = d.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, nil, fmt.Errorf("start dwatch: %w", err)
	}
	return d, pipe, nil
}

// end ends dwatch and returns its exit error.
func (d *dwatch) end() error {
	d.cancel()
	if err := d.cmd.Wait(); err != nil && d.cmd.ProcessState.ExitCode() != 0 {
		return fmt.Errorf("dwatch: %w", err)
	}
	return nil
}

// event is a line of JSON.
type event struct {
	Type    string
	Initial bool
	Object  unstructured.Unstructured
}

// watch is a pair of dwatch processes: one on the screen, and one whose JSON tells the demo which events have happened.
// All methods except follow are called from one goroutine.
type watch struct {
	view, json *dwatch
	lines      chan []byte // JSON; closed at the end of the stream
	stream     bytes.Buffer
}

// startWatch starts both processes.
func startWatch(ctx context.Context, program, kubeconfig string, s *screen) (*watch, error) {
	args := viewArguments
	if !s.terminal {
		args = append(slices.Clone(args), "-o", "changes")
	}
	s.command("dwatch " + strings.Join(args, " "))
	json, stdout, err := start(ctx, program, kubeconfig, streamArguments, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	w := &watch{json: json, lines: make(chan []byte)}
	go w.follow(stdout)
	if w.view, _, err = start(ctx, program, kubeconfig, args, nil, s.out, s.out); err != nil {
		return nil, errors.Join(err, w.endStream())
	}
	return w, nil
}

// follow sends the lines of stdout to w.lines. It returns when dwatch ends, because await and endStream read all lines.
func (w *watch) follow(stdout io.Reader) {
	defer close(w.lines)
	for r := bufio.NewReader(stdout); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return
		}
		w.lines <- line
	}
}

// await returns when each condition has held for some printed event.
func (w *watch) await(ctx context.Context, missing []condition) error {
	for len(missing) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("dwatch does not report it: %w", context.Cause(ctx))
		case line, open := <-w.lines:
			if !open {
				return errors.New("dwatch ended before it reported it")
			}
			w.stream.Write(line)
			var e event
			if err := json.Unmarshal(line, &e); err != nil {
				return fmt.Errorf("not an event: %w", err)
			}
			missing = slices.DeleteFunc(slices.Clone(missing), func(seen condition) bool { return seen(e) })
		}
	}
	return nil
}

// endStream ends the process that prints JSON and returns its exit error.
func (w *watch) endStream() error {
	w.json.cancel()
	for line := range w.lines {
		w.stream.Write(line)
	}
	return w.json.end()
}
