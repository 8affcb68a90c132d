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
	"dwatch/cli/console"
	"dwatch/cli/flags"
	"dwatch/cli/lookup"
	"dwatch/cli/run"
	"dwatch/output"
	"dwatch/watcher/event"
	"dwatch/watcher/object/readiness"
	"dwatch/watcher/object/status"
)

var explainReadinessDescription = description{
	name:  "explain-readiness",
	use:   "TYPE/NAME... [flags]",
	short: "Explain why an object is ready or not",
	long: `Print the state of an object, the rule that decided it, the fields that the rule
read, and what the object needs to be ready. wait, live, serve and expressions
use the same state. For a custom resource whose state is unknown, dwatch prints
a rule that teaches it the kind; see docs/tasks/teach-readiness-of-your-crd.md.`,
	examples: `  # Find out why wait does not end
  %[1]s explain-readiness httpproxy/shop

  # Explain the state of all pods of an app
  %[1]s explain-readiness pods -l app=web

  # Try a rule before using it
  %[1]s explain-readiness gauge/a --readiness readiness.yaml
`,
	mainFlags: []string{"namespace", "all-namespaces", "selector", "readiness", "timeout", "quiet", "log", "context"},
	options:   func() options { return &explainReadinessOptions{common: common{listOnly: true}} },
}

// explainReadinessOptions are the flags of dwatch explain-readiness.
type explainReadinessOptions struct {
	common
	timeout   time.Duration
	selection run.Selection
}

func (o *explainReadinessOptions) groups() []flags.Group {
	return []flags.Group{flags.NewGroup("What to explain", o.targets.AddTo, flags.Timeout(&o.timeout, "with exit code 1 if the server has not answered"))}
}

func (o *explainReadinessOptions) complete(args []string, _ console.Terminal) (err error) {
	o.selection, err = o.selected(args)
	return err
}

func (o *explainReadinessOptions) validate() error {
	if o.connection.HasMultipleContexts() {
		return errors.New("dwatch explain-readiness reads one cluster: give one --context")
	}
	return nil
}

func (o *explainReadinessOptions) task() task {
	return &explainReadinessTask{connection: &o.connection, selection: o.selection, timeout: o.timeout}
}

// explainReadinessTask prints what the states of objects are based on.
type explainReadinessTask struct {
	connection *cluster.Flags
	selection  run.Selection
	timeout    time.Duration
}

// judgesStates implements judgingTask.
func (e *explainReadinessTask) judgesStates() bool { return true }

func (e *explainReadinessTask) needs() []run.Need {
	return []run.Need{{Connection: e.connection, Selection: e.selection}}
}

func (e *explainReadinessTask) run(ctx context.Context, c *console.Console) error {
	return run.AtCluster(ctx, c, e.connection, e.timeout, true, func(ctx context.Context, k *cluster.Cluster) error {
		s, err := run.OpenSession(ctx, c, k, e.selection)
		if err != nil {
			return err
		}
		objects, err := (&listTask{selection: e.selection}).list(ctx, s)
		if err != nil {
			return s.Rights.DescribeDenials(ctx, err)
		}
		if len(objects) == 0 {
			c.Say(s.NothingFound())
			return nil
		}
		for n, o := range objects {
			text, err := explainState(o, func() []lookup.PrinterColumn {
				for _, t := range s.Plan.Targets {
					if t.Mapping.GroupVersionKind == o.GroupVersionKind() {
						return lookup.StatusColumns(ctx, s.Lookup, t.Resource())
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
			if _, err := fmt.Fprint(c.Out, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// explainState describes the state of one object. If it is unknown, the columns that kubectl prints are a hint which
// fields the authors of the resource consider its state. They are not used to judge: only the definition has their paths, and
// the fields that package readiness does not recognize anyway contradict the state of an object about as often as they
// tell it.
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
		if !r.FailsAt.IsZero() {
			line("Fails", "at "+r.FailsAt.UTC().Format(time.RFC3339)+", if nothing changes until then")
		}
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
