package readiness

import (
	"encoding/json"
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

// TestDocumentedWords compares the table of words in docs/reference/readiness-rules.md with the vocabulary. UPDATE_README=1 writes it.
func TestDocumentedWords(t *testing.T) {
	const page, begin, end = "../../../docs/reference/readiness-rules.md", "<!-- words -->\n", "<!-- /words -->\n"
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
		t.Fatal("docs/reference/readiness-rules.md has another table of words: UPDATE_README=1 updates it")
	}
	if err := os.WriteFile(page, []byte(before+begin+table+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// withRules sets the rules of the user for one test.
func withRules(t *testing.T, text string) {
	t.Helper()
	rules, err := Parse("own.yaml", []byte("apiVersion: dwatch/v1alpha1\nkind: Readiness\nrules:\n"+text))
	if err == nil {
		err = Check(rules)
	}
	if err != nil {
		t.Fatal(err)
	}
	Use(rules)
	t.Cleanup(func() { Use(nil) })
}

// TestOwnRules checks which rule decides, and how it works together with the general rules.
func TestOwnRules(t *testing.T) {
	withRules(t, `
- kinds: '*.example.com'
  failed: status.pressure < 2
- kinds: Gauge.example.com
  failed: status.pressure < 5
  inProgress: status.pressure < 10
  ready: status.pressure >= 10
  message: '"pressure is " + string(status.pressure)'
- kinds: Old.*.example.com
  anyGeneration: true
- kinds: Rollout.argoproj.io
  ready: 'true'
`)
	for _, c := range []struct{ name, kind, status, want string }{
		{"the kind comes before the group", "Gauge.example.com", `{"pressure":3}`, "failed: pressure is 3"},
		{"in progress", "Gauge.example.com", `{"pressure":7}`, "in progress: pressure is 7"},
		{"ready", "Gauge.example.com", `{"pressure":12}`, "ready"},
		{"ready, though a condition says no", "Gauge.example.com", `{"pressure":12,"conditions":[{"type":"Ready","status":"False","reason":"Failed"}]}`, "ready"},
		{"the generation comes first", "Gauge.example.com", `{"pressure":12,"observedGeneration":1}`, "in progress: Gauge generation is 2, but latest observed generation is 1"},
		{"a missing field", "Gauge.example.com", `{"x":1}`, `in progress: not yet: status.pressure >= 10`},
		{"a field of another type", "Gauge.example.com", `{"pressure":"high"}`, `in progress: pressure is high`},
		{"general rules never make it ready", "Gauge.example.com", `{"phase":"Ready"}`, `in progress: not yet: status.pressure >= 10`},
		{"general rules may say that it failed", "Gauge.example.com", `{"phase":"Failed"}`, "failed: phase is Failed"},
		{"all kinds of a group", "Meter.example.com", `{"pressure":1,"phase":"Ready"}`, "failed: status.pressure < 2"},
		{"a rule that does not hold", "Meter.example.com", `{"pressure":3,"phase":"Ready"}`, "ready"},
		{"another group", "Meter.example.org", `{"pressure":1,"phase":"Ready"}`, "ready"},
		{"any generation", "Old.eu.example.com", `{"observedGeneration":1,"phase":"Ready"}`, "ready"},
		{"instead of a built-in rule", "Rollout.argoproj.io", `{"phase":"Degraded"}`, "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kind, group, _ := strings.Cut(c.kind, ".")
			var status map[string]any
			if err := json.Unmarshal([]byte(c.status), &status); err != nil {
				t.Fatal(err)
			}
			r := Judge(map[string]any{"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"generation": int64(2)}, "status": integers(status)}, now)
			got := r.Answer.String()
			if r.Message != "" {
				got += ": " + r.Message
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestMistakes checks that a mistake in a file of rules is one line with the file and the line.
func TestMistakes(t *testing.T) {
	const head = "apiVersion: dwatch/v1alpha1\nkind: Readiness\nrules:\n"
	for text, want := range map[string]string{
		"":                         "f.yaml: the file is empty: it needs apiVersion dwatch/v1alpha1, kind Readiness and rules",
		"rules: [":                 "f.yaml:1: did not find expected node content",
		"- a":                      "f.yaml:1: the file must be a mapping",
		"kind: Rules\nrules: []\n": `f.yaml:1: the file has apiVersion "" and kind "Rules": this dwatch reads dwatch/v1alpha1 and Readiness`,
		head + "- kinds: Gauge.example.com\n  redy: 'true'\n":                            `f.yaml:5: a rule has no "redy": it takes kinds, ready, failed, inProgress, message, anyGeneration, source`,
		head + "- kinds: Gauge\n  ready: 'true'\n":                                       `f.yaml:4: "Gauge" is no kind with its group, such as Rollout.argoproj.io, *.argoproj.io or Bucket.*.upbound.io`,
		head + "- kinds: Gauge.example.com\n":                                            "f.yaml:4: a rule needs at least one of ready, failed and inProgress",
		head + "- ready: 'true'\n":                                                       "f.yaml:4: a rule needs kinds, such as Rollout.argoproj.io",
		head + "- kinds: Gauge.example.com\n  ready: status.a ==\n":                      "f.yaml:5: Syntax error: mismatched input '<EOF>'",
		head + "- kinds: Gauge.example.com\n  ready: |\n    status.a &&\n    nope.b\n":   "f.yaml:7: undeclared reference to 'nope': status.a && nope.b",
		head + "- kinds: Gauge.example.com\n  ready: size(status.a)\n":                   "f.yaml:5: the expression must be of type bool, not int: size(status.a)",
		head + "- kinds: Gauge.example.com\n  ready: 'true'\n  message: 3 + 4\n":         "f.yaml:6: the expression must be of type string, not int: 3 + 4",
		head + "- kinds: Gauge.example.com\n  ready: 'true'\n  anyGeneration: perhaps\n": "f.yaml:6: anyGeneration must be true or false",
	} {
		rules, err := Parse("f.yaml", []byte(text))
		if err == nil {
			err = Check(rules)
		}
		if err == nil || !strings.HasPrefix(strings.Split(err.Error(), "\n")[0], want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestUseLater checks that the user's rules are read when the first object is judged, and once.
func TestUseLater(t *testing.T) {
	t.Cleanup(func() { Use(nil) })
	rules, err := Parse("own.yaml", []byte("apiVersion: dwatch/v1alpha1\nkind: Readiness\nrules:\n- kinds: Gauge.example.com\n  ready: 'true'\n"))
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	UseLater(func() []*Rule { reads++; return rules })
	if reads != 0 {
		t.Error("the rules were read before an object was judged")
	}
	for _, kind := range []string{"Gauge", "Other", "Gauge"} {
		got := Judge(map[string]any{"apiVersion": "example.com/v1", "kind": kind, "status": map[string]any{"pressure": int64(3)}}, now)
		if want := map[string]Answer{"Gauge": Ready, "Other": Unknown}[kind]; got.Answer != want {
			t.Errorf("%s: got %s, want %s", kind, got.Answer, want)
		}
	}
	if reads != 1 {
		t.Errorf("the rules were read %d times, want once", reads)
	}
}

// TestHint checks what dwatch suggests if it does not know a kind.
func TestHint(t *testing.T) {
	for status, want := range map[string]string{
		`{"conditions":[{"type":"Foo","status":"True"},{"type":"Synced","status":"True"}]}`: "--for condition=Synced",
		`{"conditions":[{"type":"Foo","status":"True"}]}`:                                   "--for condition=Foo",
		`{"phase":"Purple"}`: "--for jsonpath='{.status.phase}'=VALUE",
		`{"pressure":3}`:     "",
	} {
		var s map[string]any
		if err := json.Unmarshal([]byte(status), &s); err != nil {
			t.Fatal(err)
		}
		if r := Judge(map[string]any{"apiVersion": "example.com/v1", "kind": "Gauge", "status": s}, now); r.Hint != want || r.Answer != Unknown {
			t.Errorf("%s: got %q (%s), want %q", status, r.Hint, r.Answer, want)
		}
	}
}

// BenchmarkJudge measures a kind without a rule, and one with a rule.
func BenchmarkJudge(b *testing.B) {
	for _, kind := range []string{"Kustomization.kustomize.toolkit.fluxcd.io", "HTTPProxy.projectcontour.io"} {
		name, group, _ := strings.Cut(kind, ".")
		o := map[string]any{"apiVersion": group + "/v1", "kind": name, "metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{
			"observedGeneration": int64(2), "currentStatus": "valid",
			"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "ReconciliationSucceeded", "message": "Applied revision: main@sha1:0123456789"}},
		}}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Judge(o, now)
			}
		})
	}
}
