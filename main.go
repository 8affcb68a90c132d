// Command dwatch prints what changes in a Kubernetes cluster.
//
//	argv -> options -> mapper.Resolve -> targets -> watcher.Run -> emit -> stdout
//	        (parse)    (names)           (merge)    (events)       (stages)
//
//	emit:  talk (marks to stderr) -> state (--state) -> keep (--watch-only, --types, --marks) -> printer
//	         \_ asides (what takes a question to the server first)
//
// One file a subject: options.go reads the command line, connection.go finds the
// server, cli/plan turns names into targets, watch.go runs them, state.go keeps
// what has been told, talk.go says on stderr what goes on, exit.go and explain.go
// turn an error into an exit code and a line. need.go knows which rights a run
// takes: rights.go asks the server for them, denied.go says what is missing and
// narrower.go which flag helps, rbac.go prints the roles that grant them.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// streams are what a program talks through: stdout is data, stderr is talk.
type streams struct {
	out *os.File
	err io.Writer
}

func main() {
	tuneStart()
	// A reader that closes the pipe is a way to end, not to die: see reader.go.
	signal.Ignore(syscall.SIGPIPE)
	// The first signal ends in good order, a second one by the system's default.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args, streams{os.Stdout, os.Stderr}))
}

// run is the program. It returns the exit code.
func run(ctx context.Context, argv []string, s streams) int {
	name := strings.TrimSuffix(filepath.Base(argv[0]), ".exe")
	args := argv[1:]
	if name == completionPlugin {
		// kubectl asks plugins for completions through a program of this name.
		args = append([]string{"__complete"}, args...)
	}
	if isCompletion(args) {
		s = silent(s)
	}
	cmd := newCommand(name, s)
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	if err == nil || isReaderGone(err) {
		return exitOK
	}
	for _, line := range unique(explain(err)) {
		fmt.Fprintln(s.err, "error: "+line)
	}
	return exitCode(err)
}
