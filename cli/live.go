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

	"dwatch/cli/flags"
	"dwatch/cli/report"
	"dwatch/output"
	"dwatch/output/live"
	"dwatch/output/text"
	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

type liveFlags struct {
	watchFlags
	screen screen
	format flags.Format
	noise  flags.Noise
	masks  flags.Masks
	color  flags.Color
	rewound
}

func (l *liveFlags) groups() []flags.Group {
	s, w := &l.screen, &l.w
	return []flags.Group{
		flags.NewGroup("What to show", l.targets.AddTo, flags.Subject(&l.object), l.targets.AddWait, flags.Where(&w.where), w.ending.AddTo),
		flags.NewGroup("The past", l.rewound.addTo),
		flags.NewGroup("How it looks", l.format.Flags([]string{"table", "wide"}, "table or wide"), flags.Columns(&w.print.Table), l.color.AddTo, s.view.AddTo, l.noise.AddTo, l.masks.AddShowSecrets(""), flags.ManagedFields(&s.kept)),
	}
}

func (l *liveFlags) parse(args []string, t terminal) (runner, error) {
	s, w := &l.screen, &l.w
	l.format.Resolve("table")
	w.to, w.parallel, w.seen, w.whereLast, w.filter.PassStatus, w.fleets = s, 1, true, true, true, true
	w.needs = needs{managedFields: true, tables: true, wholeObjects: true, events: true}
	if err := cmp.Or(l.rewound.read(l.all), l.selectTargets(args)); err != nil {
		return nil, err
	}
	l.noise.Apply(&w.print.Compare)
	w.ignored = l.noise.IgnoredPaths()
	w.print.Color = l.color.IsEnabled(t.isTerminal && !t.noColor)
	if l.from.IsSet() {
		s.past = &l.rewound
		return &pastScreen{&replayed{w: w, from: l.from, looks: s.past}, s}, cmp.Or(checkFrom(l.all, l.server, w.selection), l.format.Parse(&w.print), l.masks.Parse(&w.print, false), t.checkScreen())
	}
	return &onScreen{w, s}, cmp.Or(w.checkNamed("dwatch live"), w.ending.Check(false), l.format.Parse(&w.print), l.masks.Parse(&w.print, false), t.checkScreen())
}

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

func (s *onScreen) run(ctx context.Context, c *console) error {
	defer s.screen.take(c)()
	return s.watching.run(ctx, c)
}

// take has what is said from now on shown on the screen, and returns what ends that.
func (s *screen) take(c *console) (end func()) {
	s.stderr = &diverted{w: c.stderr}
	c.stderr = s.stderr
	if end = catchStderr(text.NewWriter(s.stderr)); !c.isQuiet() {
		c.reports = s.stderr
	}
	return end
}

type screen struct {
	direct
	view   flags.View
	kept   bool     // the managed fields are
	past   *rewound // a recording is shown; nil: a cluster is
	stderr *diverted
	live   *live.Screen
	asks   *lookAsks // nil over a recording
}

func (s *screen) open(ctx context.Context, w *watching, _ func(error)) (event.Sink, error) {
	shown := w.changes(s.view)
	o := live.Options{
		Options:           shown,
		Clusters:          w.clusters(),
		Wide:              w.print.Format == "wide",
		Labels:            w.print.Table.LabelColumns,
		ShowLabels:        w.print.Table.ShowLabels,
		ShowManagedFields: s.kept,
		Where:             w.passing(),
		CompileCondition:  conditionOf,
		FetchEvents:       w.eventsAbout(shown.Compare.Masks),
	}
	if s.past != nil {
		o.Recording, o.Title = &live.Recording{InitialTime: s.past.at}, "recording "+output.EscapeLine(s.past.from.String())+": "+report.DescribeTargets(w.plan.Targets)
	} else {
		o.Title, s.asks = w.title(), newLookAsks(w)
		o.LookupOwners, o.LookupWarning = s.asks.above.Get, s.asks.warned.Newest
	}
	s.live = live.New(o)
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
	err := s.asks.beside(ctx, watch)
	if s.past != nil && err == nil {
		s.past.showOn(s.live, w.print.Timestamps)
		<-ctx.Done()
	}
	if s.past != nil && errors.Is(err, context.Canceled) { // before the recording had been read
		err = nil
	}
	if failed := leave(); err == nil && failed != nil && failed != live.ErrQuit {
		return failed
	}
	return err
}

// conditionOf reads an expression for objects as they are.
func conditionOf(text string) (func(string, event.Object) bool, error) {
	x, err := expression.CompileForObjects(text)
	if err != nil {
		return nil, err
	}
	return func(cluster string, o event.Object) bool {
		holds, err := x.MatchesObject(cluster, o, time.Now())
		return holds && err == nil
	}, nil
}

// diverted is a stderr whose lines are shown elsewhere while something else has the terminal.
type diverted struct {
	w    io.Writer
	mu   sync.Mutex
	show func(line string) // nil: they go to w
	rest string            // the begin of a line
	kept []said
}

// said is a line, and when it came.
type said struct {
	at   time.Time
	line string
}

// maxKept is how many of the last lines are printed when the terminal is free again.
const maxKept = 20

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
		d.rest, d.kept = rest, append(d.kept, said{time.Now(), line})
		d.show(line)
	}
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
		d.kept, d.rest = append(d.kept, said{time.Now(), d.rest}), ""
	}
	d.show = nil
	if more := len(d.kept) - maxKept; more > 0 {
		fmt.Fprintf(d.w, "%d lines before these were shown on the screen\n", more)
		d.kept = d.kept[more:]
	}
	for _, s := range d.kept {
		if t, ok := d.w.(*lineWriter); ok {
			t.writeAt(s.at, []byte(s.line+"\n"))
		} else {
			fmt.Fprintln(d.w, s.line)
		}
	}
	d.kept = nil
}
