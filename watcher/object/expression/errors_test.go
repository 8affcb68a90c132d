package expression

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestCompileErrors checks the messages for invalid expressions: one line, with a position unless
// the whole expression is wrong. testdata/compile_errors.txt contains the expressions and their
// messages. UPDATE_ERRORS=1 updates it.
func TestCompileErrors(t *testing.T) {
	const file = "testdata/compile_errors.txt"
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
			t.Errorf("%s: got error %v, want an *Error", text, err)
			continue
		}
		if !strings.HasPrefix(e.Message, "the result ") && (e.Column < 1 || e.Column > len([]rune(text))+1) {
			t.Errorf("%s: position is line %d, column %d, want one in the text", text, e.Line, e.Column)
		}
		if strings.ContainsAny(e.Error(), "\n\t") || strings.Contains(e.Error(), "@") && !strings.Contains(text, "@") {
			t.Errorf("%s: message contains line breaks, tabs or internal names: %q", text, e)
		}
		got.WriteString(line)
		got.WriteString("\t" + e.Error() + "\n")
	}
	if count < 100 {
		t.Errorf("got %d expressions, want at least 100", count)
	}
	if os.Getenv("UPDATE_ERRORS") != "" {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got.String() != string(want) {
		t.Errorf("messages differ from %s; got\n%s", file, got.String())
	}
}
