package mapper

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestFixed checks that a fixed mapper resolves all names of the resources that another mapper described, and no others.
func TestFixed(t *testing.T) {
	resources := []metav1.APIResource{
		{Name: "configmaps", Version: "v1", Kind: "ConfigMap", Namespaced: true, SingularName: "configmap", ShortNames: []string{"cm"}},
		{Name: "deployments", Group: "apps", Version: "v1", Kind: "Deployment", Namespaced: true, SingularName: "deployment", ShortNames: []string{"deploy"}, Categories: []string{"all"}},
	}
	first := NewFixed(resources)
	var described []metav1.APIResource
	for _, r := range []schema.GroupVersionResource{{Version: "v1", Resource: "configmaps"}, {Group: "apps", Version: "v1", Resource: "deployments"}} {
		described = append(described, first.APIResource(r))
	}
	m := NewFixed(described)
	for name, want := range map[string]string{
		"cm": "configmaps", "configmap": "configmaps", "ConfigMap": "configmaps", "deploy": "deployments", "deployments.apps": "deployments",
		"deployments.v1.apps": "deployments", "all": "deployments",
	} {
		answer, err := m.Resolve(t.Context(), name)
		if err != nil || len(answer.Mappings) != 1 || answer.Mappings[0].Resource.Resource != want {
			t.Errorf("%s: got %v, %v, want %s", name, answer.Mappings, err, want)
		}
	}
	if answer, err := m.Resolve(t.Context(), AllResources); err != nil || len(answer.Mappings) != 2 || !answer.Multiple {
		t.Errorf("%s: got %v, %v, want both resources", AllResources, answer.Mappings, err)
	}
	if _, err := m.Resolve(t.Context(), "pods"); !IsUnknown(err) {
		t.Errorf("pods: got error %v, want an UnknownError", err)
	}
	if m.Invalidate(); m.ShortName(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}) != "cm" {
		t.Error("configmaps has no short name after Invalidate, want cm")
	}
}

// TestShortNameDoesNotChangeInput checks that ShortName does not append to the slice of the APIResource, because it is
// called concurrently.
func TestShortNameDoesNotChangeInput(t *testing.T) {
	names := append(make([]string, 0, 4), "cm")
	m := NewFixed([]metav1.APIResource{{Name: "configmaps", Version: "v1", Kind: "ConfigMap", Namespaced: true, SingularName: "configmap", ShortNames: names}})
	if got := m.ShortName(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}); got != "cm" {
		t.Errorf("got %q, want cm", got)
	}
	if next := names[:2][1]; next != "" {
		t.Errorf("ShortName wrote %q after the short names", next)
	}
}
