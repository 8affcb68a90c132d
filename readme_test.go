package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// What README.md says is tested: each ```console block is run against a real
// API server (readme_run_test.go), the table of flags is made of the flags, and
// every other command in it parses. UPDATE_README=1 rewrites the blocks and the
// table.
//
// A comment before a block says what happens while its commands run:
//
//	<!-- meanwhile
//	apply weekly.yaml
//	when ADDED
//	  delete crontabs/weekly
//	when DELETED
//	  end
//	-->
//
// Steps before the first "when" come before the commands. A "when" waits until
// the output, after what the last one found, matches a regular expression. The
// steps are those of readmeSteps.

func readReadme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// example is a console block.
type example struct {
	line      int      // of the README, where it begins
	meanwhile []string // the lines of the comment before it
	commands  []string // without the prompt
	text      string   // the block, with prompts and output
}

var consoleBlock = regexp.MustCompile("(?m)(?:^<!-- meanwhile\n((?:.*\n)*?)-->\n+)?^```console\n((?:.*\n)*?)^```$")

func parseExamples(readme string) []example {
	var examples []example
	for _, at := range consoleBlock.FindAllStringSubmatchIndex(readme, -1) {
		e := example{line: 1 + strings.Count(readme[:at[4]], "\n"), text: readme[at[4]:at[5]]}
		if at[2] >= 0 {
			e.meanwhile = strings.Split(strings.TrimSpace(readme[at[2]:at[3]]), "\n")
		}
		for line := range strings.Lines(e.text) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				e.commands = append(e.commands, strings.TrimSpace(command))
			}
		}
		examples = append(examples, e)
	}
	return examples
}

// updateReadme replaces what is old, if it is allowed to.
func updateReadme(t *testing.T, old, fresh string) {
	t.Helper()
	if diff := cmp.Diff(old, fresh); diff == "" {
		return
	} else if os.Getenv("UPDATE_README") == "" {
		t.Errorf("README.md is not what dwatch does; UPDATE_README=1 go test -run Readme . updates it (-README +dwatch):\n%s", diff)
		return
	}
	if err := os.WriteFile("README.md", []byte(strings.Replace(readReadme(t), old, fresh, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

var flagTable = regexp.MustCompile(`(?m)^\| Flag \| Meaning \|\n(?:\|.*\n)*`)

// TestReadmeFlags: the table has each flag, and each connection flag that the
// text after it names exists.
func TestReadmeFlags(t *testing.T) {
	readme := readReadme(t)
	old := flagTable.FindString(readme)
	if old == "" {
		t.Fatal("README.md has no table of flags")
	}
	cmd := newCommand("dwatch", streams{err: io.Discard})
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	connection := connectionFlags()
	fresh := "| Flag | Meaning |\n|---|---|\n"
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && connection.Lookup(f.Name) == nil {
			fresh += flagRow(f)
		}
	})
	updateReadme(t, old, fresh)

	_, rest, _ := strings.Cut(readme, old)
	paragraph, _, _ := strings.Cut(strings.TrimSpace(rest), "\n\n")
	for _, name := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(paragraph, -1) {
		if connection.Lookup(name[1]) == nil {
			t.Errorf("there is no connection flag --%s", name[1])
		}
	}
}

func connectionFlags() *pflag.FlagSet {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(connection).addFlags(f)
	return f
}

func flagRow(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	flag := "--" + f.Name
	if f.Shorthand != "" {
		flag = "-" + f.Shorthand + ", " + flag
	}
	if value == strings.ToUpper(value) && value != "" {
		flag += " " + value
	}
	if f.DefValue != "" && f.Value.Type() == "string" {
		usage += fmt.Sprintf(" (default `%s`)", f.DefValue)
	}
	return fmt.Sprintf("| `%s` | %s |\n", flag, strings.ReplaceAll(usage, "|", `\|`))
}

// TestReadmeCommands: what the README tells to type, other than in examples
// that are run, can be typed.
func TestReadmeCommands(t *testing.T) {
	readme := readReadme(t)
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range regexp.MustCompile("(?m)(?:^|`)make ([a-z/-]+)").FindAllStringSubmatch(readme, -1) {
		if !regexp.MustCompile(`(?m)^` + target[1] + `:`).Match(makefile) {
			t.Errorf("the Makefile has no target %s", target[1])
		}
	}
	for _, block := range regexp.MustCompile("(?m)^```sh\n((?:.*\n)*?)^```$").FindAllStringSubmatch(readme, -1) {
		checkCommands(t, block[1])
	}
	for _, path := range regexp.MustCompile("`([a-z]+/(?:[a-z./]*))`").FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(path[1]); err != nil && !strings.HasPrefix(path[1], "bin/") {
			t.Error(err)
		}
	}
}

// TestHelpExamples: what --help shows can be typed.
func TestHelpExamples(t *testing.T) {
	cmd := newCommand("dwatch", streams{err: io.Discard})
	if n := checkCommands(t, cmd.Example); n == 0 {
		t.Error("the help shows no example")
	}
	words := regexp.MustCompile(`Name resources as with kubectl: ((?s).*?), or a category`).FindStringSubmatch(cmd.Long)
	if words == nil {
		t.Fatal("the help does not say how resources are named")
	}
	for form := range strings.SplitSeq(strings.Join(strings.Fields(words[1]), " "), ", ") {
		checkCommands(t, "dwatch "+form)
	}
}

var dwatchCommand = regexp.MustCompile(`(?m)(?:^|<\()\s*(?:kubectl )?dwatch(?: ([^|)\n>#]*))?`)

// checkCommands parses each command line of dwatch in a text, and returns how
// many there were.
func checkCommands(t *testing.T, text string) int {
	t.Helper()
	found := dwatchCommand.FindAllStringSubmatch(text, -1)
	for _, match := range found {
		args := strings.Fields(match[1])
		if len(args) > 0 && args[0] == "completion" {
			args = args[1:]
			if !slices.ContainsFunc(completionCommand("dwatch").ValidArgs, func(a cobra.Completion) bool { return a == args[0] }) {
				t.Errorf("%s: no such shell", match[0])
			}
			continue
		}
		o := &options{}
		f := pflag.NewFlagSet("", pflag.ContinueOnError)
		o.addFlags(f)
		if err := f.Parse(args); err != nil {
			t.Errorf("%s: %v", match[0], err)
			continue
		}
		if _, err := o.parse(f.Args(), terminal{}); err != nil {
			t.Errorf("%s: %v", match[0], err)
		}
	}
	return len(found)
}

// TestGuarantees: the tests that docs/guarantees.md names exist.
func TestGuarantees(t *testing.T) {
	text, err := os.ReadFile("docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, pattern := range []string{"*_test.go", "watcher/*_test.go", "watcher/resume/*_test.go", "testdata/chaos/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(source)
		}
	}
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+|[a-z_]+\\.txtar)`").FindAllSubmatch(text, -1)
	if len(named) == 0 {
		t.Error("no test is named")
	}
	for _, name := range named {
		name := string(name[1])
		if strings.HasPrefix(name, "Test") {
			if !strings.Contains(tests.String(), "\nfunc "+name+"(") {
				t.Errorf("there is no %s", name)
			}
		} else if _, err := os.Stat(filepath.Join("testdata/script", name)); err != nil {
			t.Error(err)
		}
	}
}
