package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"dwatch/cli/flags"
	"dwatch/output/top"
	"dwatch/watcher/event"
)

type topFlags struct {
	watchFlags
	top    flags.Top
	format flags.Format
	noise  flags.Noise
	masks  flags.Masks
	color  flags.Color
	played flags.Replay
}

func (f *topFlags) groups() []flags.Group {
	w := &f.w
	return []flags.Group{
		flags.NewGroup("What to watch", f.targets.AddTo, f.targets.AddWait),
		f.played.Group(),
		flags.NewGroup("Which changes", f.noise.AddTo),
		flags.NewGroup("How it looks", f.format.Flags([]string{"table", "json"}, "table or json, a line for each object"), f.top.AddRowsTo, f.color.AddTo, f.masks.AddTo, f.masks.AddShowSecrets("")),
		flags.NewGroup("When it is printed, and ends", f.top.AddTo, flags.Timeout(&w.ending.Timeout, "with exit code 0, after what was found until then")),
	}
}

func (f *topFlags) parse(args []string, t terminal) (runner, error) {
	w := &f.w
	f.format.Resolve("table")
	if err := cmp.Or(f.selectTargets(args), f.played.Parse(f.all)); err != nil {
		return nil, err
	}
	f.noise.Apply(&w.print.Compare)
	w.ignored = f.noise.IgnoredPaths()
	w.needs = needs{old: true, managedFields: true}
	d := &topTable{flags: f.top, json: f.format.Name == "json"}
	d.inPlace = t.isTerminal && !t.isDumb && !d.json
	d.every = f.top.EffectiveInterval(d.inPlace, w.ending.Timeout)
	w.print.Color = f.color.IsEnabled(t.isTerminal && !t.noColor)
	w.to, w.lasting, w.fleets = d, true, true
	if err := cmp.Or(f.format.CheckName(), f.masks.Parse(&w.print, false)); err != nil || !f.played.From.IsSet() {
		return &topRun{w, d}, err
	}
	if f.all.Changed("interval") || f.all.Changed("count") {
		return nil, errors.New("--from counts what was recorded, and prints once: it does not go with --interval and --count")
	}
	d.inPlace, d.every, d.began = false, 0, f.played.Range.Since
	return f.replay(f.played, "nothing was printed")
}

// topRun is a run of which a table is drawn in place at a terminal: what is said meanwhile is
// drawn there, too.
type topRun struct {
	*watching
	table *topTable
}

func (r *topRun) run(ctx context.Context, c *console) error {
	reading, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	if r.table.inPlace {
		r.table.stderr = &diverted{w: c.stderr}
		c.stderr = r.table.stderr
		if !c.isQuiet() {
			c.reports = r.table.stderr
		}
	}
	return r.watching.run(reading, c)
}

// topTable is the destination of dwatch top.
type topTable struct {
	direct
	flags   flags.Top
	json    bool
	inPlace bool
	every   time.Duration // 0: only at the end
	began   time.Time     // zero: when it is opened, or a recording begins
	stderr  *diverted     // nil: it is not in place
	top     *top.Top
}

func (d *topTable) open(_ context.Context, w *watching, _ func(error)) (event.Sink, error) {
	file := w.out.file
	switch {
	case w.isPast() && d.began.Before(w.recorded.begin()): // also zero
		d.began = w.recorded.begin()
	case d.began.IsZero():
		d.began = time.Now()
	}
	d.top = top.New(w.out, d.began, top.Options{
		RankBy: d.flags.By, JSON: d.json, InPlace: d.inPlace, Size: func() (int, int) { return sizeOf(file) },
		MaxRows: d.flags.Rows, ShowNamespaces: w.several(), ShortName: w.shortName, Compare: w.print.Compare,
		Color: w.print.Color, ClusterNames: w.clusterNames(),
	})
	if !d.inPlace {
		return event.SinkFunc(d.top.Deliver), nil // what becomes of the watch goes to stderr
	}
	return d.top, nil
}

// hidden says how much is not counted.
func (d *topTable) hidden() string {
	if d.top == nil {
		return ""
	}
	var lost []string
	objects, fields := d.top.Uncounted()
	if objects > 0 {
		lost = append(lost, fmt.Sprintf("%d objects are not counted any more: too many changed, and these changed least", objects))
	}
	if fields > 0 {
		lost = append(lost, fmt.Sprintf("%d changes of fields are not counted: it counts 16 fields of each object", fields))
	}
	return strings.Join(lost, "; ")
}

// sizeOf is how many columns and lines a terminal has.
func sizeOf(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80, 24
	}
	return width, height
}

// around prints while watch runs, and at the end what was not printed yet.
func (d *topTable) around(ctx context.Context, cancel context.CancelCauseFunc, w *watching, watch func() error) error {
	if d.stderr != nil {
		d.stderr.divert(func(line string) { d.top.Note(time.Now(), line) })
		defer d.stderr.release()
	}
	ticking, stop := context.WithCancel(ctx)
	printed := make(chan error, 1)
	go func() {
		err := d.tick(ticking)
		if err != nil {
			cancel(err)
		}
		printed <- err
	}()
	err := watch()
	stop()
	unprinted := <-printed
	switch {
	case errors.Is(unprinted, errEnough):
		return nil
	case unprinted != nil:
		return sinkError{unprinted}
	case err != nil || d.every > 0 && !d.inPlace:
		return err
	}
	now := time.Now()
	if w.isPast() {
		now = w.now()
	}
	if err := d.top.Print(now); err != nil {
		return sinkError{err}
	}
	return nil
}

// tick prints until ctx ends, or as often as was asked for.
func (d *topTable) tick(ctx context.Context) error {
	if d.every == 0 {
		return nil
	}
	ticker := time.NewTicker(d.every)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := d.top.Print(time.Now()); err != nil {
			return err
		}
		if n == d.flags.Count {
			return errEnough
		}
	}
}

var topDescription = description{
	name:  "top",
	use:   "RESOURCE... [flags]",
	short: "Rank what changes most, and find fights and hot loops",
	long: `Rank objects by how often they change a minute, with the field that changes most
and who changes it; with --by field the fields of each object, and with --by
manager who changes most, and what mostly. Marked in each are fights, in which
two managers undo what the other did to a field, and hot loops, in which an
object is written again and again and nothing of it changes: their rows are
printed beside the first --rows, too. At a terminal it is drawn in place until
Ctrl-C; in a pipe it is printed every --interval, and with
--timeout once, at the end.`,
	examples: `  # What changes most in the whole cluster
  %[1]s top '*' -A

  # Who writes most
  %[1]s top '*' -A --by manager

  # In a script: what changed within a minute, as JSON
  %[1]s top deploy,cm -A --timeout 1m -o json
`,
	command: func() command { return new(topFlags) },
}
