//go:build unix

package program

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/discovery"

	"dwatch/testdata/testenv"
)

// comparison runs dwatch and kubectl against the same server and compares their output.
type comparison struct {
	t       *testing.T
	kubectl string
	server  string // its URL
	cluster *testenv.Cluster
}

// newComparison starts an API server with the objects of testdata/kubectl, which do not change, behind a proxy that
// replaces ages. So both programs print the same.
func newComparison(t *testing.T) *comparison {
	t.Helper()
	root, err := testenv.ModuleRoot()
	if err != nil {
		t.Fatal(err)
	}
	kubectl := filepath.Join(root, "bin", "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		t.Fatalf("the test needs the kubectl of the API server's version, run make bin/kubectl: %v", err)
	}
	c, err := testenv.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	folder := filepath.Join(root, "testdata", "kubectl")
	for _, file := range []string{"definitions.yaml", "objects.yaml", "custom.yaml"} {
		if _, err := c.Run("apply", filepath.Join(folder, file)); err != nil {
			t.Fatal(err)
		}
	}
	b := &comparison{t, kubectl, front{of: c, change: withoutAges}.serve(t), c}
	b.run(kubectl, "apply", "--server-side", "--subresource=status", "-f", withStatus(t, filepath.Join(folder, "objects.yaml")))
	return b
}

