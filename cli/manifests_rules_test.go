package cli

import (
	"fmt"
	"testing"

	"github.com/spf13/pflag"

	"dwatch/cli/flags"
	"dwatch/cli/manifest"
	"dwatch/cli/rules"
	"dwatch/output/deliver"
)

// TestPodRuleSwitch: a switch means in the pod what it means here, however it is written.
func TestPodRuleSwitch(t *testing.T) {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(known, new(sendFlags))
	for text, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false} {
		one := &rule{Rule: &rules.Rule{Name: "a", Flags: []rules.FlagValue{{Name: "all-namespaces", Value: text}}}, watching: &watching{to: &delivery{}}}
		r, err := new(podArguments).rule(one, known)
		if err != nil || r.members["all-namespaces"] != want {
			t.Errorf("%s is %v, %v", text, r.members["all-namespaces"], err)
		}
	}
}

// TestRulesMemory: it grows with each rule, and without --state with what waits.
func TestRulesMemory(t *testing.T) {
	for _, test := range []struct {
		rules int
		state string
		want  string
	}{
		{1, "", "256Mi"}, {1, "kept", "256Mi"}, {3, "kept", "384Mi"}, {3, "", fmt.Sprintf("%dMi", 384+2*deliver.DefaultMaxBytes>>20)},
	} {
		m := &manifests{}
		for range test.rules {
			m.of = append(m.of, &watching{stateFile: test.state, to: &delivery{Delivery: flags.Delivery{Command: []string{"x"}}}})
		}
		run := &manifest.Workload{}
		if m.deliver(run); run.MemoryLimit != test.want {
			t.Errorf("%d rules, --state %q: %s instead of %s", test.rules, test.state, run.MemoryLimit, test.want)
		}
	}
}
