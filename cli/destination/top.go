package destination

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/run"
	"dwatch/output/top"
	"dwatch/watcher/event"
)

// Top ranks what changes most (dwatch top).
type Top struct {
	flags.Top
	JSON    bool
	InPlace bool          // the table is drawn in place on a terminal
	Every   time.Duration // between two tables; zero prints one at the end

	log *console.ScreenLog // nil unless InPlace
}

var _ run.Destination = (*Top)(nil)

// Requirements implements run.Destination.
func (t *Top) Requirements() run.Requirements {
	return run.Requirements{Old: true, ManagedFields: true, Lasting: true, Stdout: true}
}

// Prepare makes messages wait until the table can show them.
func (t *Top) Prepare(c *console.Console) error {
	if t.InPlace {
		t.log = c.UseScreenLog()
	}
	return nil
}

// Close implements run.Destination.
func (*Top) Close() {}

// Open implements run.Destination.
func (t *Top) Open(_ context.Context, env *run.Environment) (run.Output, error) {
	scope, file := env.Scope, env.Console.Out.File
	v := &topView{options: t, scope: scope}
	v.table = top.New(env.Console.Out, top.Options{
		RankBy: t.By, JSON: t.JSON, InPlace: t.InPlace, Size: func() (int, int) { return sizeOf(file) },
		MaxRows: t.Rows, ShowNamespaces: scope.ShowNamespaces, ShortName: scope.ShortName, Compare: env.Config.Print.Compare,
		Color: env.Config.Print.Color, ClusterNames: scope.ClusterNames(),
	})
	out := run.Output{Sink: event.SinkFunc(v.table.Deliver), Around: v.around, Hidden: v.hidden}
	if t.InPlace { // otherwise stderr gets the status of the watch
		out.Note = v.table.Note
	}
	return out, nil
}

type topView struct {
	options *Top
	scope   *run.Scope
	table   *top.Top
}

// hidden says how much is not counted.
func (v *topView) hidden() string {
	var lost []string
	objects, fields := v.table.Uncounted()
	if objects > 0 {
		lost = append(lost, fmt.Sprintf("%d objects are no longer counted: too many objects changed, and these changed least", objects))
	}
	if fields > 0 {
		lost = append(lost, fmt.Sprintf("%d changes of fields are not counted: it counts 16 fields of each object", fields))
	}
	return strings.Join(lost, "; ")
}

// sizeOf returns the number of columns and lines of a terminal.
func sizeOf(f *os.File) (width, height int) {
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 80, 24
	}
	return width, height
}

// around prints tables while watch runs, and a last one at its end, unless tables are printed at an interval to something that is not a
// terminal.
func (v *topView) around(ctx context.Context, cancel context.CancelCauseFunc, watch func() error) error {
	o := v.options
	if o.log != nil {
		o.log.Divert(func(line string) { v.table.Note(time.Now(), line) })
		defer o.log.Release()
	}
	ticking, stop := context.WithCancel(ctx)
	printed := make(chan error, 1)
	go func() {
		err := v.printTables(ticking)
		if err != nil {
			cancel(err)
		}
		printed <- err
	}()
	err := watch()
	stop()
	unprinted := <-printed
	switch {
	case errors.Is(unprinted, run.ErrEnough):
		return nil
	case unprinted != nil:
		return run.LossError{Err: unprinted}
	case err != nil || o.Every > 0 && !o.InPlace:
		return err
	}
	v.table.Note(v.scope.Now(), "") // Release prints the messages below the last table
	if err := v.table.Print(v.scope.Now()); err != nil {
		return run.LossError{Err: err}
	}
	return nil
}

// printTables prints until ctx ends, or as many tables as --count asks for.
func (v *topView) printTables(ctx context.Context) error {
	if v.options.Every == 0 {
		return nil
	}
	ticker := time.NewTicker(v.options.Every)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := v.table.Print(time.Now()); err != nil {
			return err
		}
		if n == v.options.Count {
			return run.ErrEnough
		}
	}
}
