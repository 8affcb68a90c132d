// Command cluster is the test bed of dwatch: a Kubernetes API server with its
// own etcd, and on demand the controllers, in one process on loopback. Its
// subcommands fill a running test bed with objects and change them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

const usage = `cluster runs a Kubernetes API server with its own etcd on 127.0.0.1, for tests.

Usage:
  cluster --kubeconfig PATH [flags]     run a cluster until SIGINT or SIGTERM
  cluster apply FILE... [flags]         create or update objects, CRDs first
  cluster pods N [flags]                create N pods of about 9 KB
  cluster churn M [flags]               write M small updates to those pods

"cluster COMMAND --help" shows the flags of a command. Once ready, cluster
prints "export KUBECONFIG=PATH" to stdout and nothing else.

Flags:
`

// usageError marks a mistake on the command line: exit code 2, not 1.
type usageError struct{ error }

// badUsage returns a usageError with a formatted message.
func badUsage(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func main() {
	collectSeldom()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(report(err, userStderr))
}

// run picks the command that args ask for and carries it out.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	commands := map[string]func(context.Context, []string, io.Writer) error{
		"apply": applyCommand,
		"pods":  podsCommand,
		"churn": churnCommand,
	}
	if len(args) > 0 {
		if command, ok := commands[args[0]]; ok {
			return command(ctx, args[1:], stdout)
		}
	}
	return serveCommand(ctx, args, stdout)
}

// report writes err as one line and returns the exit code of the process.
func report(err error, stderr io.Writer) int {
	var wrong usageError
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp):
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(stderr, "cluster: %s (see cluster --help)\n", oneLine(err))
		return 2
	default:
		fmt.Fprintf(stderr, "cluster: %s\n", oneLine(err))
		return 1
	}
}

// oneLine returns the text of err without line breaks.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// parseFlags parses args into flags. It writes the help to stdout and returns
// pflag.ErrHelp when args ask for it; any other failure is a usageError.
func parseFlags(flags *pflag.FlagSet, help string, args []string, stdout io.Writer) error {
	flags.SortFlags = false
	flags.Usage = func() { fmt.Fprint(stdout, help, flags.FlagUsages()) }
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if err != nil && !errors.Is(err, pflag.ErrHelp) {
		return usageError{err}
	}
	return err
}
