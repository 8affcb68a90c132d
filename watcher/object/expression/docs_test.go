package expression

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// readDocs returns the text of docs/reference/expressions.md and the event of its section "Sample".
func readDocs(t *testing.T) (string, event.Event) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	states := blocks(string(text), "json")
	if len(states) != 2 {
		t.Fatalf("the sample has %d objects, want 2", len(states))
	}
	return string(text), modified(states[0], states[1])
}

// blocks returns the contents of the code blocks of a language.
func blocks(text, language string) (found []string) {
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found = append(found, block[1])
	}
	return found
}

// TestDocsExamples checks that each CEL example in docs/reference/expressions.md has the result stated there,
// and that the indented examples compile.
func TestDocsExamples(t *testing.T) {
	text, e := readDocs(t)
	count := 0
	for _, block := range blocks(text, "cel") {
		for line := range strings.Lines(block) {
			example, want, ok := strings.Cut(line, " // ")
			want, _, _ = strings.Cut(strings.TrimSpace(want), ",")
			if !ok || want != holds && want != doesNotHold {
				t.Errorf("%q does not state its result", line)
				continue
			}
			count++
			if ok, err := evaluate(t, example, e); outcome(ok, err) != want {
				t.Errorf("%s: got %q (%v), want %q", example, outcome(ok, err), err, want)
			}
		}
	}
	if count < 40 {
		t.Errorf("got %d examples, want at least 40", count)
	}
	text = regexp.MustCompile("(?s)```console\n.*?```").ReplaceAllString(text, "")
	for line := range strings.Lines(text) {
		if example, ok := strings.CutPrefix(line, "    "); ok {
			if _, err := Compile(example); err != nil {
				t.Errorf("%s does not compile: %v", example, err)
			}
		}
	}
}

// TestDocsRecipes checks that the expressions in tables with the header "To select" and "Write" compile.
func TestDocsRecipes(t *testing.T) {
	text, _ := readDocs(t)
	count := 0
	for _, table := range regexp.MustCompile("(?m)^\\| To select \\| Write \\|\n.*\n((?:\\|.*\n)*)").FindAllStringSubmatch(text, -1) {
		for row := range strings.Lines(table[1]) {
			count++
			column := regexp.MustCompile("^\\| .* \\| `(.*)` \\|\n$").FindStringSubmatch(row)
			if column == nil {
				t.Errorf("%q has no expression", row)
			} else if _, err := Compile(strings.ReplaceAll(column[1], `\|`, "|")); err != nil {
				t.Errorf("%s does not compile: %v", column[1], err)
			}
		}
	}
	if count < 10 {
		t.Errorf("got %d recipes, want at least 10", count)
	}
}

// TestDocsMistakes checks the messages in the section "Mistakes".
func TestDocsMistakes(t *testing.T) {
	text, e := readDocs(t)
	_, text, _ = strings.Cut(text, "\n## Mistakes\n")
	text, _, _ = strings.Cut(text, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `(.*)` \\| (.*) \\|$").FindAllStringSubmatch(text, -1)
	if len(rows) < 10 {
		t.Errorf("got %d rows, want at least 10", len(rows))
	}
	for _, row := range rows {
		x, err := Compile(row[1])
		if err == nil {
			_, err = x.Matches(NewInput(e, testOptions()))
		}
		if err == nil || err.Error() != row[2] {
			t.Errorf("%s: got error %v, want %s", row[1], err, row[2])
		}
	}
}

// TestDocsPresets checks that the table of words lists all presets with their expressions.
func TestDocsPresets(t *testing.T) {
	text, _ := readDocs(t)
	_, text, _ = strings.Cut(text, "\n## Words\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*?)` \\| `(.*)` \\|$").FindAllStringSubmatch(text, -1) {
		names = append(names, row[1])
		x, err := Compile(row[1])
		if err != nil || x.String() != strings.ReplaceAll(row[2], `\|`, "|") {
			t.Errorf("%s: got %v, %v, want %s", row[1], x, err, row[2])
		}
	}
	if !slices.Equal(names, Presets()) {
		t.Errorf("got presets %q, want %q", names, Presets())
	}
}
