package cli

import "testing"

// TestCheckYAML: text that YAML does not preserve is refused, and no other text.
func TestCheckYAML(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"a\tb\nc \u00a0é\u2028\ufeff\ufffd😀": "",
		"a\x7f":                              `x has the character U+007F, which YAML does not keep: in an expression write \u007f for it`,
		"a\u0085b":                           `x has the character U+0085, which YAML does not keep: in an expression write \u0085 for it`,
		"\uffff":                             `x has the character U+FFFF, which YAML does not keep: in an expression write \uffff for it`,
		"a\xff":                              "x is not UTF-8: Kubernetes takes nothing else",
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
