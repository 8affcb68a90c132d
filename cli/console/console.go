package console

import (
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

// Streams are what a program writes to: data goes to Out, messages for people go to Err.
type Streams struct {
	Out *os.File
	Err io.Writer
}

// Terminal describes stdout as far as the parsing of flags depends on it.
type Terminal struct {
	IsTerminal bool // stdout is a terminal
	IsPiped    bool // stdout is a pipe, and stderr is a terminal
	NoColor    bool
	IsDumb     bool // the terminal cannot move its cursor
}

// TerminalOf inspects s and the environment.
func TerminalOf(s Streams) Terminal {
	info, err := s.Out.Stat()
	stderr, ok := s.Err.(*Stderr)
	return Terminal{
		IsTerminal: term.IsTerminal(int(s.Out.Fd())),
		IsPiped:    err == nil && info.Mode()&os.ModeNamedPipe != 0 && ok && stderr.isTerminal(),
		NoColor:    os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb",
		IsDumb:     os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" && runtime.GOOS != "windows",
	}
}

// Console is what a run writes to.
type Console struct {
	Out Stdout
	// Err gets warnings: what --quiet does not hide. Reports gets everything else that people read; with --quiet it is io.Discard.
	Err, Reports io.Writer
	// Started is when the console was created.
	Started time.Time
	// Status answers the signals that ask for the status of the run.
	Status  *StatusRequests
	release func() // ends the capture of the process's stderr
}

// New returns a Console, which has to be closed. If dated, lines on stderr begin with the time unless it is a terminal.
func New(s Streams, m flags.Logging, dated bool) *Console {
	c := &Console{Out: Stdout{File: s.Out}, Err: s.Err, Reports: s.Err, Started: time.Now(), release: func() {}}
	client := s.Err
	if stderr, ok := s.Err.(*Stderr); ok {
		stderr.Date(dated)
		c.Err, c.Reports, client = stderr.as(levelWarn), stderr.as(levelInfo), stderr.as(levelDebug)
		if stderr.IsJSON() {
			plugins := stderr.as(levelDebug) // credential plugins write to the process's stderr
			release := CaptureStderr(plugins)
			c.release = func() {
				release()
				plugins.flush()
			}
		}
	}
	SetClientLog(client, m.Verbosity)
	c.Status = answerStatusRequests(c.Reports)
	if m.Quiet {
		c.Reports = io.Discard
	}
	return c
}

// Close stops answering status requests and releases the process's stderr.
func (c *Console) Close() {
	c.Status.stop()
	c.release()
}

// StderrIsTerminal reports whether a person sees messages as they are written.
func (c *Console) StderrIsTerminal() bool {
	w, is := c.Err.(*lineWriter)
	return is && w.log.isTerminal()
}

// IsQuiet reports whether --quiet hides reports.
func (c *Console) IsQuiet() bool { return c.Reports == io.Discard }

// Say writes a line that --quiet hides.
func (c *Console) Say(line string) { report.WriteLine(c.Reports, line) }

// Warn writes a line that --quiet does not hide.
func (c *Console) Warn(line string) { report.WriteLine(c.Err, line) }

// WithoutReports returns a copy of c whose Say writes nothing.
func (c *Console) WithoutReports() *Console {
	own := *c
	own.Reports = io.Discard
	return &own
}

// Silent returns a copy of c whose Say and Warn write nothing.
func (c *Console) Silent() *Console {
	own := *c.WithoutReports()
	own.Err = io.Discard
	return &own
}

// ForCluster returns a copy of c whose lines name one of several clusters.
func (c *Console) ForCluster(name string) *Console {
	own := *c
	own.Err, own.Reports = forCluster(c.Err, name), forCluster(c.Reports, name)
	return &own
}

// ForRule returns a copy of c whose lines name a rule. If name is empty, they name none until SetRule is called.
func (c *Console) ForRule(name string) *Console {
	own := *c
	own.Err, own.Reports = forRule(c.Err, name), forRule(c.Reports, name)
	return &own
}

// SetRule changes the rule that the lines of a console made by ForRule name. If name is empty, they name none.
func (c *Console) SetRule(name string) {
	for _, w := range []io.Writer{c.Err, c.Reports} {
		if v, is := w.(*lineWriter); is {
			v.setRule(name)
		}
	}
}

// Connection says where messages go that come up while dwatch connects to a server.
func (c *Console) Connection() cluster.Options {
	return cluster.Options{
		Warnings: rest.NewWarningWriter(c.Reports, rest.WarningWriterOptions{Deduplicate: true}),
		Notify:   c.Say,
	}
}

// WarnIfReadable warns if other users may read a file of the given flag that contains objects and that dwatch did not create.
// It does not change the mode of the file, which may be intended.
func (c *Console) WarnIfReadable(flag, path string) {
	const readByOthers = 0o044
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&readByOthers == 0 || runtime.GOOS == "windows" {
		return
	}
	c.Say(fmt.Sprintf("warning: other users can read %s %s, which has contents of objects: chmod 600 keeps them out", flag, output.EscapeLine(path)))
}

func forRule(w io.Writer, name string) io.Writer {
	if v, is := w.(*lineWriter); is {
		return v.forRule(name)
	}
	return w
}

func forCluster(w io.Writer, name string) io.Writer {
	switch v := w.(type) {
	case *lineWriter:
		return v.forCluster(output.EscapeLine(name))
	case *ScreenLog:
		return prefixWriter{v, output.EscapeLine(name)}
	}
	return w
}

// prefixWriter writes the name of a cluster before each line.
type prefixWriter struct {
	w    io.Writer
	name string
}

// Write implements io.Writer. Each call must contain whole lines.
func (p prefixWriter) Write(line []byte) (int, error) {
	if _, err := p.w.Write(append([]byte(p.name+": "), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}
