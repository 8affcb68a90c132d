package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/cluster"
	"dwatch/cli/flags"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

type listFlags struct {
	common
	look look
	listed
}

func (l *listFlags) groups() []flags.Group {
	return []flags.Group{
		flags.NewGroup("What to list", l.targets.AddTo, flags.About(&l.common.object), func(f *pflag.FlagSet) {
			f.BoolVar(&l.ignoreMissing, "ignore-not-found", false, "Print nothing for a named object that is not there")
		}, flags.Timeout(&l.timeout, "with exit code 1 if the list is not complete by then")),
		flags.NewGroup("How it looks", func(f *pflag.FlagSet) {
			l.look.addTo(f, &l.print, &l.kept, output.Formats, "; by default json")
		}, flags.SortBy(&l.print.Order)),
	}
}

func (l *listFlags) parse(args []string, t terminal) (r runner, err error) {
	l.listed.connection = &l.common.connection
	if l.selection, err = l.selected(args); err != nil {
		return nil, err
	}
	l.look.format.Choose("json")
	return &l.listed, l.look.parse(&l.print, t, l.all)
}

type listed struct {
	connection *cluster.Flags
	selection
	timeout       time.Duration // 0: none
	print         output.Options
	kept          bool // the managed fields are
	ignoreMissing bool
}

// run implements runner. It prints all, or nothing: half a List would look like a whole one.
func (l *listed) run(ctx context.Context, c *console) error {
	ctx, stop := untilReaderGone(ctx, c.out.file)
	defer stop()
	return c.at(ctx, l.connection, l.timeout, true, func(ctx context.Context, k *cluster.Cluster) error {
		s, err := c.open(ctx, k, l.selection)
		if err != nil {
			return err
		}
		return s.rights.Detail(ctx, l.list(ctx, s))
	})
}

func (l *listed) list(ctx context.Context, s *session) error {
	isTable := flags.IsTable(l.print.Format)
	o := s.watched()
	o.IgnoreMissing = l.ignoreMissing || l.ofObject
	o.ManagedFields = l.kept || l.print.Template != nil // kubectl's templates see them
	o.Tables, o.WholeObjects = isTable, l.print.Order != nil || s.about != nil
	w, err := watcher.New(o)
	if err != nil {
		return err
	}
	tuneRun(len(s.plan.Targets))
	tuneLong()
	l.fillTable(s)
	l.print.Single = len(s.plan.Targets) == 1 && s.plan.Targets[0].Name != ""
	printer, err := output.New(s.out, l.print)
	if err != nil {
		return err
	}
	objects, err := w.List(ctx)
	if err != nil {
		return err
	}
	if objects, err = s.about.among(ctx, objects); err != nil {
		return err
	}
	isRoot := func(o event.Object) bool {
		return o.Name == l.object.Name && s.about.target.Mapping.GroupVersionKind.Kind == o.Kind
	}
	if l.ofObject && !l.ignoreMissing && !isTable && !slices.ContainsFunc(objects, isRoot) {
		return fmt.Errorf("%s does not exist", l.object)
	}
	switch {
	case len(objects) == 0 && l.ignoreMissing:
		return nil // as kubectl
	case len(objects) == 0 && isTable:
		s.say(s.nothingFound())
	}
	if len(objects) == 0 {
		s.sayMissing(ctx)
	}
	return printer.List(objects)
}

// sayMissing says of which namespaces there is nothing as they do not exist.
func (s *session) sayMissing(ctx context.Context) {
	if s.isQuiet() || s.scope.AllNamespaces || !slices.ContainsFunc(s.plan.Targets, event.Target.Namespaced) {
		return
	}
	for _, n := range s.scope.Namespaces {
		missing, meant, err := s.questions.IsMissing(ctx, n)
		switch {
		case err != nil:
			return // nor will it say so of the others
		case missing && meant != "":
			s.say(fmt.Sprintf("namespace %q does not exist; did you mean %s?", n, meant))
		case missing:
			s.say(fmt.Sprintf("namespace %q does not exist", n))
		}
	}
}

// fillTable says what a table needs to show of the targets beside their columns.
func (l *listed) fillTable(s *session) {
	t := &l.print.Table
	s.fillTable(t)
	namespaced := false
	t.Unscoped = map[schema.GroupVersionKind]bool{}
	for _, target := range s.plan.Targets {
		if namespaced = namespaced || target.Namespaced(); namespaced {
			t.Unscoped[target.Mapping.GroupVersionKind] = true
		}
	}
}

// nothingFound says that a table has no row, as kubectl does.
func (s *session) nothingFound() string {
	if s.plan.IsNowhere() {
		return "No resources found: no namespace matches " + s.scope.Choice()
	}
	if s.scope.AllNamespaces || s.scope.Chooses() || !slices.ContainsFunc(s.plan.Targets, event.Target.Namespaced) {
		return "No resources found"
	}
	return "No resources found in " + strings.Join(s.scope.Where(), ", ") + " namespace."
}
