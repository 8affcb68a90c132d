package mapper

import (
	"slices"
	"testing"
)

func TestAllResources(t *testing.T) {
	m, count := newCountingMapper(t)
	found := answer(t, m, AllResources)
	all := text(found.Mappings)
	watchable, err := m.Resources(t.Context(), Watch)
	if err != nil {
		t.Fatal(err)
	}
	// Events are in two groups and included only once.
	if len(all) != len(watchable)-1 {
		t.Errorf("got %d of %d resources, want all except events.events.k8s.io", len(all), len(watchable))
	}
	for name, want := range map[string]bool{
		"v1/pods Pod": true, "v1/nodes Node": true, "v1/events Event": true, "apps/v1/deployments Deployment": true,
		"events.k8s.io/v1/events Event": false, "v1/bindings Binding": false,
		"autoscaling/v2/horizontalpodautoscalers HorizontalPodAutoscaler": true,
		"autoscaling/v1/horizontalpodautoscalers HorizontalPodAutoscaler": false,
	} {
		if got := slices.Contains(all, name); got != want {
			t.Errorf("%s: included is %v, want %v", name, got, want)
		}
	}
	if found.Alternatives != nil {
		t.Errorf("got alternatives %v, want none", text(found.Alternatives))
	}
	wantRequests(t, count, 2)
}

func TestMultiple(t *testing.T) {
	m, _ := newCountingMapper(t)
	for name, want := range map[string]bool{AllResources: true, "all": true, "*.apps": true, "pods": false, "deployments.v1.apps": false} {
		if got := answer(t, m, name).Multiple; got != want {
			t.Errorf("%s: Multiple is %v, want %v", name, got, want)
		}
	}
}

// TestGroup checks that *.GROUP refers to each resource of the group and its subgroups once.
func TestGroup(t *testing.T) {
	s := sampleSnapshot()
	for name, want := range map[string][]string{
		"*.stable":      {"long.stable/v1/crontabs CronTab", "long.stable/v1/zugvoegel Bird", "stable/v1/crontabs CronTab", "stable/v1/deployments Deployment", "stable/v1/podlists PodList"},
		"*.long.stable": {"long.stable/v1/crontabs CronTab", "long.stable/v1/zugvoegel Bird"},
		"*.example.com": {"legacy.example.com/v1/gadgets Gadget"},
		"*.table":       nil,
		"*.":            nil,
	} {
		got := text(s.resolve(name, Watch).Mappings)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
