package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"golang.org/x/term"
	"k8s.io/client-go/rest"

	"dwatch/cli/cluster"
	"dwatch/cli/flags"
	"dwatch/cli/report"
	"dwatch/output"
)

// terminal is what parsing has to know of the world.
type terminal struct {
	isTerminal bool // stdout is one
	isPiped    bool // stdout is a pipe, and stderr is a terminal
	noColor    bool
	isDumb     bool // it can't be drawn on
}

func terminalOf(s Streams) terminal {
	info, err := s.Out.Stat()
	stderr, ok := s.Err.(*stderrLog)
	return terminal{
		isTerminal: term.IsTerminal(int(s.Out.Fd())),
		isPiped:    err == nil && info.Mode()&os.ModeNamedPipe != 0 && ok && stderr.isTerminal(),
		noColor:    os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb",
		isDumb:     os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" && runtime.GOOS != "windows",
	}
}

type console struct {
	out    stdout // data
	stderr io.Writer
	// reports is stderr, or nowhere with --quiet. What is missing from the events, and
	// what decides the exit code, goes to stderr all the same.
	reports io.Writer
	started time.Time
	asked   *asked
	release func() // what else writes to the process's stderr
}

// newConsole has to be closed. goesOn: the run is one that watches.
func newConsole(s Streams, m flags.Logging, goesOn bool) *console {
	c := &console{out: stdout{file: s.Out}, stderr: s.Err, reports: s.Err, started: time.Now(), release: func() {}}
	client := s.Err
	if stderr, ok := s.Err.(*stderrLog); ok {
		stderr.date(goesOn)
		c.stderr, c.reports, client = stderr.as(levelWarn), stderr.as(levelInfo), stderr.as(levelDebug)
		if stderr.isJSON() {
			plugins := stderr.as(levelDebug) // credential plugins write there
			release := catchStderr(plugins)
			c.release = func() {
				release()
				plugins.end()
			}
		}
	}
	quietClient(client, m.Verbosity)
	c.asked = whenAsked(c.reports)
	if m.Quiet {
		c.reports = io.Discard
	}
	return c
}

func (c *console) close() {
	c.asked.stop()
	c.release()
}

// atTerminal reports whether somebody sees what is said as it comes.
func (c *console) atTerminal() bool {
	v, is := c.stderr.(*lineWriter)
	return is && v.log.isTerminal()
}

func (c *console) isQuiet() bool { return c.reports == io.Discard }

// say reports something, which --quiet hides.
func (c *console) say(line string) { report.WriteLine(c.reports, line) }

// warn reports what --quiet does not hide.
func (c *console) warn(line string) { report.WriteLine(c.stderr, line) }

// silent is this console without reports.
func (c *console) silent() *console {
	own := *c
	own.reports = io.Discard
	return &own
}

// mute is this console without anything that is said.
func (c *console) mute() *console {
	own := *c.silent()
	own.stderr = io.Discard
	return &own
}

// connection says where to go with what comes on the way to the server.
func (c *console) connection() cluster.Options {
	return cluster.Options{
		Warnings: rest.NewWarningWriter(c.reports, rest.WarningWriterOptions{Deduplicate: true}),
		Notify:   c.say,
	}
}

// at runs work at a cluster, for a time at most if that is not 0. whole says that what
// is printed is worth nothing before it is complete.
func (c *console) at(ctx context.Context, f *cluster.Flags, timeout time.Duration, whole bool, work func(context.Context, *cluster.Cluster) error) error {
	k, err := f.Connect(c.connection())
	if err != nil {
		return err
	}
	ctx, cancel := bounded(ctx, timeout)
	defer cancel()
	return ended(ctx, work(ctx, k), whole)
}

// bounded returns a context that ends with --timeout, if that is not 0.
func bounded(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout > 0 {
		return context.WithTimeoutCause(ctx, timeout, errTimeout)
	}
	return context.WithCancel(ctx)
}

// warnReadable says of a file that has contents of objects, and that dwatch did not make,
// that others may read it. Its mode is left as it is: it may be so on purpose.
func (c *console) warnReadable(flag, path string) {
	const readByOthers = 0o044
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&readByOthers == 0 || runtime.GOOS == "windows" {
		return
	}
	c.say(fmt.Sprintf("warning: other users can read %s %s, which has contents of objects: chmod 600 keeps them out", flag, output.EscapeLine(path)))
}
