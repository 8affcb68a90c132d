package mapper

import (
	"context"
	"slices"
	"testing"
)

func TestEverything(t *testing.T) {
	m, count := fresh(t)
	all := resolve(t, m, Everything)
	watchable, err := m.Watchable(t.Context())
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
	if others := m.Alternatives(t.Context(), Everything); others != nil {
		t.Error(text(others))
	}
	wantRequests(t, count, 2)
}

func TestIsSet(t *testing.T) {
	m, _ := fresh(t)
	if !m.IsSet(context.Background(), Everything) {
		t.Error("everything is no set")
	}
	for name, want := range map[string]bool{"all": true, "pods": false, "deployments.v1.apps": false} {
		resolve(t, m, name)
		if got := m.IsSet(t.Context(), name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
