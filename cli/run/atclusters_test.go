package run

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/plan"
	"dwatch/watcher"
	"dwatch/watcher/event"
)

// TestAnswered checks that a cluster with an unreadable object counts as one that has answered, so that its other objects are shown.
func TestAnswered(t *testing.T) {
	unreadable := &watcher.UnreadableError{Names: []string{"default/bad"}}
	for name, test := range map[string]struct {
		errs []error
		want bool
	}{
		"one answered":            {[]error{errors.New("down"), nil}, true},
		"one object is invalid":   {[]error{errors.New("down"), unreadable}, true},
		"all have invalid":        {[]error{unreadable, unreadable}, true},
		"one failed for the rest": {[]error{errors.Join(unreadable, errors.New("down"))}, false},
		"none answered":           {[]error{errors.New("down")}, false},
	} {
		var all []ClusterResult[int]
		for _, err := range test.errs {
			all = append(all, ClusterResult[int]{Err: err})
		}
		if got := TolerateMissingResource(nil, all); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

// TestSameCluster checks that two contexts for one cluster are reported only if they may watch the same objects.
func TestSameCluster(t *testing.T) {
	pods := event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod", true)
	nodes := event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, "Node", false)
	in := func(namespace string, targets ...event.Target) *Session {
		return &Session{Request: plan.Request{DefaultNamespace: namespace}, Plan: &plan.Plan{Targets: targets}}
	}
	a, b := in("a", event.Target{Mapping: pods, Namespace: "a"}), in("b", event.Target{Mapping: pods, Namespace: "b"})
	everywhere := func(target event.Target) *Session {
		return &Session{Request: plan.Request{AllNamespaces: true}, Plan: &plan.Plan{Targets: []event.Target{target}}}
	}
	patterns := &Session{Request: plan.Request{NamespacePatterns: []string{"team-*"}}, Plan: &plan.Plan{}}
	for name, test := range map[string]struct {
		first, second *Session
		want          bool
	}{
		"the same namespace":                {a, a, true},
		"the same namespace, no target yet": {in("a"), in("a"), true},
		"different namespaces":              {a, b, false},
		"different namespaces and nodes":    {in("a", event.Target{Mapping: nodes}), in("b", event.Target{Mapping: nodes}), true},
		"all namespaces":                    {everywhere(event.Target{Mapping: pods}), everywhere(event.Target{Mapping: pods}), true},
		"one of all namespaces":             {a, in("b", event.Target{Mapping: pods}), true},
		"namespaces by pattern":             {patterns, patterns, true},
		"different objects of one name":     {in("a", event.Target{Mapping: pods, Name: "x"}), in("b", event.Target{Mapping: pods, Name: "y"}), false},
	} {
		var known ClusterUIDs
		if other := known.add("one", "uid", newWatchScope(test.first)); other != "" {
			t.Errorf("%s: the first context is the same cluster as %q", name, other)
		}
		want := ""
		if test.want {
			want = "one"
		}
		if got := known.add("two", "uid", newWatchScope(test.second)); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if got := known.add("three", "another uid", newWatchScope(test.second)); got != "" {
			t.Errorf("%s: another cluster is the same as %q", name, got)
		}
	}
	var known ClusterUIDs
	known.add("a", "uid", newWatchScope(a))
	known.add("b", "uid", newWatchScope(b))
	if got := known.add("b again", "uid", newWatchScope(b)); got != "b" {
		t.Errorf("the third context is the same as %q, want b", got)
	}
	known.remove("b")
	if got := known.add("b again", "uid", newWatchScope(b)); got != "" {
		t.Errorf("the context is the same as %q, which was removed", got)
	}
}
