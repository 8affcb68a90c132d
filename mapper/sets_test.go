package mapper

import (
	"slices"
	"testing"
)

func TestEverything(t *testing.T) {
	m, count := fresh(t)
	found := answer(t, m, AllResources)
	all := text(found.Mappings)
	watchable, err := m.WatchableResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Each once, and the events of one group instead of two.
	if len(all) != len(watchable)-1 {
		t.Errorf("%d resources of %d", len(all), len(watchable))
	}
	for name, want := range map[string]bool{
		"v1/pods Pod": true, "v1/nodes Node": true, "v1/events Event": true, "apps/v1/deployments Deployment": true,
		"events.k8s.io/v1/events Event": false, "v1/bindings Binding": false,
		"autoscaling/v2/horizontalpodautoscalers HorizontalPodAutoscaler": true,
		"autoscaling/v1/horizontalpodautoscalers HorizontalPodAutoscaler": false,
	} {
		if got := slices.Contains(all, name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if found.Alternatives != nil {
		t.Error(text(found.Alternatives))
	}
	wantRequests(t, count, 2)
}

func TestSet(t *testing.T) {
	m, _ := fresh(t)
	for name, want := range map[string]bool{AllResources: true, "all": true, "*.apps": true, "pods": false, "deployments.v1.apps": false} {
		if got := answer(t, m, name).Multiple; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestGroup: a group is all that is in it, and in those below it, each resource once.
func TestGroup(t *testing.T) {
	s := played()
	for name, want := range map[string][]string{
		"*.stable":      {"long.stable/v1/crontabs CronTab", "long.stable/v1/zugvoegel Bird", "stable/v1/crontabs CronTab", "stable/v1/deployments Deployment", "stable/v1/podlists PodList"},
		"*.long.stable": {"long.stable/v1/crontabs CronTab", "long.stable/v1/zugvoegel Bird"},
		"*.example.com": {"legacy.example.com/v1/gadgets Gadget"},
		"*.table":       nil,
		"*.":            nil,
	} {
		got := text(s.answer(name).Mappings)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
