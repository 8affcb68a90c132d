// Command striptimes is a wrapper around dwatch for scripts that compare stderr. It runs the program with its own name in
// the parent directory of its executable, and removes the timestamps from its stderr.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"dwatch/testdata/stderrlog"
)

func main() {
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "striptimes:", err)
		code = 1
	}
	os.Exit(code)
}

func run() (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(self), "..", filepath.Base(os.Args[0])), os.Args[1:]...)
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return 0, err
	}
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() {
		for s := range signals {
			cmd.Process.Signal(s)
		}
	}()
	copied := stderrlog.CopyWithoutTimes(os.Stderr, stderr)
	ended := cmd.Wait()
	if state, ok := errors.AsType[*exec.ExitError](ended); ok {
		if by, isUnix := state.Sys().(syscall.WaitStatus); isUnix && by.Signaled() {
			return 128 + int(by.Signal()), copied
		}
		return state.ExitCode(), copied
	}
	return 0, errors.Join(ended, copied)
}
