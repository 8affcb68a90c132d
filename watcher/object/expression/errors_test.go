package expression

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestWrong: what is wrong with an expression is said in one line, with the place where that
// is not the whole of it. testdata/wrong.txt has expressions, each with what is said of it;
// UPDATE_WRONG=1 writes it anew.
func TestWrong(t *testing.T) {
	const file = "testdata/wrong.txt"
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	count := 0
	for line := range strings.Lines(string(want)) {
		if strings.HasPrefix(line, "\t") || line == "\n" {
			continue
		}
		text := strings.TrimSuffix(line, "\n")
		count++
		_, err := Compile(text)
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !strings.HasPrefix(e.Message, "the result is ") && (e.Column < 1 || e.Column > len([]rune(text))+1) {
			t.Errorf("%s: column %d of line %d", text, e.Column, e.Line)
		}
		if strings.ContainsAny(e.Error(), "\n\t") || strings.Contains(e.Error(), "@") && !strings.Contains(text, "@") {
			t.Errorf("%s: %q", text, e)
		}
		got.WriteString(line)
		got.WriteString("\t" + e.Error() + "\n")
	}
	if count < 100 {
		t.Errorf("%d expressions", count)
	}
	if os.Getenv("UPDATE_WRONG") != "" {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s", got.String())
	}
}
