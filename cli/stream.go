package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/output/changes"
	"dwatch/watcher/event"
)

type streamFlags struct {
	followFlags
	look  look
	view  flags.View
	noise flags.Noise
	from  flags.From // a recording; empty: a cluster is asked
}

// look is how objects are printed: what streams and lists share.
type look struct {
	format flags.Format
	masks  flags.Masks
	color  flags.Color
}

func (l *look) addTo(f *pflag.FlagSet, p *output.Options, kept *bool, formats []string, usage string) {
	l.format.FlagsWithTemplates(formats, usage)(f)
	f.BoolVar(&p.Table.ShowKind, "show-kind", false, "Of tables, show the kind with each name, as of several resources")
	flags.Columns(&p.Table)(f)
	l.masks.AddTo(f)
	l.masks.AddMaskSecretsTo(f)
	flags.ManagedFields(kept)(f)
	l.color.AddTo(f)
}

// parse sets how to print. all are the flags of the command.
func (l *look) parse(o *output.Options, t terminal, all *pflag.FlagSet) error {
	o.Terminal, o.Color = t.isTerminal, l.color.IsEnabled(t.isTerminal && !t.noColor)
	return cmp.Or(l.format.Parse(o), l.format.Check(all), l.masks.Parse(o, false))
}

func (s *streamFlags) groups() []flags.Group {
	w := &s.w
	return []flags.Group{
		flags.NewGroup("What to watch", s.targets.AddTo, s.targets.AddShard, flags.Subject(&s.object), s.targets.AddWait),
		flags.NewGroup("The past", flags.SinceBefore(
			"First what happened since `TIME`, as far as the cluster remembers it, or with --from the recording: how long ago, such as 2h, a time of today, such as 02:00, or a date and a time; see docs/since.md",
			"Only what happened before `TIME`, and end"), s.from.AddTo),
		flags.NewGroup("Which events", flags.Events(&w.filter), flags.Where(&w.where), flags.StatusEvents(&w.filter.PassStatus, &w.heartbeat)),
		flags.NewGroup("How it looks", func(f *pflag.FlagSet) {
			s.look.addTo(f, &w.print, &w.kept, flags.StreamFormats, "; by default json, and at a terminal changes")
			s.view.AddInitialTo(f)
		}),
		flags.NewGroup("What changed", s.view.AddTo, flags.PreviousState(&w.print), s.noise.AddTo, s.look.masks.AddShowSecrets(" in what changes")),
		s.endGroup(),
		flags.NewGroup("The program", func(f *pflag.FlagSet) {
			f.BoolP("watch", "w", false, "Without effect: dwatch watches")
			f.Bool("version", false, "Print the version, and end")
		}),
	}
}

// forPrograms are flags with which the default is JSON, also at a terminal.
var forPrograms = []string{"marks", "heartbeat", "old", "changes", "patch", "show-managed-fields"}

func (s *streamFlags) parse(args []string, t terminal) (runner, error) {
	w := &s.w
	if err := cmp.Or(w.past.span.Parse(s.all), s.from.Check(s.all)); err != nil {
		return nil, err
	}
	span := w.past.span
	if s.from.IsSet() {
		w.past = past{} // no cluster remembers it
	}
	isForPrograms := slices.ContainsFunc(forPrograms, s.all.Changed)
	surprises := t.isPiped && !isForPrograms && !s.all.Changed("output") && !s.all.Changed("template")
	if t.isTerminal && !isForPrograms {
		s.look.format.Resolve(flags.FormatChanges)
	} else {
		s.look.format.Resolve("json")
	}
	if err := cmp.Or(s.parseTargets(args), s.look.parse(&w.print, t, s.all), s.check(), w.past.check(s)); err != nil {
		return nil, err
	}
	s.noise.Apply(&w.print.Compare)
	w.ignored = s.noise.IgnoredPaths()
	w.print.Timestamps = s.view.Timestamps
	isChanges := w.print.Format == flags.FormatChanges
	w.needs = needs{
		old:           isChanges || w.showsOld(),
		managedFields: isChanges || w.print.Changes,
		tables:        flags.IsTable(w.print.Format),
	}
	w.fold = isChanges || w.needs.tables
	w.seen = isChanges && t.isTerminal
	w.filter.PassStatus = w.filter.PassStatus || isChanges // they say what is there at the start
	w.to, w.prints, w.fleets = printed{}, true, true
	if isChanges {
		w.to = &changesView{view: s.view, why: s.noise.ChangedFlag(s.all), looks: t.isTerminal && !s.from.IsSet() && w.request.Shard.Count < 2}
	}
	if s.from.IsSet() {
		return s.parseReplay(span)
	}
	return &streamed{w, surprises}, nil
}

// parseReplay is for a recording. What was there before --since is not what happened since then,
// but -o changes says how much that was.
func (s *streamFlags) parseReplay(span flags.TimeRange) (runner, error) {
	w := &s.w
	if w.print.Format != flags.FormatChanges && !span.Since.IsZero() {
		w.filter.WatchOnly = true
	}
	return s.replay(flags.Replay{From: s.from, Range: span}, printedInPart)
}

