package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/output/changes"
	"dwatch/output/live"
	"dwatch/watcher/event"
)

// changesFormat is the format for people: what changed.
const changesFormat = "changes"

// noFormat prints nothing.
const noFormat = "none"

// formats are the values that --output takes.
var formats = append([]string{changesFormat}, output.Formats...)

// viewFlags are the flags of the format "changes" alone, as typed.
type viewFlags struct{ timestamps, full, initial bool }

// viewOnly are their names.
var viewOnly = []string{"initial", "timestamps", "full"}

func (o *options) addViewFlags(f *pflag.FlagSet) {
	v := &o.view
	f.BoolVar(&v.initial, "initial", false, "With -o changes, show each object that exists at the start; else they are counted")
	f.BoolVar(&v.timestamps, "timestamps", false, "With -o changes, show the date and milliseconds")
	f.BoolVar(&v.full, "full", false, "With -o changes, shorten no value")
}

// chooseFormat sets the default of --output: for people who read a stream at a
// terminal what changed, and JSON for everything else.
func (o *options) chooseFormat(t terminal) {
	o.splitFormat()
	if o.output != "" {
		return
	}
	o.output = "json"
	inJSON := slices.ContainsFunc([]string{"list", "print-rbac", "marks", "heartbeat", "old", "changes", "patch", "show-managed-fields"}, o.given)
	if o.live {
		o.output = "table"
	} else if t.isTerminal && !inJSON {
		o.output = changesFormat
	}
}

// checkView finds flags that are for another format.
func (o *options) checkView() error {
	if o.output == changesFormat {
		for _, name := range []string{"list", "marks", "heartbeat", "old", "changes", "patch"} {
			if o.given(name) {
				needs := "-o json or -o yaml"
				if name == "list" {
					needs = "another format, such as -o wide, json or yaml"
				}
				return fmt.Errorf("-o changes does not go with --%s: that needs %s", name, needs)
			}
		}
		return nil
	}
	for _, name := range viewOnly {
		if o.given(name) && !o.live {
			return fmt.Errorf("--%s is for -o changes", name)
		}
	}
	return nil
}

func (o *options) checkFormat() error {
	return output.CheckFormat(o.output, slices.Concat(formats, output.TemplateFormats))
}

// newPrinter returns what is behind all stages: a printer, or the view of changes.
func (j *job) newPrinter(ctx context.Context, terminal *os.File) (event.Sink, error) {
	if j.print.Format != changesFormat {
		j.print.Unmanaged = j.print.Template == nil && j.needsManagedFields() && !j.managedFields
		return output.New(j.out, j.print)
	}
	return changes.New(j.out, changes.Options{
		Width:      func() int { return widthOf(terminal) },
		Color:      j.print.Color,
		Timestamps: j.view.timestamps,
		Full:       j.view.full,
		Initial:    j.view.initial,
		Namespaces: j.allNamespaces || len(j.namespaces) > 1,
		Compare:    j.print.Compare,
		ShortName:  j.shortNames(ctx),
	}), nil
}

// shortNames returns what names resources by their shortest names.
func (j *job) shortNames(ctx context.Context) func(schema.GroupVersionResource) string {
	short := map[schema.GroupVersionResource]string{}
	return func(r schema.GroupVersionResource) string {
		if short[r] == "" {
			short[r] = j.mapper.ShortName(ctx, r)
		}
		return short[r]
	}
}

// widthOf is how many columns a terminal has, 80 if it does not say; 0 if it is none.
func widthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(cmp.Or(width, 80), changes.MinWidth)
}

// noteIn returns what shows in a sink what becomes of the watch; nil if nothing does.
func noteIn(sink event.Sink) func(time.Time, string) {
	switch v := sink.(type) {
	case *changes.View:
		return v.Note
	case *live.Screen:
		return v.Note
	}
	return nil
}

// hiddenIn says how many events a view has not shown, and why; empty if it has shown
// all.
func (j *job) hiddenIn(sink event.Sink) string {
	v, ok := sink.(*changes.View)
	if !ok || v.Hidden() == 0 {
		return ""
	}
	what, why := "events are not shown: they", "nothing but noise; --noise shows it"
	if v.Hidden() == 1 {
		what = "event is not shown: it"
	}
	if len(j.print.Compare.Only) > 0 {
		why = "nothing of --only"
	}
	return fmt.Sprintf("%d %s changed %s", v.Hidden(), what, why)
}
