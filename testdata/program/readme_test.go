package program

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"dwatch/testdata/readme"
)

// What README.md and the pages in docs say is tested: each ```console block is run
// against a real API server (readme_run_test.go); package cli has the tests of the tables
// of flags and of the other commands in them. UPDATE_README=1 rewrites the blocks and the
// tables.
//
// A comment before a block names the section of testdata/readme/examples.txtar that says
// what happens while its commands run:
//
//	<!-- example: weekly -->
//
// and there
//
//	-- weekly --
//	apply weekly.yaml
//	when ADDED
//	  delete crontabs/weekly
//	when DELETED
//	  end
//
// The first line may be "clusters": then there are the contexts prod-eu, where the steps are, prod-us, where
// those are that begin with "us", prod-denied, who may do nothing there, and prod-down, where nobody listens.
// As of several clusters, the lines may come in any order.
//
// Or it is "controllers": the cluster then has controllers and nodes,
// and the lines may come in any order, as events of different resources have none.
// Steps before the first "when" come before the commands. A "when" waits until
// the output, after what the last one found, matches a regular expression. The
// steps are those of readmeSteps. What comes after "end" or "ends" is for the next
// command.

// example is a console block.
type example struct {
	name      string   // of its section, or else its page and line
	stage     string   // the kind of its stage: that of one cluster, controllers or clusters
	meanwhile []string // the other lines of its section
	commands  []string // without the prompt
	text      string   // the block, with prompts and output
}

// The kinds of stages but for that of one cluster alone.
const (
	controllers = "controllers"
	clusters    = "clusters"
)

var (
	consoleBlock = regexp.MustCompile("(?m)(?:^<!-- example: (\\S+) -->\n+)?^```console\n((?:.*\n)*?)^```$")
	// exampleMark is one that stands anywhere.
	exampleMark = regexp.MustCompile(`<!--\s*(?:example|meanwhile)\b`)
)

// pagesWithExamples are the pages that have console blocks.
func pagesWithExamples(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(readme.PageNames(t), func(page string) bool {
		return !strings.Contains(readme.Read(t, page), "```console")
	})
}

// meanwhiles are the sections of testdata/readme/examples.txtar.
func meanwhiles(t *testing.T) map[string][]string {
	t.Helper()
	sections := map[string][]string{}
	for _, file := range txtar.Parse([]byte(readme.Read(t, "testdata/readme/examples.txtar"))).Files {
		if sections[file.Name] != nil {
			t.Errorf("testdata/readme/examples.txtar has two sections %s", file.Name)
		}
		sections[file.Name] = strings.Split(strings.TrimSpace(string(file.Data)), "\n")
	}
	return sections
}

// parseExamples returns the examples of a page.
func parseExamples(page, text string, sections map[string][]string) ([]example, error) {
	var examples []example
	marks := 0
	for _, at := range consoleBlock.FindAllStringSubmatchIndex(text, -1) {
		line := 1 + strings.Count(text[:at[4]], "\n")
		e := example{name: fmt.Sprintf("%s:%d", page, line), text: text[at[4]:at[5]]}
		if at[2] >= 0 {
			marks++
			e.name = text[at[2]:at[3]]
			if e.meanwhile = sections[e.name]; e.meanwhile == nil {
				return nil, fmt.Errorf("%s:%d: testdata/readme/examples.txtar has no section %s", page, line, e.name)
			}
			if first := e.meanwhile[0]; first == controllers || first == clusters {
				e.stage, e.meanwhile = first, e.meanwhile[1:]
			}
		}
		for line := range strings.Lines(e.text) {
			if command, ok := strings.CutPrefix(line, "$ "); ok {
				e.commands = append(e.commands, strings.TrimSpace(command))
			}
		}
		examples = append(examples, e)
	}
	if blocks := strings.Count(text, "```console"); len(examples) != blocks || blocks == 0 {
		return nil, fmt.Errorf("%s: %d of %d examples are understood", page, len(examples), blocks)
	}
	if all := len(exampleMark.FindAllString(text, -1)); all != marks {
		return nil, fmt.Errorf("%s: %d of %d comments stand before an example", page, marks, all)
	}
	return examples, nil
}

// TestExamples: each section of testdata/readme/examples.txtar is that of one example.
func TestExamples(t *testing.T) {
	sections := meanwhiles(t)
	used := map[string]int{}
	for _, page := range pagesWithExamples(t) {
		examples, err := parseExamples(page, readme.Read(t, page), sections)
		if err != nil {
			t.Error(err)
		}
		for _, e := range examples {
			used[e.name]++
		}
	}
	for name := range sections {
		if used[name] != 1 {
			t.Errorf("section %s of testdata/readme/examples.txtar is that of %d examples", name, used[name])
		}
	}
}

// TestParseExamples: an example that would not be run as it is meant is an error.
func TestParseExamples(t *testing.T) {
	const block = "```console\n$ dwatch pods\nadded\n```\n"
	sections := map[string][]string{"pods": {"controllers", "when added", "end"}}
	examples, err := parseExamples("a.md", "text\n\n<!-- example: pods -->\n"+block+block, sections)
	want := []example{
		{name: "pods", stage: controllers, meanwhile: []string{"when added", "end"}, commands: []string{"dwatch pods"}, text: "$ dwatch pods\nadded\n"},
		{name: "a.md:9", commands: []string{"dwatch pods"}, text: "$ dwatch pods\nadded\n"},
	}
	if diff := cmp.Diff(want, examples, cmp.AllowUnexported(example{})); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for text, message := range map[string]string{
		"nothing":                                "a.md: 0 of 0 examples are understood",
		"  " + block:                             "a.md: 0 of 1 examples are understood",
		"<!-- example: jobs -->\n" + block:       "a.md:3: testdata/readme/examples.txtar has no section jobs",
		"<!-- example: pods -->\ntext\n" + block: "a.md: 0 of 1 comments stand before an example",
		"<!-- meanwhile\nwhen added\n  end\n-->\n" + block: "a.md: 0 of 1 comments stand before an example",
	} {
		if _, err := parseExamples("a.md", text, sections); err == nil || err.Error() != message {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// isShownBy reports whether text is what its page says that e prints.
func (e example) isShownBy(text string) bool {
	if e.stage == "" {
		return e.text == text
	}
	lines := func(s string) []string { return slices.Sorted(strings.SplitSeq(s, "\n")) }
	return slices.Equal(lines(e.text), lines(text))
}

// TestGuarantees: the tests that docs/guarantees.md and docs/delivery.md name exist.
func TestGuarantees(t *testing.T) {
	text := readme.Read(t, "docs/guarantees.md") + readme.Read(t, "docs/delivery.md")
	var tests strings.Builder
	for _, pattern := range []string{"watcher/*_test.go", "watcher/*/*_test.go", "watcher/*/*/*_test.go", "cli/*/*_test.go", "cli/*_test.go", "output/*/*_test.go", "output/*/*/*_test.go", "output/*/*/*/*_test.go", "testdata/chaos/*_test.go", "testdata/program/*_test.go"} {
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
