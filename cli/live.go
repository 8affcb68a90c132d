package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/output/live"
	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// liveFlags are the flags of dwatch live.
type liveFlags struct {
	common
	where  flags.Where
	format flags.Format
	table  flags.Table
	view   flags.View
	noise  flags.Noise
	masks  flags.Masks
	fields flags.ManagedFields
	color  flags.Color
	ends   flags.Until
}

func (l *liveFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to show", l.targets.AddTo, l.about.AddTo, l.targets.AddWait, l.where.AddTo, l.ends.AddTo),
		flags.NewGroup("How it looks", func(f *pflag.FlagSet) {
			l.format.Formats = []string{"table", "wide"}
			l.format.AddTo(f, "table or wide")
			l.formats = l.format.Completions()
		}, l.table.AddTo, l.color.AddTo, l.view.AddTo, l.noise.AddTo, func(f *pflag.FlagSet) {
			l.masks.AddShowSecretsTo(f, "")
		}, l.fields.AddTo),
	}
}

func (l *liveFlags) parse(args []string, t terminal) (runner, error) {
	l.format.Choose("table")
	s := &screen{view: l.view, kept: l.fields.Kept}
	w := &watching{
		connection: &l.connection, to: s, parallel: 1, seen: true, whereLast: true,
		needs: needs{managedFields: true, tables: true, wholeObjects: true},
	}
	w.filter.Marks = true
	var err error
	if w.ending.Ending, err = l.ends.Parse(); err != nil {
		return nil, err
	}
	if w.selection, err = l.selected(args); err != nil {
		return nil, err
	}
	if w.where, err = l.where.Parse(); err != nil {
		return nil, err
	}
	if s.table, err = l.table.Parse(); err != nil {
		return nil, err
	}
	if s.color, err = l.color.Parse(t.isTerminal && !t.noColor); err != nil {
		return nil, err
	}
	if err := cmp.Or(l.format.Parse(&w.print), l.noise.Parse(&w.print.Compare), l.masks.Parse(&w.print, false), t.checkScreen()); err != nil {
		return nil, err
	}
	s.wide = l.format.Name == "wide"
	return &onScreen{w, s}, nil
}

// checkScreen finds what keeps a terminal from being drawn on.
func (t terminal) checkScreen() error {
	switch {
	case !t.isTerminal:
		return errors.New("dwatch live needs a terminal, and stdout is none")
	case t.isDumb:
		return errors.New("dwatch live needs a terminal that can be drawn on, and by TERM this one can't")
	}
	return nil
}

// onScreen is a run whose screen has the terminal: what is said meanwhile is shown there.
type onScreen struct {
	*watching
	screen *screen
}

// run implements runner.
func (s *onScreen) run(ctx context.Context, c *console) error {
	s.screen.stderr = &diverted{w: c.stderr}
	c.stderr = s.screen.stderr
	defer catchStderr(output.Escape(s.screen.stderr))()
	if !c.isQuiet() {
		c.reports = s.screen.stderr
	}
	return s.watching.run(ctx, c)
}

// screen is the live table.
type screen struct {
	direct
	view   flags.View
	table  output.TableOptions
	color  bool
	wide   bool
	kept   bool // the managed fields are
	stderr *diverted
	live   *live.Screen
}

func (s *screen) open(ctx context.Context, w *watching, _ func(error)) (event.Sink, error) {
	s.live = live.New(live.Options{
		Title:         w.title(),
		Targets:       w.plan.Targets,
		Namespaces:    w.several(),
		Wide:          s.wide,
		Labels:        s.table.Labels,
		ShowLabels:    s.table.ShowLabels,
		Color:         s.color,
		ManagedFields: s.kept,
		Timestamps:    s.view.Timestamps,
		Full:          s.view.Full,
		Compare:       w.print.Compare,
		ShortName:     w.shortNames(),
		Where:         w.passing(),
		Condition:     conditionOf,
		Events:        w.questions.Events,
	})
	return s.live, nil
}

// around shows the screen while watch runs, and ends it when the user ends that.
func (s *screen) around(ctx context.Context, cancel context.CancelCauseFunc, w *watching, watch func() error) error {
	hangup, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // the terminal is closed
	defer stop()
	defer context.AfterFunc(hangup, func() { cancel(context.Cause(hangup)) })()
	shown, hide := context.WithCancel(ctx)
	ended := make(chan error, 1)
	s.stderr.divert(func(line string) { s.live.Note(time.Now(), line) })
	go func() {
		err := s.live.Run(shown, w.out.file)
		cancel(err)
		ended <- err
	}()
	closed := false
	leave := func() (err error) {
		if !closed {
			closed = true
			hide()
			err = <-ended
			s.stderr.release()
		}
		return err
	}
	defer leave() // also after a panic, before it is shown
	err := watch()
	if failed := leave(); err == nil && failed != nil && failed != live.ErrQuit {
		return failed
	}
	return err
}

// conditionOf reads an expression for objects as they are.
func conditionOf(text string) (func(event.Object) bool, error) {
	x, err := expression.CompileForObjects(text)
	if err != nil {
		return nil, err
	}
	return func(o event.Object) bool {
		holds, err := x.HoldsOf(o, time.Now())
		return holds && err == nil
	}, nil
}

// diverted is a stderr whose lines are shown elsewhere while something else has the terminal.
type diverted struct {
	w    io.Writer
	mu   sync.Mutex
	show func(line string) // nil: they go to w
	rest string            // the begin of a line
	kept []string
}

// maxKept is how many of the last lines are printed when the terminal is free again.
const maxKept = 20

// Write implements io.Writer.
func (d *diverted) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.show == nil {
		return d.w.Write(p)
	}
	d.rest += string(p)
	for {
		line, rest, whole := strings.Cut(d.rest, "\n")
		if !whole {
			return len(p), nil
		}
		d.rest = rest
		d.keep(line)
	}
}

func (d *diverted) keep(line string) {
	d.kept = append(d.kept, line)
	d.show(line)
}

func (d *diverted) divert(show func(string)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.show = show
}

// release prints what was said meanwhile, of very much the last.
func (d *diverted) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.rest != "" {
		d.kept, d.rest = append(d.kept, d.rest), ""
	}
	d.show = nil
	if more := len(d.kept) - maxKept; more > 0 {
		fmt.Fprintf(d.w, "%d lines before these were shown on the screen\n", more)
		d.kept = d.kept[more:]
	}
	for _, line := range d.kept {
		fmt.Fprintln(d.w, line)
	}
	d.kept = nil
}
