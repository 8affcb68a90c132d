package cli

import "testing"

// TestCheckYAML: text that YAML does not preserve is refused, and no other text.
func TestCheckYAML(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"a\tb\nc \u00a0é\u2028\ufeff\ufffd😀": "",
		"a\x7f":                              `x contains the character U+007F, which YAML does not preserve: in an expression, write \u007f`,
		"a\u0085b":                           `x contains the character U+0085, which YAML does not preserve: in an expression, write \u0085`,
		"\uffff":                             `x contains the character U+FFFF, which YAML does not preserve: in an expression, write \uffff`,
		"a\xff":                              "x is not UTF-8, which Kubernetes requires",
	} {
		got := ""
		if err := checkYAML("x", text); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
}
