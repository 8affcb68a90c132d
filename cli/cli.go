// Package cli is the program: it reads the command line, puts together what that
// asks for, and turns the result into an exit code.
package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"dwatch/cli/complete"
)

// Streams are what a program writes to: Out gets data, Err what is for people.
type Streams struct {
	Out *os.File
	Err io.Writer
}

// Run runs the program until it is done or ctx ends, and returns the exit code.
// Its name, argv[0], decides how it speaks of itself.
func Run(ctx context.Context, argv []string, s Streams) int {
	name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	args := argv[1:]
	if name == complete.PluginName {
		// kubectl asks plugins for completions through a program of this name.
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	if complete.IsCompletionRequest(args) {
		s = silent(s)
	}
	if complete.IsAfterDashRequest(args) {
		return complete.CompleteFiles(s.Out)
	}
	said := &stderrLog{w: s.Err}
	s.Err = said
	cmd := newRoot(name, args, s)
	if complete.IsCompletionRequest(args) {
		complete.UnquoteUsage(cmd)
	}
	cmd.SetArgs(args)
	return sayEnd(said, cmd.ExecuteContext(context.WithValue(ctx, signalKey{}, ctx)))
}

// silent returns s without its stderr: a shell asks while somebody types, and what is on the
// screen must stay as it is. The process's own streams go too: cobra and the programs that get
// credentials use them, and without a terminal these don't ask for a password.
func silent(s Streams) Streams {
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		os.Stdin, os.Stderr = null, null
	}
	quietClient(io.Discard, 0)
	return Streams{s.Out, io.Discard}
}
