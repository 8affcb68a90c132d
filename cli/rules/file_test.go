package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var known = []Flag{
	{Name: "resource", Repeatable: true}, {Name: "namespace", Repeatable: true}, {Name: "all-namespaces", IsBool: true}, {Name: "where", Repeatable: true},
	{Name: "settle"}, {Name: "to-file"}, {Name: "rate"}, {Name: "state", ForbiddenReason: "is for all rules"},
}

const head = "apiVersion: dwatch/v1alpha1\nkind: Rules\nrules:\n"

// TestParse checks that rules are read as command lines.
func TestParse(t *testing.T) {
	rules, err := Parse("r.yaml", []byte(head+`
- name: rollouts
  resources: [deploy, rs, --state=x]
  all-namespaces: true
  where: [newimage, "object.spec.replicas > 1"]
  settle: 30s
  to-file: /secrets/slack
  rate: 0.5
- name: jobs
  resources: jobs
  namespace: [batch, ci]
  command: [./hook.sh, --loud]
`), known)
	if err != nil {
		t.Fatal(err)
	}
	want := []*Rule{
		{Name: "rollouts", Position: "r.yaml:5", Flags: []FlagValue{
			{"all-namespaces", "true", "r.yaml:7"}, {"rate", "0.5", "r.yaml:11"},
			{"resource", "deploy", "r.yaml:6"}, {"resource", "rs", "r.yaml:6"}, {"resource", "--state=x", "r.yaml:6"},
			{"settle", "30s", "r.yaml:9"}, {"to-file", "/secrets/slack", "r.yaml:10"},
			{"where", "newimage", "r.yaml:8"}, {"where", "object.spec.replicas > 1", "r.yaml:8"},
		}},
		{Name: "jobs", Position: "r.yaml:12", Command: []string{"./hook.sh", "--loud"}, Flags: []FlagValue{
			{"namespace", "batch", "r.yaml:14"}, {"namespace", "ci", "r.yaml:14"}, {"resource", "jobs", "r.yaml:13"},
		}},
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Error(diff)
	}
	if rules[0].Equal(rules[1]) || !rules[0].Equal(rules[0]) {
		t.Error("Equal does not tell different rules apart, or a rule differs from itself")
	}
	if at := rules[0].FlagPosition("settle") + " " + rules[0].FlagPosition("rates"); at != "r.yaml:9 r.yaml:5" {
		t.Errorf("got positions %s", at)
	}
}

// TestMistakes checks that each mistake is reported with its line, and with a suggestion if a name is misspelled.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "r.yaml: the file is empty: it must have apiVersion dwatch/v1alpha1, kind Rules and rules",
		"a: [":                                  "r.yaml:1: did not find expected node content",
		"[]":                                    "r.yaml:1: the file must be a map",
		"apiVersion: dwatch/v9\nkind: Rules":    `r.yaml:1: the file has apiVersion "dwatch/v9" and kind "Rules": this dwatch reads dwatch/v1alpha1 and Rules`,
		strings.TrimSuffix(head, "\n"):          "r.yaml:3: rules must be a list with at least one rule",
		head + "- name: a\n  setle: 30s":        `r.yaml:5: a rule has no "setle"; did you mean settle?`,
		head + "- nme: a":                       `r.yaml:4: a rule has no "nme"; did you mean name?`,
		head + "- resources: jobs":              `r.yaml:4: a rule needs a name of lowercase letters, digits and hyphens`,
		head + "- name: a\n  state: file":       "r.yaml:5: --state is for all rules",
		head + "- name: a\n- name: a":           "r.yaml:5: the name a is already used on line 4",
		head + "- name: A b":                    `r.yaml:4: invalid rule name "A b": use at most 63 lowercase letters, digits and hyphens, and no hyphen at the beginning or end`,
		"{\"rules\": []}\n}":                    "r.yaml:1: did not find expected <document start>",
		head + "- name: a\n  settle: [1s, 2s]":  "r.yaml:5: settle must have one value",
		head + "- name: a\n  all-namespaces: 3": "r.yaml:5: all-namespaces must be true or false",
		head + "- name: a\n  where: {a: b}":     "r.yaml:5: where must be a string or a list of strings",
		head + "- name: a\n  where:":            "r.yaml:5: where must be a string or a list of strings",
		head + "- name: a\n  name: b":           `r.yaml:5: a rule has "name" twice`,
		head + "- name: a\n  resource: b":       `r.yaml:5: a rule has no "resource"; did you mean resources?`,
		head + "- name: a\n---\nb: c":           "r.yaml: the file has several YAML documents: put all rules into one",
		head + "- jobs":                         "r.yaml:4: a rule must be a map",
		head + "- name: a\nrule: []":            `r.yaml:5: the file has no "rule"; did you mean rules?`,
	} {
		_, err := Parse("r.yaml", []byte(text), known)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
	}
}
