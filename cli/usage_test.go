package cli

import (
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"dwatch/cli/fail"
	"dwatch/cli/flags"
)

func testRoot() *cobra.Command {
	return newRoot("dwatch", []string{"list", "live", "serve", "send", "record", "diff", "export", "wait", "explain-readiness", "top", "rbac", "manifests"}, Streams{Err: io.Discard})
}

// TestFlagGroups: each flag is in one group, and complete help shows each once. The flags of the connection come last.
func TestFlagGroups(t *testing.T) {
	for _, d := range append(commands, streamDescription) {
		cmd, groups := newCommand(d, "dwatch", nil, Streams{Err: io.Discard})
		var help strings.Builder
		(&helpPrinter{groups: groups, width: maxHelpWidth}).writeFlags(&help, cmd)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			line := regexp.MustCompile(`(?m)^  (-.,|   ) --` + f.Name + `( |$)`)
			if shown := len(line.FindAllString(help.String(), -1)); !f.Hidden && shown != 1 {
				t.Errorf("help of %s shows --%s %d times", d.name, f.Name, shown)
			}
		})
		if last := groups[len(groups)-1]; last.Flags.Lookup("kubeconfig") == nil {
			t.Errorf("%s ends with %s", d.name, last.Title)
		}
		if before := regexp.MustCompile(`--[a-z-]+ [^ ]*\[=`).FindString(help.String()); before != "" {
			t.Errorf("help shows %s", before)
		}
	}
}

// allDescriptions returns the stream, all commands, and all command lines that dwatch rbac and similar commands take.
func allDescriptions() []description {
	all := append([]description{streamDescription}, commands...)
	for _, d := range commands {
		for _, of := range wrappedBy(d, commands, nil) {
			of.name = d.name + " " + of.name
			all = append(all, of)
		}
	}
	return all
}

// TestMainFlags: each command has main flags, at most 14, which exist and are not hidden. Their short descriptions name the same value as
// the full ones.
func TestMainFlags(t *testing.T) {
	const most = 14
	for _, d := range allDescriptions() {
		if n := len(d.mainFlags); n == 0 || n > most {
			t.Errorf("%s has %d main flags, want 1 to %d", d.name, n, most)
		}
		for i, name := range d.mainFlags {
			f := d.flag(name)
			if f == nil || f.Hidden {
				t.Errorf("%s has no flag --%s", d.name, name)
				continue
			}
			if slices.Contains(d.mainFlags[:i], name) {
				t.Errorf("%s lists --%s twice", d.name, name)
			}
			value, _ := pflag.UnquoteUsage(f)
			if short, text := pflag.UnquoteUsage(flags.Brief(f)); short != value || strings.Contains(text, "`") {
				t.Errorf("%s: the short description of --%s is about %s, not %s: %s", d.name, name, short, value, text)
			}
		}
	}
}

// The limits of help at 80 columns.
const maxOverview, maxShortHelp = 45, 48

// TestHelpSize: help fits the width of the terminal. The overview fits a screen, and short help two small ones.
func TestHelpSize(t *testing.T) {
	for _, d := range allDescriptions() {
		cmd, groups := newCommand(d, "dwatch", nil, Streams{Err: io.Discard})
		for _, width := range []int{minHelpWidth, maxHelpWidth} {
			h := &helpPrinter{groups, d.mainFlags, width}
			var short, all strings.Builder
			h.writeHelp(&short, cmd, false)
			h.writeHelp(&all, cmd, true)
			checkSize(t, d.name, short.String(), maxShortHelp, width)
			checkSize(t, d.name+" --help-all", all.String(), 1000, width)
		}
		if n := strings.Count(cmd.Example, "  # "); n < 3 || n > 6 {
			t.Errorf("%s has %d examples, want 3 to 6", d.name, n)
		}
	}
	for _, display := range []string{"dwatch", PluginName} {
		var b strings.Builder
		writeOverview(&b, newRoot(display, nil, Streams{Err: io.Discard}))
		checkSize(t, display, b.String(), maxOverview, minHelpWidth)
	}
}

func checkSize(t *testing.T, name, help string, lines, columns int) {
	t.Helper()
	if n := strings.Count(help, "\n"); n > lines {
		t.Errorf("help of %s has %d lines, want at most %d", name, n, lines)
	}
	for line := range strings.Lines(help) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > columns {
			t.Errorf("help of %s: %d columns, want at most %d: %s", name, n, columns, line)
		}
	}
}

// TestHelpTopics checks the errors about words that are no topic: they offer what is similar.
func TestHelpTopics(t *testing.T) {
	for line, want := range map[string]string{
		"snd":             `there is no help topic "snd"; did you mean 'dwatch help send'?`,
		"flag":            `there is no help topic "flag"; did you mean 'dwatch help flags'?`,
		"stram":           `there is no help topic "stram"; did you mean 'dwatch help stream'?`,
		"snd flags":       `there is no help topic "snd"; did you mean 'dwatch help send flags'?`,
		"send flag":       `there is no help topic "flag"; did you mean 'dwatch help send flags'?`,
		"rbac snd":        `there is no help topic "snd"; did you mean 'dwatch help rbac send'?`,
		"since":           `there is no help topic "since"; 'dwatch help flags' describes the flag --since`,
		"redeliver":       `there is no help topic "redeliver"; 'dwatch help send flags' describes the flag --redeliver`,
		"send redeliver":  `there is no help topic "redeliver"; 'dwatch help send flags' describes the flag --redeliver`,
		"heartbeet":       `there is no help topic "heartbeet"; did you mean the flag --heartbeat? 'dwatch help flags' describes it`,
		"send redelivr":   `there is no help topic "redelivr"; did you mean the flag --redeliver? 'dwatch help send flags' describes it`,
		"pods":            `there is no help on "pods"; see 'dwatch help'; to watch a resource named help, use -r help`,
		"list pods":       `there is no help on "list pods"; see 'dwatch help list'`,
		"list pods web":   `there is no help on "list pods web"; see 'dwatch help list'`,
		"completion bash": `there is no help on "completion bash"; see 'dwatch help completion'`,
	} {
		args := append([]string{"help"}, strings.Fields(line)...)
		root := newRoot("dwatch", args, Streams{Err: io.Discard})
		root.SetOut(io.Discard)
		root.SetArgs(args)
		err := root.ExecuteContext(t.Context())
		if err == nil || err.Error() != want || fail.ExitCode(err) != fail.ExitUsage {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}