func (s *streamFlags) check() error {
	format := s.look.format.Name
	compares := format == flags.FormatChanges || s.w.print.Changes || s.w.past.isAsked()
	given := s.all.Changed
	switch name := s.noise.ChangedFlag(s.all); {
	case name != "" && !compares:
		return fmt.Errorf("--%s is for what changes: it needs -o changes or --changes", name)
	case given("show-secrets") && !compares && !s.w.print.Patch:
		return errors.New("--show-secrets is for what changes: it needs -o changes, --changes or --patch (-o json and yaml show them as they are)")
	case format == flags.FormatNone && !given("until") && !given("fail-if") && !given("timeout") && !given("count"):
		return errors.New("-o none prints no events: it needs --until, --fail-if, --count or --timeout")
	}
	return nil
}

// streamed is a stream, which somebody reads.
type streamed struct {
	*watching
	surprises bool // who typed it may have expected what a terminal shows
}

func (s *streamed) run(ctx context.Context, c *console) error {
	reading, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	if s.surprises {
		c.say("stdout is a pipe: events are lines of JSON; -o changes or -o table for people, -q for silence")
	}
	err := s.watching.run(reading, c)
	if s.stateFile != "" {
		return unread(ctx, reading, err)
	}
	return err
}

// printed is stdout, in a format of package output.
type printed struct{ direct }

func (printed) open(_ context.Context, w *watching, _ func(error)) (event.Sink, error) {
	w.fillTable(&w.print.Table)
	w.print.MultiCluster, w.print.ClusterNames = w.print.MultiCluster || w.fleet != nil, w.clusterNames()
	return output.New(w.out, w.print)
}

type changesView struct {
	direct
	view  flags.View
	why   string // the flag that says which changes count; empty if none does
	looks bool   // it says what needs a look
	shown *changes.View
	asks  *lookAsks // nil if it does not
}

func (v *changesView) open(_ context.Context, w *watching, _ func(error)) (event.Sink, error) {
	o := w.changes(v.view)
	v.looks = v.looks && !w.past.ends() // else it shows nothing of now
	if o.ShowProblems, o.Fold = v.looks, v.looks && !v.view.Full; v.looks {
		v.asks = newLookAsks(w)
		o.LookupOwners, o.LookupWarning, o.HasPendingLookups = v.asks.above.Get, v.asks.warned.Newest, v.asks.isAsking
	}
	v.shown = changes.New(w.out, o)
	return v.shown, nil
}

// tick is how often the view looks for what it has held back for long enough.
const tick = 500 * time.Millisecond

// around says in time, and in the end, what the view holds back.
func (v *changesView) around(ctx context.Context, _ context.CancelCauseFunc, _ *watching, watch func() error) error {
	if !v.looks {
		return watch()
	}
	ticking, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for at := time.NewTicker(tick); ; {
			select {
			case now := <-at.C:
				v.shown.FlushDue(now)
			case <-ticking.Done():
				at.Stop()
				return
			}
		}
	})
	err := v.asks.beside(ctx, watch)
	stop()
	done.Wait()
	v.shown.FlushAll(time.Now())
	return err
}

// look says what needs a look, a line each.
func (v *changesView) look() []string {
	if v.shown == nil {
		return nil
	}
	v.shown.DescribeProblems(time.Now()) // has asked for what is not known
	v.asks.answers()
	return v.shown.DescribeProblems(time.Now())
}

// isFiltered reports whether events are left out.
func (w *watching) isFiltered() bool {
	return w.filter.WatchOnly || len(w.filter.Types) > 0 || len(w.where) > 0
}

func (w *watching) changes(view flags.View) changes.Options {
	return changes.Options{
		Width:              func() int { return widthOf(w.out.file) },
		Color:              w.print.Color,
		FullTimestamps:     view.Timestamps,
		NoTruncate:         view.Full,
		ShowInitial:        view.Initial,
		Prefiltered:        w.isFiltered(),
		KubeEventsFiltered: w.isFiltered() || w.scope.IsFiltered(),
		InitialEvents:      w.object != nil && !w.past.isAsked(),
		ShowNamespaces:     w.several(),
		Targets:            w.plan.Targets,
		Clusters:           w.members(),
		Compare:            w.print.Compare,
		ShortName:          w.shortName,
	}
}

// hidden says how many events are not shown, and why; empty if all are.
func (v *changesView) hidden() string {
	if v.shown == nil || v.shown.Hidden() == 0 {
		return ""
	}
	what, why := "events are not shown: they", "nothing but noise; --noise shows it"
	if v.shown.Hidden() == 1 {
		what = "event is not shown: it"
	}
	if v.why == "only" {
		why = "nothing of --only"
	}
	return fmt.Sprintf("%d %s changed %s", v.shown.Hidden(), what, why)
}

// widthOf is how many columns a terminal has, 80 if it does not say; 0 if it is none.
func widthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(cmp.Or(width, 80), changes.MinWidth)
}

// followFlags are the flags of what follows events, perhaps for months: which, until when,
// and from where.
type followFlags struct{ watchFlags }

func (f *followFlags) endGroup() flags.Group {
	return flags.NewGroup("How it ends and carries on", f.w.ending.AddTo, f.w.ending.AddCountTo,
		flags.State(&f.w.stateFile), flags.Listen(&f.w.listen), flags.Verify(&f.w.verify))
}

func (f *followFlags) parseTargets(args []string) error {
	if err := f.selectTargets(args); err != nil {
		return err
	}
	if f.object != nil && f.w.stateFile != "" {
		return errors.New("--for asks the server what owns what Events are about, as they come: it does not go with --state")
	}
	if f.w.stateFile != "" {
		if err := f.w.checkNamed("--state"); err != nil {
			return err
		}
	}
	return f.w.ending.Check(f.w.stateFile != "")
}
