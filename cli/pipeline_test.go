package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dwatch/cli/destination"
	"dwatch/cli/run"
)

// keptRules and pipelineRules are the files kept.yaml and rules.yaml of TestPipelines: a rule with --for cannot be combined with --state.
const keptRules = `apiVersion: dwatch/v1alpha1
kind: Rules
rules:
- name: rollouts
  resources: [deploy]
  settle: 30s
  where: failed
  command: [/bin/true]
`

const pipelineRules = keptRules + `- name: owner
  resources: [events]
  for: deploy/web
  command: [/bin/true]
`

// TestPipelines pins the stages of representative command lines, in order of flow. testdata/pipelines.txt has each command line, and
// below it the stages; UPDATE_PIPELINES=1 rewrites the file.
func TestPipelines(t *testing.T) {
	golden, err := filepath.Abs("testdata/pipelines.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"kept.yaml": keptRules, "rules.yaml": pipelineRules, "config": pipelineKubeconfig} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", "config")
	var got strings.Builder
	for line := range strings.Lines(string(want)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, " ") {
			continue
		}
		fmt.Fprintln(&got, line)
		_, task, err := parsed(strings.Fields(line)[1:])
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		for _, stages := range pipelinesOf(task) {
			fmt.Fprintln(&got, "    "+stages)
		}
	}
	if got.String() != string(want) {
		if os.Getenv("UPDATE_PIPELINES") != "" {
			if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		t.Errorf("got\n%s", got.String())
	}
}

const pipelineKubeconfig = `apiVersion: v1
kind: Config
clusters:
- {name: a, cluster: {server: "https://a"}}
- {name: b, cluster: {server: "https://b"}}
users: [{name: u, user: {token: t}}]
contexts:
- {name: a, context: {cluster: a, user: u}}
- {name: b, context: {cluster: b, user: u}}
current-context: a
`

// pipelinesOf returns the stages of each pipeline of a task.
func pipelinesOf(t task) (all []string) {
	add := func(prefix string, l run.Layout) {
		all = append(all, prefix+strings.Join(l.StageNames(), " > "))
	}
	switch t := t.(type) {
	case *leaseTask:
		if t.rules != nil {
			return pipelinesOf(&rulesTask{*t.rules})
		}
		return pipelinesOf(t.watch)
	case *rulesTask:
		for _, r := range t.Rules {
			cfg := r.Config
			cfg.Listen = t.Listen
			l := run.LayoutOf(&cfg, destination.NewReceiver(r.Receiver).Requirements())
			l.Subscribed = true
			add(r.Name+": ", l)
		}
	case *watchTask:
		l := run.LayoutOf(&t.cfg, t.to.Requirements())
		l.Recorded = t.player != nil || t.browser != nil
		add("", l)
	default:
		all = append(all, "no pipeline")
	}
	return all
}
