package cli

import (
	"fmt"
	"testing"

	"github.com/spf13/pflag"

	"dwatch/cli/destination"
	"dwatch/cli/flags"
	"dwatch/cli/manifest"
	"dwatch/cli/rules"
	"dwatch/cli/run"
	"dwatch/cli/supervisor"
	"dwatch/output/deliver"
)

// TestPodRuleSwitch checks that boolean flags keep their value in the rules of the pod, in each spelling.
func TestPodRuleSwitch(t *testing.T) {
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	addFlags(known, new(sendOptions))
	for text, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false} {
		one := &supervisor.Rule{Rule: &rules.Rule{Name: "a", Flags: []rules.FlagValue{{Name: "all-namespaces", Value: text}}}}
		r, err := new(podArguments).rule(one, &podRun{receiver: &one.Receiver}, known)
		if err != nil || r.members["all-namespaces"] != want {
			t.Errorf("%s: got %v, %v; want %v", text, r.members["all-namespaces"], err, want)
		}
	}
}

// TestRulesMemory: the memory limit grows with each rule, and without --state with the outboxes.
func TestRulesMemory(t *testing.T) {
	for _, test := range []struct {
		rules int
		state string
		want  string
	}{
		{1, "", "256Mi"}, {1, "kept", "256Mi"}, {3, "kept", "384Mi"}, {3, "", fmt.Sprintf("%dMi", 384+2*deliver.DefaultMaxBytes>>20)},
	} {
		m := &manifestsTask{}
		for range test.rules {
			m.runs = append(m.runs, podRun{cfg: run.Config{StateFile: test.state}, receiver: &destination.ReceiverOptions{Delivery: flags.Delivery{Command: []string{"x"}}}})
		}
		workload := &manifest.Workload{}
		if m.deliver(workload); workload.MemoryLimit != test.want {
			t.Errorf("%d rules, --state %q: the memory limit is %s, want %s", test.rules, test.state, workload.MemoryLimit, test.want)
		}
	}
}
