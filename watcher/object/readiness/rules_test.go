package readiness

import "testing"

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
