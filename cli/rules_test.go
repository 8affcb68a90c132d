package cli

import (
	"encoding/json"
	"os"
	"testing"

	"dwatch/cli/rules"
	"dwatch/testdata/readme"
)

// TestRulesSchema: the published schema has the members that a rule may have.
func TestRulesSchema(t *testing.T) {
	const page = "docs/reference/rules.schema.json"
	known := ruleFlags()
	fresh, err := rules.JSONSchema(known)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_README") != "" {
		if err := os.WriteFile(readme.Path(t, page), fresh, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := readme.Read(t, page)
	readme.CheckOrUpdate(t, page, text, string(fresh))
	var schema struct {
		Properties struct {
			Rules struct {
				Items struct {
					Properties map[string]any
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &schema); err != nil {
		t.Fatal(err)
	}
	members := schema.Properties.Rules.Items.Properties
	for _, f := range known {
		_, has := members[f.Name]
		if may := f.ForbiddenReason == "" && f.Name != "resource"; has != may {
			t.Errorf("%s: the schema has it: %v, and a rule may have it: %v (%s)", f.Name, has, may, f.ForbiddenReason)
		}
	}
	for _, name := range []string{"name", "resources", "command", "where", "for", "settle", "template", "to-file", "rate", "changes", "namespace"} {
		if members[name] == nil {
			t.Errorf("the schema has no %s", name)
		}
	}
}

// TestOfProcess: all flags that are listed as none of a rule are there.
func TestOfProcess(t *testing.T) {
	there := map[string]bool{}
	for _, f := range ruleFlags() {
		there[f.Name] = true
	}
	names := processFlags
	for _, no := range notWithRules {
		names = append(names, no.names...)
	}
	for _, name := range names {
		if !there[name] {
			t.Errorf("dwatch send has no --%s", name)
		}
	}
}
