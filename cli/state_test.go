package cli

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

func mappingOf(resource string, scope meta.RESTScope) *meta.RESTMapping {
	gvr, _ := schema.ParseResourceArg(resource)
	return &meta.RESTMapping{Resource: *gvr, Scope: scope}
}

// TestStateArguments: what decides which objects are told is written the same,
// however it was said.
func TestStateArguments(t *testing.T) {
	deployments := mappingOf("deployments.v1.apps", meta.RESTScopeNamespace)
	nodes := mappingOf("nodes.v1.", meta.RESTScopeRoot)
	in := func(namespaces ...string) (targets []event.Target) {
		for _, n := range namespaces {
			targets = append(targets, event.Target{Mapping: deployments, Namespace: n})
		}
		return targets
	}
	for _, test := range []struct {
		asked            []string
		targets          []event.Target
		selector, fields string
		want             string
	}{
		{[]string{"deployments.apps"}, in("b"), "", "", "deployments.apps in namespace b"},
		{[]string{"pods/web", "deployments.apps", "pods/web"}, in("b", "a", "b"), "", "", "deployments.apps, pods/web in namespaces a, b"},
		{[]string{"deployments.apps"}, in(""), "b==2,a in (2,1)", "x==y", "deployments.apps in all namespaces, with labels a in (1,2),b=2, with fields x=y"},
		{[]string{"nodes"}, []event.Target{{Mapping: nodes}}, "", "", "nodes"},
	} {
		j := &job{request: &request{selector: test.selector, fieldSelector: test.fields}}
		if got := j.told(&plan{asked: test.asked, targets: test.targets}); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
