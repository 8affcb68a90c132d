package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/cli/cluster"
	"dwatch/cli/flags"
	"dwatch/cli/lookup"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/readiness"
	"dwatch/watcher/object/status"
)

var explainReadinessDescription = description{
	name:  "explain-readiness",
	use:   "TYPE/NAME... [flags]",
	short: "Explain why an object counts as ready, or not",
	long: `Print in which state an object is, which rule decided that, on which fields, and
what it takes to be ready. The state is the one that wait, live, serve and
conditions use. For a custom resource whose state is unknown it prints a rule
that teaches dwatch its kind; see docs/readiness.md.`,
	examples: `  # Why does wait not end?
  %[1]s explain-readiness httpproxy/shop

  # Try a rule before using it
  %[1]s explain-readiness gauge/a --readiness readiness.yaml
`,
	command: func() command { return new(explainReadinessFlags) },
}

// explainReadinessFlags are the flags of dwatch explain-readiness.
type explainReadinessFlags struct {
	common
	timeout time.Duration
}

func (f *explainReadinessFlags) groups() []flags.Group {
	return []flags.Group{flags.NewGroup("What to explain", f.targets.AddTo, flags.Timeout(&f.timeout, "with exit code 1 if the server has not answered by then"))}
}

func (f *explainReadinessFlags) parse(args []string, _ terminal) (runner, error) {
	e := &explainReadiness{connection: &f.connection, timeout: f.timeout}
	var err error
	e.selection, err = f.selected(args)
	return e, err
}

// explainReadiness prints what the states of objects are based on.
type explainReadiness struct {
	connection *cluster.Flags
	selection
	timeout time.Duration
}

func (e *explainReadiness) wants() []wanted {
	return []wanted{{connection: e.connection, selection: e.selection}}
}

func (e *explainReadiness) run(ctx context.Context, c *console) error {
	if e.connection.HasMultipleContexts() {
		return errors.New("explain-readiness asks one cluster: name one --context")
	}
	return c.at(ctx, e.connection, e.timeout, true, func(ctx context.Context, k *cluster.Cluster) error {
		s, err := c.open(ctx, k, e.selection)
		if err != nil {
			return err
		}
		objects, err := (&listed{selection: e.selection}).list(ctx, s)
		if err != nil {
			return s.rights.DescribeDenials(ctx, err)
		}
		if len(objects) == 0 {
			s.say(s.nothingFound())
			return nil
		}
		for n, o := range objects {
			text, err := explainState(o, func() []lookup.PrinterColumn {
				for _, t := range s.plan.Targets {
					if t.Mapping.GroupVersionKind == o.GroupVersionKind() {
						return lookup.StatusColumns(ctx, s.questions, t.Resource())
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			if n > 0 {
				text = "\n" + text
			}
			if _, err := fmt.Fprint(c.out.file, text); err != nil {
				return writeError{err}
			}
		}
		return nil
	})
}

// explainState describes the state of one object. If it is unknown, the columns that kubectl prints are a hint which
// fields the authors of the resource consider its state.
func explainState(o event.Object, columnsOf func() []lookup.PrinterColumn) (string, error) {
	u, err := o.Decode()
	if err != nil {
		return "", err
	}
	state, r := status.Explain(u)
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name+":", output.EscapeLine(text))
		}
	}
	gvk := u.GroupVersionKind()
	line("Object", strings.TrimPrefix(o.Namespace+"/"+o.Name, "/")+" ("+strings.TrimSuffix(gvk.Kind+"."+gvk.Group, ".")+")")
	line("State", state.Word.String())
	line("Why", cmp.Or(state.Message, r.Message))
	line("Decided by", r.By)
	line("Source", r.Source)
	if len(r.Evidence) > 0 {
		b.WriteString("Evidence:\n")
		for _, e := range r.Evidence {
			fmt.Fprintf(&b, "  %s: %s", output.EscapeLine(e.Path), output.EscapeLine(e.Value))
			if e.Says != "" {
				fmt.Fprintf(&b, " => %s", output.EscapeLine(e.Says))
			}
			b.WriteString("\n")
		}
	}
	if state.Word != kstatus.CurrentStatus {
		line("To be ready", r.Needs)
	}
	if state.Word == kstatus.UnknownStatus && gvk.Group != "" {
		for _, c := range columnsOf() {
			line("Column", c.Name+" shows "+c.JSONPath)
			if r.Hint == "" {
				r.Hint = "--for jsonpath='{" + c.JSONPath + "}'=VALUE"
			}
		}
		if r.Hint != "" {
			line("Try", "dwatch wait "+strings.ToLower(gvk.Kind)+"."+gvk.Group+"/"+o.Name+" "+r.Hint)
		}
		fmt.Fprintf(&b, "To teach dwatch this kind, write a rule into %s:\n\n", cmp.Or(readiness.DefaultFile(), "a file for --readiness"))
		for _, l := range strings.Split(strings.TrimSuffix(readiness.Skeleton(gvk.Kind, gvk.Group, r), "\n"), "\n") {
			b.WriteString("  " + l + "\n")
		}
	}
	return b.String(), nil
}
