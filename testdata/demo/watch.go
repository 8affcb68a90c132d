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

// What the demo gives to dwatch: to show what changes, and to print JSON.
var (
	viewArguments   = []string{"deploy,rs,po,ct", "--only", "spec"}
	streamArguments = []string{"deploy,ct"}
)

// dwatch is a running dwatch.
type dwatch struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
}

// start starts dwatch. When ctx ends, or with end, it ends as by Ctrl-C. Stdout is
// where its events go; nil is a pipe, which is returned. Only the live table reads stdin.
func start(ctx context.Context, program, kubeconfig string, args []string, stdin, stdout, stderr *os.File) (*dwatch, io.Reader, error) {
	ctx, cancel := context.WithCancel(ctx)
	d := &dwatch{exec.CommandContext(ctx, program, args...), cancel}
	d.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	d.cmd.Cancel = func() error { return d.cmd.Process.Signal(os.Interrupt) }
	d.cmd.WaitDelay = patience // then it is killed
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

// end ends dwatch, and returns how it ended.
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

// watch is what the demo shows: a dwatch on the screen, and beside it one that
// prints JSON, by which the demo knows what has happened. All but follow is used
// from one goroutine.
type watch struct {
	view, json *dwatch
	lines      chan []byte // of JSON; closed when there is no more
	stream     bytes.Buffer
}

// startWatch starts both.
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

// follow hands over the lines. It ends with dwatch, as await and endStream take all.
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

// await returns when events have been printed that fulfil all conditions.
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

// endStream ends the one that prints JSON, and returns how it ended.
func (w *watch) endStream() error {
	w.json.cancel()
	for line := range w.lines {
		w.stream.Write(line)
	}
	return w.json.end()
}