// withStatus writes a file with the objects of file that have a status, and returns its path.
func withStatus(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	documents = slices.DeleteFunc(documents, func(d string) bool { return !strings.Contains(d, "\nstatus:") })
	kept := filepath.Join(t.TempDir(), "status.yaml")
	if err := os.WriteFile(kept, []byte(strings.Join(documents, "\n---\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return kept
}

// resources returns the names of all types whose objects can be listed.
func (b *comparison) resources(c *discovery.DiscoveryClient) (names []string) {
	b.t.Helper()
	lists, err := c.ServerPreferredResources()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, list := range lists {
		group, _, ok := strings.Cut(list.GroupVersion, "/")
		for _, r := range list.APIResources {
			name := r.Name
			if ok {
				name += "." + group
			}
			if slices.Contains(r.Verbs, "list") {
				names = append(names, name)
			}
		}
	}
	return names
}

func (b *comparison) run(program string, args ...string) string {
	b.t.Helper()
	cmd := exec.Command(program, append(args, "--kubeconfig", os.DevNull, "--server", b.server)...)
	cmd.Env = append(os.Environ(), "GOGC=400") // saves a fifth of kubectl's CPU time; dwatch sets it itself
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		b.t.Errorf("%s: %v\n%s", cmd, err, &stderr)
	}
	return stdout.String()
}

// compare compares the output of "kubectl get" and "dwatch list". If it differs, kubectl runs once more. If its output
// differs from that of its first run, the objects on the server have changed, and compare tries again.
func (b *comparison) compare(format string, args ...string) {
	b.t.Helper()
	asKubectl, asDwatch := []string{"get"}, []string{"list", "-q"}
	if format != "table" {
		asKubectl = append(asKubectl, "-o", format)
	}
	asKubectl, asDwatch = append(asKubectl, args...), append(append(asDwatch, "-o", format), args...)
	before := b.run(b.kubectl, asKubectl...)
	for range 20 {
		got := b.run(filepath.Join(binaries, "dwatch"), asDwatch...)
		if got == before || sameTables(before, got) {
			return
		}
		after := b.run(b.kubectl, asKubectl...)
		if before == after {
			b.t.Errorf("%s -o %s: kubectl (-), dwatch (+):\n%s", strings.Join(args, " "), format, cmp.Diff(before, got))
			return
		}
		before = after
	}
	b.t.Errorf("%s -o %s: kubectl never printed the same twice", strings.Join(args, " "), format)
}

// sameTables reports whether the tables of kubectl and dwatch are equal except for one difference since Kubernetes 1.37
// (docs/reference/kubectl.md): kubectl makes a column as wide as its longest cell has bytes, including the text that it cuts off.
func sameTables(kubectl, dwatch string) bool {
	of, got := strings.Split(kubectl, "\n\n"), strings.Split(dwatch, "\n\n")
	return slices.EqualFunc(of, got, func(of, got string) bool {
		if of == got {
			return true
		}
		return strings.Contains(of, "世界") && squeezed(of) == squeezed(got)
	})
}

// squeezed reduces the space between columns to the minimum of three.
func squeezed(text string) string { return spaces.ReplaceAllString(text, "   ") }

var spaces = regexp.MustCompile(` {3,}`)

// TestKubectl checks that dwatch list prints the same bytes as kubectl in kubectl's formats, except for sameTables, for
// objects of all built-in types, and for custom resources with all kinds of columns.
func TestKubectl(t *testing.T) {
	t.Parallel()
	b := newComparison(t)
	config, err := b.cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	resources := b.resources(discovery.NewDiscoveryClientForConfigOrDie(config))
	if len(resources) < 50 {
		t.Fatalf("found only %d types: %q", len(resources), resources)
	}
	// The server lists the component statuses in the order in which its checks end.
	resources = slices.DeleteFunc(resources, func(name string) bool { return name == "componentstatuses" })
	for _, resource := range resources { // the wide format has all columns of a table
		if resource == "ipaddresses.networking.k8s.io" { // its rows have a surplus cell, which kubectl shows as the labels
			b.compare("table", resource, "-A")
		} else {
			b.compare("wide", resource, "-A", "--show-labels")
		}
	}
	// Leases change while the test runs.
	resources = slices.DeleteFunc(resources, func(name string) bool { return name == "leases.coordination.k8s.io" })
	everything := strings.Join(resources, ",")
	b.compare("jsonpath={.items[*]}", everything, "-A")
	b.compare("custom-columns=NAME:.metadata.name,SPEC:{.spec},M:metadata.managedFields[*].manager", everything, "-A")
	b.compare("table", everything, "-A")
	for _, format := range []string{"json", "yaml", "kyaml"} {
		b.compare(format, everything, "-A")
		b.compare(format, everything, "-A", "--show-managed-fields")
	}
	for _, selection := range kubectlSelections {
		for _, format := range []string{"json", "yaml", "kyaml", "name", "table", "wide", "jsonpath={.kind}", "jsonpath-as-json={.kind}", "go-template={{.kind}}", "custom-columns=NAME:.metadata.name"} {
			b.compare(format, strings.Fields(selection)...)
		}
	}
	for _, test := range kubectlCases {
		b.compare(test.format, strings.Fields(test.args)...)
	}
	b.compareRights()
}

// compareRights compares what both print for users who may list but not watch, or only get one object.
func (b *comparison) compareRights() {
	b.t.Helper()
	for _, args := range []string{
		"clusterrole lists --verb=list --resource=configmaps,secrets",
		"clusterrolebinding lists --clusterrole=lists --user=lister",
		"clusterrole gets --verb=get --resource=configmaps --resource-name=settings --resource-name=nothing",
		"clusterrolebinding gets --clusterrole=gets --user=getter",
	} {
		b.run(b.kubectl, append([]string{"create"}, strings.Fields(args)...)...)
	}
	for _, test := range []string{"list configmaps lister", "get configmaps/settings getter"} { // until the authorizer knows
		verb, rest, _ := strings.Cut(test, " ")
		resource, user, _ := strings.Cut(rest, " ")
		for b.code(b.kubectl, "auth", "can-i", verb, resource, "--as", user) != 0 {
		}
	}
	for _, format := range []string{"json", "yaml", "name", "table", "wide"} {
		b.compare(format, "configmaps,secrets", "-A", "--as", "lister")
		b.compare(format, "configmaps", "-l", "kept=long", "--as", "lister")
		b.compare(format, "configmaps/settings", "--as", "getter")
		b.compare(format, "configmaps/nothing", "--as", "getter", "--ignore-not-found")
	}
	for _, args := range []string{
		"configmaps/nothing --as getter", "configmaps/settings --as lister", "configmaps --as getter", "services --as lister", "configmaps/settings configmaps/long --as getter",
	} {
		of := b.code(b.kubectl, append([]string{"get"}, strings.Fields(args)...)...)
		got := b.code(filepath.Join(binaries, "dwatch"), append([]string{"list"}, strings.Fields(args)...)...)
		if of == 0 || got != of {
			b.t.Errorf("%s: kubectl exits with %d, dwatch with %d", args, of, got)
		}
	}
}

// code returns the exit code of a program.
func (b *comparison) code(program string, args ...string) int {
	b.t.Helper()
	cmd := exec.Command(program, append(args, "--kubeconfig", os.DevNull, "--server", b.server)...)
	cmd.Run()
	return cmd.ProcessState.ExitCode()
}

// kubectlSelections select no object, one or several, by name or by selector. They are compared in all formats.
var kubectlSelections = []string{
	"configmaps/long",
	"configmaps/long --show-managed-fields",
	"nodes node-1",
	"componentstatuses/etcd-0",
	"cs --sort-by .metadata.name",
	"configmaps/nothing --ignore-not-found",
	"configmaps/long configmaps/nothing --ignore-not-found",
	"configmaps/long configmaps/settings",
	"configmaps long settings",
	"configmaps/long secrets/login",
	"configmaps -l kept=long",
	"configmaps --field-selector metadata.name=long",
	"configmaps -l none=none",
	"configmaps,services",
	"configmaps --sort-by .metadata.managedFields[0].manager",
	"odds,samples -A",
}

// kubectlCases are compared in addition to the lists of all types.
var kubectlCases = []struct{ format, args string }{
	{"table", "all -A"},
	{"table", "all"},
	{"table", "configmaps,pods,replicationcontrollers,deployments"},
	{"table", "nodes,configmaps,regions -A"},
	{"table", "nodes,configmaps,regions -A --no-headers"},
	{"table", "configmaps/settings deployments/web"},
	{"table", "pods --no-headers"},
	{"table", "pods -L app -L tier,example.com/tier"},
	{"wide", "odds,samples -A"},
	{"table", "releases.v1beta1.example.com -A"},
	{"table", "clusterroles --sort-by .metadata.uid"},
	{"table", "clusterroles --sort-by {.metadata.creationTimestamp}"},
	{"table", "persistentvolumes,services -l none=none"},
	{"wide", "services -A --sort-by spec.clusterIP"},
	{"json", "configmaps long settings --sort-by .metadata.creationTimestamp"},
	{"name", "clusterroles --sort-by metadata.uid"},
	{"jsonpath={.items[*].metadata.name}", "clusterroles --sort-by metadata.creationTimestamp"},
	{`jsonpath={range .items[*]}{.metadata.name}{"\t"}{.spec}{"\n"}{end}`, "odds,samples -A"},
	{"jsonpath={.data}", "configmaps/settings"},
	{"jsonpath={.items[*].kind}", "configmaps/settings secrets/login"},
	{"jsonpath-as-json={.items[*]['metadata.name','spec']}", "odds"},
	{"jsonpath-as-json={.items[*].metadata}", "pods -A"},
	{"go-template={{range .items}}{{.metadata.name}} {{.spec}} {{.status}}{{\"\\n\"}}{{end}}", "samples,odds,pods -A"},
	{"go-template={{.metadata.name}}: {{index .data \"file.conf\"}}", "configmaps settings"},
	{"go-template={{len .items}}", "configmaps -l none=none"},
	{"custom-columns=A:.metadata.name,B:.spec.value,C:spec,D:{.spec.number}", "odds"},
	{"custom-columns=A:.metadata.name", "odds --no-headers"},
	{"custom-columns=A:.metadata.name", "configmaps -l none=none"},
	{"table", "pods --show-kind"},
	{"wide", "services -A --show-kind --show-labels"},
	{"table", "odds,samples --show-kind"},
	{"table", "nodes --show-kind --no-headers"},
	{"jsonpath={.items[*].metadata.name}", "pods -A --allow-missing-template-keys=false"},
	{"jsonpath={.data.nothing}", "configmaps settings --allow-missing-template-keys"},
	{"go-template={{.metadata.name}}{{.nothing}}", "configmaps settings --allow-missing-template-keys=true"},
	{"go-template={{.metadata.name}}", "configmaps settings --allow-missing-template-keys=false"},
	{"jsonpath={.kind} {.items[*].metadata.name}", "configmaps/settings configmaps/nothing --ignore-not-found"},
	{"name", "configmaps settings nothing --ignore-not-found"},
	{"json", "configmaps/nothing --ignore-not-found"},
	{"table", "configmaps/nothing --ignore-not-found"},
	{"table", "configmaps -l none=none --ignore-not-found"},
	{"json", "configmaps -l none=none --ignore-not-found"},
	{"kyaml", "configmaps -l none=none"},
	{"kyaml", "clusterroles --sort-by metadata.uid"},
	{"custom-columns=A:,NAME:metadata.name,C:.spec.containers[*].image", "pods -A"},
}
