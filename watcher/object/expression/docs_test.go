package expression

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dwatch/watcher/event"
)

// readDocs returns docs/expressions.md, and the event of its sample.
func readDocs(t *testing.T) (string, event.Event) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/expressions.md")
	if err != nil {
		t.Fatal(err)
	}
	states := blocks(string(text), "json")
	if len(states) != 2 {
		t.Fatalf("%d objects", len(states))
	}
	return string(text), modified(states[0], states[1])
}

// blocks returns what stands in blocks of code of a language.
func blocks(text, language string) (found []string) {
	for _, block := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found = append(found, block[1])
	}
	return found
}

// TestDocs: each example in docs/expressions.md does what it says there.
func TestDocs(t *testing.T) {
	text, e := readDocs(t)
	count := 0
	for _, block := range blocks(text, "cel") {
		for line := range strings.Lines(block) {
			example, want, ok := strings.Cut(line, " // ")
			want, _, _ = strings.Cut(strings.TrimSpace(want), ",")
			if !ok || want != holds && want != not {
				t.Errorf("%q does not say what comes of it", line)
				continue
			}
			count++
			if ok, err := evaluate(t, example, e); outcome(ok, err) != want {
				t.Errorf("%s: %s, %v", example, outcome(ok, err), err)
			}
		}
	}
	if count < 40 {
		t.Errorf("%d examples", count)
	}
	text = regexp.MustCompile("(?s)```console\n.*?```").ReplaceAllString(text, "")
	for line := range strings.Lines(text) {
		if example, ok := strings.CutPrefix(line, "    "); ok {
			if _, err := Compile(example); err != nil {
				t.Errorf("%s: %v", example, err)
			}
		}
	}
}

// TestDocsMistakes: what the tables of mistakes say is what is said.
func TestDocsMistakes(t *testing.T) {
	text, e := readDocs(t)
	_, text, _ = strings.Cut(text, "\n## Mistakes\n")
	text, _, _ = strings.Cut(text, "\n## ")
	rows := regexp.MustCompile("(?m)^\\| `(.*)` \\| (.*) \\|$").FindAllStringSubmatch(text, -1)
	if len(rows) < 10 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		x, err := Compile(row[1])
		if err == nil {
			_, err = x.Matches(NewInput(e, testOptions()))
		}
		if err == nil || err.Error() != row[2] {
			t.Errorf("%s: %v", row[1], err)
		}
	}
}

// TestDocsPresets: the table of words is that of the program.
func TestDocsPresets(t *testing.T) {
	text, _ := readDocs(t)
	_, text, _ = strings.Cut(text, "\n## Words that are expressions\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var words []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(.*?)` \\| `(.*)` \\|$").FindAllStringSubmatch(text, -1) {
		words = append(words, row[1])
		x, err := Compile(row[1])
		if err != nil || x.String() != strings.ReplaceAll(row[2], `\|`, "|") {
			t.Errorf("%s is %v, %v", row[1], x, err)
		}
	}
	if !slices.Equal(words, Presets()) {
		t.Errorf("%q", words)
	}
}
