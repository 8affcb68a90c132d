package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/output"
	"dwatch/output/change"
	"dwatch/output/view"
	"dwatch/watcher/event"
)

// changesFormat is the format for people: what changed.
const changesFormat = "changes"

// formats are the values that --output takes.
var formats = append([]string{changesFormat}, output.Formats...)

// viewFlags are the flags of the format "changes", as typed.
type viewFlags struct {
	timestamps, full, initial bool
	only, ignore, mask        []string
	noise, showSecrets        bool
}

// viewOnly are their names.
var viewOnly = []string{"initial", "timestamps", "full", "only", "ignore", "noise", "mask", "show-secrets"}

// chooseFormat sets the default of --output: for people who read a stream at a
// terminal what changed, and JSON for everything else.
func (o *options) chooseFormat(t terminal) {
	if o.output != "" {
		return
	}
	o.output = "json"
	inJSON := slices.ContainsFunc([]string{"list", "print-rbac", "marks", "heartbeat", "old", "show-managed-fields"}, o.given)
	if t.isTerminal && !inJSON {
		o.output = changesFormat
	}
}

// checkView finds flags that are for another format.
func (o *options) checkView() error {
	if o.output == changesFormat {
		for _, name := range []string{"list", "marks", "heartbeat", "old"} {
			if o.given(name) {
				return fmt.Errorf("-o changes does not go with --%s: that needs -o json or -o yaml", name)
			}
		}
		return nil
	}
	for _, name := range viewOnly {
		if o.given(name) {
			return fmt.Errorf("--%s is for -o changes", name)
		}
	}
	return nil
}

// notYet are kubectl's formats that dwatch does not have. Some go on with "=".
var notYet = []string{
	"wide", "table", "custom-columns", "custom-columns-file", "go-template", "go-template-file",
	"jsonpath", "jsonpath-as-json", "jsonpath-file", "template", "templatefile",
}

// checkFormat is for those beside changesFormat.
func checkFormat(format string) error {
	kind, _, _ := strings.Cut(format, "=")
	if slices.Contains(notYet, kind) {
		return fmt.Errorf("dwatch does not have -o %s yet: use -o changes at a terminal, or -o json | jq", kind)
	}
	return output.CheckFormat(format)
}

// comparing says which changes count, and what of them is masked.
func (o *options) comparing() (c change.Options, err error) {
	if !o.view.noise {
		c.Noise = change.DefaultNoise()
	}
	ignore, err := parsePatterns("ignore", o.view.ignore)
	if err != nil {
		return c, err
	}
	c.Noise.Paths = append(c.Noise.Paths, ignore...)
	if c.Only, err = parsePatterns("only", o.view.only); err != nil {
		return c, err
	}
	masked, err := parsePatterns("mask", o.view.mask)
	if err != nil {
		return c, err
	}
	c.Masks = &change.Masks{Paths: masked, Secrets: !o.view.showSecrets, Key: make([]byte, 32)}
	_, err = rand.Read(c.Masks.Key)
	return c, err
}

func parsePatterns(flag string, texts []string) (patterns change.Patterns, err error) {
	for _, text := range texts {
		p, err := change.ParsePattern(text)
		if err != nil {
			return nil, fmt.Errorf("invalid --%s %q: %w", flag, text, err)
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

// newPrinter returns what is behind all stages: a printer, or the view of changes.
func (j *job) newPrinter(ctx context.Context, terminal *os.File) (event.Sink, error) {
	if j.print.Format != changesFormat {
		return output.New(j.out, j.print)
	}
	short := map[schema.GroupVersionResource]string{}
	return view.New(j.out, view.Options{
		Width:      func() int { return widthOf(terminal) },
		Color:      j.print.Color,
		Timestamps: j.view.timestamps,
		Full:       j.view.full,
		Initial:    j.view.initial,
		Namespaces: j.allNamespaces || len(j.namespaces) > 1,
		Compare:    j.compare,
		ShortName: func(r schema.GroupVersionResource) string {
			if short[r] == "" {
				short[r] = j.mapper.ShortName(ctx, r)
			}
			return short[r]
		},
	}), nil
}

// widthOf is how many columns a terminal has, 80 if it does not say; 0 if it is none.
func widthOf(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return max(cmp.Or(width, 80), view.MinWidth)
}

// noteIn returns what shows in a sink what becomes of the watch; nil if nothing does.
func noteIn(sink event.Sink) func(time.Time, string) {
	if v, ok := sink.(*view.View); ok {
		return v.Note
	}
	return nil
}

// sayHidden says at the end what the view has not shown.
func sayHidden(w io.Writer, sink event.Sink) {
	if hidden := hiddenIn(sink, ""); hidden != "" {
		fmt.Fprintf(w, "%s; --noise shows them\n", hidden)
	}
}

// hiddenIn says, after a prefix, how much a view has not shown; empty if nothing.
func hiddenIn(sink event.Sink, prefix string) string {
	v, ok := sink.(*view.View)
	if !ok {
		return ""
	}
	switch hidden := v.Hidden(); hidden {
	case 0:
		return ""
	case 1:
		return prefix + "1 event changed nothing but noise"
	default:
		return fmt.Sprintf("%s%d events changed nothing but noise", prefix, hidden)
	}
}
