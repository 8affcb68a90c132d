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

// The examples in README.md and in the pages in docs are tests: each ```console block runs against a real API server
// (readme_run_test.go). Package cli tests the tables of flags and the other commands. UPDATE_README=1 rewrites the blocks and
// the tables.
//
// A comment before a block names the section of testdata/readme/examples.txtar with the steps that the test takes while the
// commands run:
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
// If the first line is "clusters", there are the contexts prod-eu, in which steps run, prod-us, in which steps run that begin
// with "us", prod-denied, a user without permissions in prod-us, and prod-down, an address without a server. The lines of the
// output may come in any order, because events of different clusters have none.
//
// If the first line is "controllers", the cluster has controllers and nodes. The lines of the output may come in any order,
// because events of different resources have none.
//
// If the first line is "unordered", the lines of the output may come in any order, for example because rules end at the same
// time.
//
// Steps before the first "when" run before the commands. A "when" waits until the output after the previous match matches a
// regular expression. The steps are in readmeSteps. Lines after "end" or "ends" belong to the next command.

// example is a console block.
type example struct {
	name      string   // name of its section, or else page:line
	stage     string   // kind of its stage: controllers, clusters, or "" for one plain cluster
	unordered bool     // the lines of the output may come in any order
	meanwhile []string // the steps of its section
	commands  []string // commands, without the prompt
	text      string   // the block with prompts and output
}

// The kinds of stages, other than one plain cluster.
const (
	controllers = "controllers"
	clusters    = "clusters"
)

// unordered is the first line of a section whose output has no order in a plain cluster.
const unordered = "unordered"

var (
	consoleBlock = regexp.MustCompile("(?m)(?:^<!-- example: (\\S+) -->\n+)?^```console\n((?:.*\n)*?)^```$")
	// exampleMark matches a comment for an example anywhere on a page.
	exampleMark = regexp.MustCompile(`<!--\s*(?:example|meanwhile)\b`)
)

// pagesWithExamples returns the pages with console blocks.
func pagesWithExamples(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(readme.PageNames(t), func(page string) bool {
		return !strings.Contains(readme.Read(t, page), "```console")
	})
}

// meanwhiles returns the sections of testdata/readme/examples.txtar.
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
				e.stage, e.unordered, e.meanwhile = first, true, e.meanwhile[1:]
			} else if first == unordered {
				e.unordered, e.meanwhile = true, e.meanwhile[1:]
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
		return nil, fmt.Errorf("%s: %d of %d examples could be parsed", page, len(examples), blocks)
	}
	if all := len(exampleMark.FindAllString(text, -1)); all != marks {
		return nil, fmt.Errorf("%s: %d of %d comments stand before an example", page, marks, all)
	}
	return examples, nil
}

// TestExamples checks that each section of testdata/readme/examples.txtar belongs to one example.
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
			t.Errorf("section %s of testdata/readme/examples.txtar belongs to %d examples, want 1", name, used[name])
		}
	}
}

// TestParseExamples checks that parsing fails for examples that would not run as intended.
func TestParseExamples(t *testing.T) {
	const block = "```console\n$ dwatch pods\nadded\n```\n"
	sections := map[string][]string{"pods": {"controllers", "when added", "end"}}
	examples, err := parseExamples("a.md", "text\n\n<!-- example: pods -->\n"+block+block, sections)
	want := []example{
		{name: "pods", stage: controllers, unordered: true, meanwhile: []string{"when added", "end"}, commands: []string{"dwatch pods"}, text: "$ dwatch pods\nadded\n"},
		{name: "a.md:9", commands: []string{"dwatch pods"}, text: "$ dwatch pods\nadded\n"},
	}
	if diff := cmp.Diff(want, examples, cmp.AllowUnexported(example{})); err != nil || diff != "" {
		t.Error(err, diff)
	}
	for text, message := range map[string]string{
		"nothing":                                "a.md: 0 of 0 examples could be parsed",
		"  " + block:                             "a.md: 0 of 1 examples could be parsed",
		"<!-- example: jobs -->\n" + block:       "a.md:3: testdata/readme/examples.txtar has no section jobs",
		"<!-- example: pods -->\ntext\n" + block: "a.md: 0 of 1 comments stand before an example",
		"<!-- meanwhile\nwhen added\n  end\n-->\n" + block: "a.md: 0 of 1 comments stand before an example",
	} {
		if _, err := parseExamples("a.md", text, sections); err == nil || err.Error() != message {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// isShownBy reports whether text equals the output in the block of e, in any order if the output has none.
func (e example) isShownBy(text string) bool {
	if !e.unordered {
		return e.text == text
	}
	lines := func(s string) []string { return slices.Sorted(strings.SplitSeq(s, "\n")) }
	return slices.Equal(lines(e.text), lines(text))
}

// TestGuarantees checks that the tests named on the pages for contributors exist.
func TestGuarantees(t *testing.T) {
	text := readme.Read(t, "docs/contributing/testing.md") + readme.Read(t, "docs/contributing/measurements.md")
	var tests strings.Builder
	for _, pattern := range []string{"watcher/*_test.go", "watcher/*/*_test.go", "watcher/*/*/*_test.go", "cli/*/*_test.go", "cli/*_test.go", "output/*_test.go", "output/*/*_test.go", "output/*/*/*_test.go", "output/*/*/*/*_test.go", "testdata/*/*_test.go"} {
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
	named := regexp.MustCompile("`(Test[A-Za-z0-9]+|[a-z_]+(?:/[a-z_]+)?\\.txtar)`").FindAllStringSubmatch(text, -1)
	if len(named) == 0 {
		t.Error("the pages name no test")
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
