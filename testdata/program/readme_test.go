package program

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dwatch/testdata/readme"
)

// What README.md and docs/expressions.md say is tested: each ```console block is run
// against a real API server (readme_run_test.go); package cli has the tests of its table of flags
// and of the other commands in it. UPDATE_README=1 rewrites the blocks and the
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
// Its first line may be "controllers": the cluster then has controllers and nodes,
// and the lines may come in any order, as events of different resources have none.
// Steps before the first "when" come before the commands. A "when" waits until
// the output, after what the last one found, matches a regular expression. The
// steps are those of readmeSteps. What comes after "end" or "ends" is for the next
// command.

// example is a console block.
type example struct {
	line        int      // of the README, where it begins
	controllers bool     // they run
	meanwhile   []string // the other lines of the comment before it
	commands    []string // without the prompt
	text        string   // the block, with prompts and output
}

var consoleBlock = regexp.MustCompile("(?m)(?:^<!-- meanwhile\n((?:.*\n)*?)-->\n+)?^```console\n((?:.*\n)*?)^```$")

func parseExamples(readme string) []example {
	var examples []example
	for _, at := range consoleBlock.FindAllStringSubmatchIndex(readme, -1) {
		e := example{line: 1 + strings.Count(readme[:at[4]], "\n"), text: readme[at[4]:at[5]]}
		if at[2] >= 0 {
			e.meanwhile = strings.Split(strings.TrimSpace(readme[at[2]:at[3]]), "\n")
			if e.controllers = e.meanwhile[0] == "controllers"; e.controllers {
				e.meanwhile = e.meanwhile[1:]
			}
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

// isShownBy reports whether text is what the README says that e prints.
func (e example) isShownBy(text string) bool {
	if !e.controllers {
		return e.text == text
	}
	lines := func(s string) []string { return slices.Sorted(strings.SplitSeq(s, "\n")) }
	return slices.Equal(lines(e.text), lines(text))
}

// TestGuarantees: the tests that docs/guarantees.md and docs/delivery.md name exist.
func TestGuarantees(t *testing.T) {
	text := readme.Read(t, "docs/guarantees.md") + readme.Read(t, "docs/delivery.md")
	var tests strings.Builder
	for _, pattern := range []string{"watcher/*_test.go", "watcher/*/*_test.go", "cli/*/*_test.go", "cli/*_test.go", "output/*/*_test.go", "output/*/*/*_test.go", "testdata/chaos/*_test.go", "testdata/program/*_test.go"} {
		files, err := filepath.Glob(readme.Path(t, pattern))
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
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+|[a-z_]+\\.txtar)`").FindAllStringSubmatch(text, -1)
	if len(named) == 0 {
		t.Error("no test is named")
	}
	for _, name := range named {
		name := name[1]
		if strings.HasPrefix(name, "Test") {
			if !strings.Contains(tests.String(), "\nfunc "+name+"(") {
				t.Errorf("there is no %s", name)
			}
		} else if _, err := os.Stat(filepath.Join(scripts, name)); err != nil {
			t.Error(err)
		}
	}
}
