package readiness

import (
	"os"
	"strings"
	"testing"
)

// TestBuiltinRules compiles all rules that are part of dwatch, and requires their sources.
func TestBuiltinRules(t *testing.T) {
	rules, err := Parse("rules.yaml", builtinText)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(rules); err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if r.Source == "" {
			t.Errorf("%s: the rule for %v has no source", r.Where, r.Kinds)
		}
	}
}

// TestDocumentedWords compares the table of words in docs/readiness.md with the vocabulary. UPDATE_README=1 writes it.
func TestDocumentedWords(t *testing.T) {
	const page, begin, end = "../../../docs/readiness.md", "<!-- words -->\n", "<!-- /words -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the page has no place for the table of words")
	}
	names := map[meaning]string{bad: "bad", paused: "paused", busy: "busy", good: "good"}
	table := "| Meaning | Words |\n|---|---|\n"
	for _, line := range vocabulary {
		table += "| " + names[line.meaning] + " | " + strings.Join(strings.Fields(line.words), " ") + " |\n"
	}
	if table == old {
		return
	}
	if os.Getenv("UPDATE_README") == "" {
		t.Fatal("docs/readiness.md has another table of words: UPDATE_README=1 updates it")
	}
	if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
