// Package cli is the command line of dwatch: each command turns its flags into a run.Config, a source and a destination, or into another
// task. One file has one command.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"dwatch/cli/complete"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/run"
)

// Streams are what the program writes to.
type Streams = console.Streams

// Run runs the program until it is done or ctx ends, and returns the exit code. argv[0] decides how dwatch names itself in messages.
func Run(ctx context.Context, argv []string, s Streams) int {
	name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	args := argv[1:]
	if name == complete.PluginName {
		// kubectl asks plugins for completions through a program of this name.
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	if complete.IsCompletionRequest(args) {
		s = withoutStderr(s)
	}
	if complete.IsAfterDashRequest(args) {
		return complete.CompleteFiles(s.Out)
	}
	stderr := console.NewStderr(s.Err)
	s.Err = stderr
	cmd := newRoot(name, args, s)
	if complete.IsCompletionRequest(args) {
		complete.UnquoteUsage(cmd)
	}
	cmd.SetArgs(args)
	return reportEnd(stderr, cmd.ExecuteContext(run.WithSignals(ctx)))
}

// withoutStderr returns s without stderr: a shell asks for completions while the user types, and the screen must stay as it is. The
// streams of the process go, too: cobra and credential plugins use them, and without a terminal plugins do not ask for a password.
func withoutStderr(s Streams) Streams {
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		os.Stdin, os.Stderr = null, null
	}
	console.SetClientLog(io.Discard, 0)
	return Streams{Out: s.Out, Err: io.Discard}
}

// reportEnd prints the error that the program ends with, and returns the exit code.
func reportEnd(stderr *console.Stderr, err error) int {
	if err == nil || console.IsReaderGone(err) {
		return fail.ExitOK
	}
	if fail.ExitCode(err) == fail.ExitUsage {
		stderr.Date(false) // nothing has happened yet that a time would matter for
	}
	if !errors.Is(err, errFirstSteps) && !errors.Is(err, errDifferent) {
		stderr.Error(fail.Explain(err))
	}
	return fail.ExitCode(err)
}
