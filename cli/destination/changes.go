package destination

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/run"
	"dwatch/output/changes"
)

// Changes prints what changed, for people (-o changes).
type Changes struct {
	Needs run.Requirements
	View  flags.View
	// NoiseFlag is the flag that says which changes count, or empty.
	NoiseFlag string
	// Problems makes the view report what needs attention. It is for a terminal and the present.
	Problems bool
}

var _ run.Destination = Changes{}

// Requirements implements run.Destination.
func (c Changes) Requirements() run.Requirements {
	c.Needs.Old, c.Needs.States, c.Needs.Stdout, c.Needs.CountsAll = true, true, true, true
	return c.Needs
}

// Prepare implements run.Destination.
func (Changes) Prepare(*console.Console) error { return nil }

// Close implements run.Destination.
func (Changes) Close() {}

// Open implements run.Destination.
func (c Changes) Open(_ context.Context, env *run.Environment) (run.Output, error) {
	o := changesOptions(env, c.View)
	v := &changesView{noiseFlag: c.NoiseFlag}
	if c.Problems && !env.Config.OnlyPast() {
		v.lookups = newLookups(env)
		o.ShowProblems, o.Fold = true, !c.View.Full
		o.LookupOwners, o.LookupWarning, o.HasPendingLookups = v.lookups.above.Get, v.lookups.warned.Newest, v.lookups.isAsking
	}
	v.view = changes.New(env.Console.Out, o)
	out := run.Output{Sink: v.view, Note: v.view.Note, Count: v.view.Count, Shown: v.view.Shown, Hidden: v.hidden}
	if v.lookups != nil {
		out.Around, out.Problems = v.around, v.problems
	}
	return out, nil
}

type changesView struct {
	noiseFlag string
	view      *changes.View
	lookups   *lookups // nil if the view does not report problems
}

// tick is how often the view checks what it has held back for long enough.
const tick = 500 * time.Millisecond

// around prints, while watch runs and at its end, what the view holds back.
func (v *changesView) around(ctx context.Context, _ context.CancelCauseFunc, watch func() error) error {
	ticking, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for at := time.NewTicker(tick); ; {
			select {
			case now := <-at.C:
				v.view.FlushDue(now)
			case <-ticking.Done():
				at.Stop()
				return
			}
		}
	})
	err := v.lookups.during(ctx, watch)
	stop()
	done.Wait()
	v.view.FlushAll(time.Now())
	return err
}

// problems lists what needs attention.
func (v *changesView) problems() []string {
	v.view.DescribeProblems(time.Now()) // starts the missing lookups
	v.lookups.wait()
	return v.view.DescribeProblems(time.Now())
}

// hidden says how many events are not shown and why.
func (v *changesView) hidden() string {
	if v.view.Hidden() == 0 {
		return ""
	}
	what, them := "events are not shown because they", "them"
	if v.view.Hidden() == 1 {
		what, them = "event is not shown because it", "it"
	}
	why := "only noise; --noise shows " + them
	if v.noiseFlag == "only" {
		why = "no fields of --only"
	}
	return fmt.Sprintf("%d %s changed %s", v.view.Hidden(), what, why)
}

// changesOptions are the options for showing changes that do not depend on where they are shown.
func changesOptions(env *run.Environment, view flags.View) changes.Options {
	cfg, scope := env.Config, env.Scope
	return changes.Options{
		Width:              func() int { return widthOf(env.Console.Out.File) },
		Color:              cfg.Print.Color,
		FullTimestamps:     view.Timestamps,
		NoTruncate:         view.Full,
		ShowInitial:        view.Initial,
		Prefiltered:        cfg.IsFiltered(),
		KubeEventsFiltered: cfg.IsFiltered() || scope.Request.IsFiltered(),
		InitialEvents:      cfg.Selection.Object != nil && !cfg.AsksPast(),
		ShowNamespaces:     scope.ShowNamespaces,
		Targets:            scope.Targets,
		Clusters:           scope.Clusters,
		Compare:            cfg.Print.Compare,
		ShortName:          scope.ShortName,
	}
}

// widthOf returns the number of columns of a terminal, 80 if the terminal does not say, and 0 if f is no terminal.
func widthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(cmp.Or(width, 80), changes.MinWidth)
}
