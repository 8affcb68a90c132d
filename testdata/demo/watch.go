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

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// arguments are what the demo gives to dwatch.
var arguments = []string{"-r", "deployments,crontabs", "-n", "default"}

// event is a line of dwatch.
type event struct {
	Type    string
	Initial bool
	Object  unstructured.Unstructured
}

// watch is a running dwatch. All but follow is used from one goroutine.
type watch struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc
	screen *screen
	lines  chan []byte // closed when dwatch has ended
	stream bytes.Buffer
}

// startWatch starts dwatch. When ctx ends, or with end, it ends as by Ctrl-C.
func startWatch(ctx context.Context, program, kubeconfig string, s *screen) (*watch, error) {
	ctx, cancel := context.WithCancel(ctx)
	w := &watch{cancel: cancel, screen: s, lines: make(chan []byte)}
	w.cmd = exec.CommandContext(ctx, program, arguments...)
	w.cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	w.cmd.Stderr = s.out
	w.cmd.Cancel = func() error { return w.cmd.Process.Signal(os.Interrupt) }
	w.cmd.WaitDelay = patience // then it is killed
	stdout, err := w.cmd.StdoutPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, fmt.Errorf("start dwatch: %w", err)
	}
	go w.follow(stdout)
	return w, nil
}

// follow hands over the lines. It ends with dwatch, as await and end take all.
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

// await shows events until all that was waited for has been seen.
func (w *watch) await(ctx context.Context, missing []condition) error {
	for len(missing) > 0 {
		select {
		case <-ctx.Done():
			return fmt.Errorf("dwatch does not tell of it: %w", context.Cause(ctx))
		case line, open := <-w.lines:
			if !open {
				return errors.New("dwatch ended before it told of it")
			}
			e, err := w.take(line)
			if err != nil {
				return err
			}
			missing = slices.DeleteFunc(slices.Clone(missing), func(seen condition) bool { return seen(e) })
		}
	}
	return nil
}

func (w *watch) take(line []byte) (e event, err error) {
	w.stream.Write(line)
	w.screen.line(line)
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("not an event: %w", err)
	}
	return e, nil
}

// end ends dwatch, shows what it still had to say, and returns how it ended.
func (w *watch) end() error {
	w.cancel()
	for line := range w.lines {
		w.stream.Write(line)
		w.screen.line(line)
	}
	if err := w.cmd.Wait(); err != nil && w.cmd.ProcessState.ExitCode() != 0 {
		return fmt.Errorf("dwatch: %w", err)
	}
	return nil
}
