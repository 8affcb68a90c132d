package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dwatch/cli"
	"dwatch/cli/flags"
)

// completions are the names of the completion files by shell, as the packages install them.
var completions = map[string]string{"bash": "dwatch.bash", "zsh": "_dwatch", "fish": "dwatch.fish", "powershell": "dwatch.ps1"}

// writeManual writes the man pages into dir/man and the completions into dir/completions.
func writeManual(dir string, when time.Time) error {
	for _, sub := range []string{"man", "completions"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	root := cli.Commands()
	for _, c := range pages(root) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		if err := os.WriteFile(filepath.Join(dir, "man", name+".1"), manPage(root, c, when), 0o644); err != nil {
			return err
		}
	}
	for shell, name := range completions {
		if err := writeCompletion(shell, filepath.Join(dir, "completions", name)); err != nil {
			return fmt.Errorf("completion of %s: %w", shell, err)
		}
	}
	return nil
}

// pages returns the commands with a man page. rbac and similar commands take the arguments of commands that have their
// own page.
func pages(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			all = append(all, c)
		}
	}
	return all
}

// manPage returns the complete help of a command as a man page. The help is already formatted, so its lines are kept.
func manPage(root, c *cobra.Command, when time.Time) []byte {
	var b bytes.Buffer
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 %s dwatch \"User Commands\"\n", strings.ToUpper(roff(name)), when.Format(time.DateOnly))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(lowerFirst(c.Short)))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(strings.TrimSpace(c.Long)))
	if err := c.Flags().Set(flags.HelpAll, "true"); err != nil {
		panic(err) // all commands have the flag
	}
	for _, section := range sections(c.UsageString()) {
		title, text, _ := strings.Cut(section, ":\n")
		fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", strings.ToUpper(roff(title)), roff(strings.TrimRight(text, "\n")))
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, other := range pages(root) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s(1)", roff(strings.ReplaceAll(other.CommandPath(), " ", "-")))
	}
	b.WriteString("\n")
	return b.Bytes()
}

// sections splits a usage text at the headings: lines that are not indented and end with a colon.
func sections(usage string) []string {
	var all []string
	for _, line := range strings.SplitAfter(usage, "\n") {
		begins := strings.HasSuffix(line, ":\n") && !strings.HasPrefix(line, " ")
		if begins || len(all) == 0 {
			all = append(all, line)
		} else {
			all[len(all)-1] += line
		}
	}
	return all
}

var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, `"`, `\(dq`)

// roff escapes a text, so that none of it is a request.
func roff(text string) string {
	lines := strings.Split(escapes.Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func lowerFirst(text string) string { return strings.ToLower(text[:1]) + text[1:] }

// writeCompletion writes what dwatch completion prints for a shell.
func writeCompletion(shell, path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	var wrong bytes.Buffer
	code := cli.Run(context.Background(), []string{"dwatch", "completion", shell}, cli.Streams{Out: f, Err: &wrong})
	if err := f.Close(); err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("exit code %d: %s", code, wrong.String())
	}
	return nil
}
