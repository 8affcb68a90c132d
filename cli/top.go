package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
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
}

func (f *topFlags) groups() []flags.Group {
	w := &f.w
	return []flags.Group{
		flags.NewGroup("What to watch", f.targets.AddTo, f.targets.AddWait),
		flags.NewGroup("Which changes", f.noise.AddTo),
		flags.NewGroup("How it looks", f.format.Adds([]string{"table", "json"}, "table or json, a line for each object"), f.top.AddRowsTo, f.masks.AddTo, f.masks.AddShowSecrets("")),
		flags.NewGroup("When it is printed, and ends", f.top.AddTo, flags.Timeout(&w.ending.Timeout, "with exit code 0, after what was found until then")),
	}
}

func (f *topFlags) parse(args []string, t terminal) (runner, error) {
	w := &f.w
	f.format.Choose("table")
	if err := f.selectTargets(args); err != nil {
		return nil, err
	}
	f.noise.Set(&w.print.Compare)
	w.needs = needs{old: true, managedFields: true}
	d := &topTable{flags: f.top, json: f.format.Name == "json"}
	d.inPlace = t.isTerminal && !t.isDumb && !d.json
	d.every = f.top.Every(d.inPlace, w.ending.Timeout)
	w.to, w.lasting = d, true
	return &topRun{w, d}, cmp.Or(f.format.CheckName(), f.masks.Parse(&w.print, false))
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
	stderr  *diverted     // nil: it is not in place
	top     *top.Top
}

func (d *topTable) open(_ context.Context, w *watching, _ func(error)) (event.Sink, error) {
	file := w.out.file
	d.top = top.New(w.out, time.Now(), top.Options{
		JSON: d.json, InPlace: d.inPlace, Size: func() (int, int) { return sizeOf(file) },
		Rows: d.flags.Rows, Namespaces: w.several(), ShortName: w.mapper.ShortName, Compare: w.print.Compare,
	})
	return d.top, nil
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
func (d *topTable) around(ctx context.Context, cancel context.CancelCauseFunc, _ *watching, watch func() error) error {
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
	if err := d.top.Print(time.Now()); err != nil {
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
and who changes it. Marked are fights, in which two managers undo what the other
did to a field, and hot loops, in which an object is written again and again
and nothing of it changes. At a terminal it is drawn in place until Ctrl-C; in a
pipe it is printed every --interval, and with --timeout once, at the end.`,
	examples: `  # What changes most in the whole cluster
  %[1]s top '*' -A

  # In a script: what changed within a minute, as JSON
  %[1]s top deploy,cm -A --timeout 1m -o json
`,
	command: func() command { return new(topFlags) },
}
