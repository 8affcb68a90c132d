package destination

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"

	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/run"
	"dwatch/output/live"
	"dwatch/watcher/event"
	"dwatch/watcher/object/expression"
)

// Live shows the objects in a table on the terminal (dwatch live).
type Live struct {
	View flags.View
	// KeepManaged shows metadata.managedFields of objects.
	KeepManaged bool
	// Past is set if a recording is shown.
	Past *LivePast

	log     *console.ScreenLog
	release func() // ends the capture of the process's stderr
}

// LivePast is what the screen needs to go back and forth in a recording.
type LivePast struct {
	At time.Time // the time that is shown first; zero means the end of the recording
	// Show is called once the recording was read.
	Show func(*live.Screen)
}

var _ run.Destination = (*Live)(nil)

// Requirements implements run.Destination.
func (l *Live) Requirements() run.Requirements {
	return run.Requirements{ManagedFields: true, Tables: true, WholeObjects: true, Events: true, States: true, Interactive: true, OwnWhere: true, Workers: 1}
}

// Prepare makes messages wait until the screen can show them.
func (l *Live) Prepare(c *console.Console) error {
	l.log = c.UseScreenLog()
	l.release = l.log.Capture()
	return nil
}

// Close implements run.Destination.
func (l *Live) Close() { l.release() }

// Open implements run.Destination.
func (l *Live) Open(_ context.Context, env *run.Environment) (run.Output, error) {
	shown, scope := changesOptions(env, l.View), env.Scope
	o := live.Options{
		Options:           shown,
		Wide:              env.Print.Format == "wide",
		Labels:            env.Print.Table.LabelColumns,
		ShowLabels:        env.Print.Table.ShowLabels,
		ShowManagedFields: l.KeepManaged,
		Where:             env.Where,
		CompileCondition:  conditionOf,
		FetchEvents:       scope.EventsAbout(shown.Compare.Masks),
		Title:             scope.Title(),
	}
	v := &liveView{log: l.log, env: env, past: l.Past}
	if l.Past != nil {
		o.Recording = &live.Recording{InitialTime: l.Past.At}
	} else {
		o.Clusters = scope.Clusters
		v.lookups = newLookups(env)
		o.LookupOwners, o.LookupWarning = v.lookups.above.Get, v.lookups.warned.Newest
	}
	v.screen = live.New(o)
	return run.Output{Sink: v.screen, Note: v.screen.Note, Around: v.around}, nil
}

type liveView struct {
	log     *console.ScreenLog
	env     *run.Environment
	screen  *live.Screen
	past    *LivePast
	lookups *lookups // nil over a recording
}

// around shows the screen while watch runs. When the user quits, it ends watch.
func (v *liveView) around(ctx context.Context, cancel context.CancelCauseFunc, watch func() error) error {
	hangup, stop := signal.NotifyContext(ctx, syscall.SIGHUP) // the terminal was closed
	defer stop()
	defer context.AfterFunc(hangup, func() { cancel(context.Cause(hangup)) })()
	shown, hide := context.WithCancel(ctx)
	ended := make(chan error, 1)
	v.log.Divert(func(line string) { v.screen.Note(time.Now(), line) })
	go func() {
		err := v.screen.Run(shown, v.env.Console.Out.File)
		cancel(err)
		ended <- err
	}()
	closed := false
	leave := func() (err error) {
		if !closed {
			closed = true
			hide()
			err = <-ended
			v.log.Release()
		}
		return err
	}
	defer leave() // restores the terminal before a panic is printed
	err := v.lookups.during(ctx, watch)
	if v.past != nil && err == nil {
		v.past.Show(v.screen)
		<-ctx.Done()
	}
	if v.past != nil && errors.Is(err, context.Canceled) { // the user quit before the recording was read
		err = nil
	}
	if failed := leave(); err == nil && failed != nil && failed != live.ErrQuit {
		return failed
	}
	return err
}

// conditionOf compiles an expression that the user types, for objects as they are.
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
