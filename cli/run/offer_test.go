package run

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// TestWithhold: what hides less than is hidden now, or has more than is shown now, is withheld.
func TestWithhold(t *testing.T) {
	of := func(name string) event.SelectedResource { return event.SelectedResource{Resource: name} }
	now := recording.RunInfo{
		Masks:     `secrets=true data["a b"] spec.x`,
		Selection: event.Selection{Resources: []event.SelectedResource{of("pods"), {Resource: "secrets", Name: "one"}}, Namespaces: []string{"a", "b"}, Exclude: []string{"events"}},
	}
	var r exposedClusters
	withhold := func(cluster string, of recording.RunInfo) string {
		return r.withhold(cluster, recording.Segment{RunInfo: &of})
	}
	if why := withhold("", now); why != "this run has not begun to record the cluster" {
		t.Errorf("before it has begun: %q", why)
	}
	r.of("").begin(now)
	for name, change := range map[string]func(*recording.RunInfo){
		"":                 func(*recording.RunInfo) {},
		"more hidden":      func(a *recording.RunInfo) { a.Masks += " spec.y" },
		"fewer resources":  func(a *recording.RunInfo) { a.Selection.Resources = a.Selection.Resources[:1] },
		"fewer namespaces": func(a *recording.RunInfo) { a.Selection.Namespaces = []string{"b"} },
		"a named object": func(a *recording.RunInfo) {
			a.Selection.Resources = []event.SelectedResource{{Resource: "pods", Name: "x"}}
		},
		"hides less: Secrets":                 func(a *recording.RunInfo) { a.Masks = `secrets=false data["a b"] spec.x` },
		"hides less: a path":                  func(a *recording.RunInfo) { a.Masks = `secrets=true spec.x` },
		"hides less: parts of a path":         func(a *recording.RunInfo) { a.Masks = `secrets=true data["a b"] data["a x" spec.x"]` },
		"hides less: nothing":                 func(a *recording.RunInfo) { a.Masks = "" },
		"more shown: another resource":        func(a *recording.RunInfo) { a.Selection.Resources = []event.SelectedResource{of("cm")} },
		"more shown: all objects":             func(a *recording.RunInfo) { a.Selection.Resources = []event.SelectedResource{of("secrets")} },
		"more shown: namespaces":              func(a *recording.RunInfo) { a.Selection.Namespaces = []string{"a", "c"} },
		"more shown: all namespaces":          func(a *recording.RunInfo) { a.Selection.AllNamespaces = true },
		"more shown: what is excluded now":    func(a *recording.RunInfo) { a.Selection.Exclude = nil },
		"more shown: without a selector":      func(a *recording.RunInfo) { a.Selection.Labels = "x=y" },
		"more shown: everything":              func(a *recording.RunInfo) { a.Selection.Resources = []event.SelectedResource{of("*")} },
		"more shown: namespaces by a pattern": func(a *recording.RunInfo) { a.Selection.NamespaceLabels = "x=y" },
	} {
		was := now
		was.Selection.Resources = slices.Clone(now.Selection.Resources)
		change(&was)
		want := map[bool]string{true: "it hides less than is hidden now"}[strings.HasPrefix(name, "hides less")]
		if strings.HasPrefix(name, "more shown") {
			want = "it has more than is shown now"
		}
		if why := withhold("", was); why != want {
			t.Errorf("%s: %q", name, why)
		}
	}
	all := recording.RunInfo{Masks: "secrets=false", Selection: event.Selection{Resources: []event.SelectedResource{of("*")}, AllNamespaces: true}}
	r.of("eu").begin(all)
	if why := withhold("eu", recording.RunInfo{Masks: "secrets=false", Selection: now.Selection}); why != "" {
		t.Errorf("nothing is hidden, and all is shown: %q", why)
	}
	if why := withhold("us", now); why == "" {
		t.Error("another cluster")
	}
}

// TestWithholdUnseen: what a name such as '*' stood for in an earlier run, and this one is not given, is withheld.
func TestWithholdUnseen(t *testing.T) {
	target := func(resource, namespace, name string) event.Target {
		gvr := schema.GroupVersionResource{Version: "v1", Resource: resource}
		return event.Target{Mapping: event.NewMapping(gvr, resource, true), Namespace: namespace, Name: name, Cluster: "eu"}
	}
	about := recording.RunInfo{Selection: event.Selection{Resources: []event.SelectedResource{{Resource: "*"}}, AllNamespaces: true}}
	var r exposedClusters
	now := r.of("eu")
	now.begin(about)
	for _, seen := range []event.Target{target("pods", "", ""), target("configmaps", "a", ""), target("services", "a", "one")} {
		now.observe(event.Event{Type: event.Synced, Target: seen})
	}
	now.observe(event.Event{Type: event.Denied, Target: target("secrets", "", "")})
	for name, test := range map[string]struct {
		held event.Target
		want string
	}{
		"all":                          {target("pods", "", ""), ""},
		"one of all":                   {target("pods", "b", "x"), ""},
		"of a namespace":               {target("configmaps", "a", ""), ""},
		"of another namespace":         {target("configmaps", "b", ""), "it has configmaps, which this run has not been given"},
		"of all namespaces":            {target("configmaps", "", ""), "it has configmaps, which this run has not been given"},
		"an object":                    {target("services", "a", "one"), ""},
		"others than an object":        {target("services", "a", ""), "it has services, which this run has not been given"},
		"what is denied":               {target("secrets", "", ""), "it has secrets, which this run has not been given"},
		"what this run does not watch": {target("roles", "", ""), "it has roles, which this run has not been given"},
	} {
		held := test.held.Key()
		held.Cluster = ""
		if why := r.withhold("eu", recording.Segment{RunInfo: &about, Targets: []event.Key{held}}); why != test.want {
			t.Errorf("%s: %q", name, why)
		}
	}
}
