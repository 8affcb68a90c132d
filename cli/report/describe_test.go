package report

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

func targetOf(resource string, namespaced bool, namespace, name string) event.Target {
	r := schema.ParseGroupResource(resource).WithVersion("v1")
	return event.Target{Mapping: event.NewMapping(r, "", namespaced), Namespace: namespace, Name: name}
}

func TestDescribe(t *testing.T) {
	in := func(namespace string, resources ...string) (targets []event.Target) {
		for _, r := range resources {
			targets = append(targets, targetOf(r, true, namespace, ""))
		}
		return targets
	}
	cluster := func(resources ...string) (targets []event.Target) {
		for _, r := range resources {
			targets = append(targets, targetOf(r, false, "", ""))
		}
		return targets
	}
	all := func(lists ...[]event.Target) (targets []event.Target) {
		for _, l := range lists {
			targets = append(targets, l...)
		}
		return targets
	}
	var many []string
	for i := range maxListed + 1 {
		many = append(many, fmt.Sprintf("r%d", i))
	}
	named := func(targets []event.Target, name string) []event.Target {
		for i := range targets {
			targets[i].Name = name
		}
		return targets
	}
	for _, test := range []struct {
		targets []event.Target
		want    string
	}{
		{nil, ""},
		{in("a", "pods"), "pods in namespace a"},
		{in("", "pods"), "pods in all namespaces"},
		{cluster("nodes"), "nodes"},
		{named(in("a", "deployments.apps"), "web"), "deployments.apps/web in namespace a"},
		{named(cluster("clusterroles"), "a b in c"), "clusterroles/a b in c"},
		{in("a", "pods", "deployments.apps"), "pods, deployments.apps in namespace a"},
		{all(in("a", "pods"), cluster("nodes"), in("a", "services")), "pods, services in namespace a; nodes"},
		{all(in("a", "pods"), in("b", "pods"), in("c", "pods")), "pods in namespaces a, b, c"},
		{all(in("a", "pods"), in("b", "pods"), in("a", "services"), in("b", "services")), "pods, services in namespaces a, b"},
		{all(in("a", "pods", "services"), in("b", "pods"), in("c", "pods", "services")), "pods, services in namespaces a, c; pods in namespace b"},
		{all(in("a", "pods"), named(in("b", "pods"), "web")), "pods in namespace a; pods/web in namespace b"},
		{all(in("", "pods"), in("in namespace", "pods")), "pods in all namespaces; pods in namespace in namespace"},
		{in("a", many[1:]...), "r1, r2, r3, r4, r5, r6, r7, r8, r9, r10 in namespace a"},
		{in("a", many...), "11 resources in namespace a"},
		{all(in("a", many...), in("b", many...)), "11 resources in namespaces a, b"},
		{all(in("a", "p"), in("b", "p"), in("c", "p"), in("d", "p"), in("e", "p"), in("f", "p"), in("g", "p"), in("h", "p"), in("i", "p"), in("j", "p"), in("k", "p"), in("l", "p")), "p in namespaces a, b, c, d, e, f, g, h, i, j and 2 others"},
		{in("", many...), "11 resources in all namespaces"},
		{cluster(many...), "11 cluster-scoped resources"},
		{named(in("a", many...), "web"), `11 resources named "web" in namespace a`},
		{all(named(in("a", many...), "web"), named(in("a", "pods"), "db")), "12 resources in namespace a"},
	} {
		if got := DescribeTargets(test.targets); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestDescribeOne(t *testing.T) {
	for _, test := range []struct {
		target event.Target
		want   string
	}{
		{targetOf("nodes", false, "", ""), "nodes"},
		{targetOf("nodes", false, "", "a"), "nodes/a"},
		{targetOf("pods", true, "", ""), "pods in all namespaces"},
		{targetOf("deployments.apps", true, "default", "web"), "deployments.apps/web in namespace default"},
	} {
		if got := describe(test.target); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}
