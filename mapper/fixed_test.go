package mapper

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestKnown: what one mapper describes another one finds by all its names, and nothing else.
func TestKnown(t *testing.T) {
	said := []metav1.APIResource{
		{Name: "configmaps", Version: "v1", Kind: "ConfigMap", Namespaced: true, SingularName: "configmap", ShortNames: []string{"cm"}},
		{Name: "deployments", Group: "apps", Version: "v1", Kind: "Deployment", Namespaced: true, SingularName: "deployment", ShortNames: []string{"deploy"}, Categories: []string{"all"}},
	}
	first := NewFixed(said)
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
			t.Errorf("%s: %v %v", name, answer.Mappings, err)
		}
	}
	if answer, err := m.Resolve(t.Context(), AllResources); err != nil || len(answer.Mappings) != 2 || !answer.Multiple {
		t.Errorf("%v %v", answer.Mappings, err)
	}
	if _, err := m.Resolve(t.Context(), "pods"); !IsUnknown(err) {
		t.Error(err)
	}
	if m.Invalidate(); m.ShortName(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}) != "cm" {
		t.Error("it has no short name")
	}
}

// TestShortNameAlters: names are asked for by several at once, and nothing of what the server said is written.
func TestShortNameAlters(t *testing.T) {
	names := append(make([]string, 0, 4), "cm")
	m := NewFixed([]metav1.APIResource{{Name: "configmaps", Version: "v1", Kind: "ConfigMap", Namespaced: true, SingularName: "configmap", ShortNames: names}})
	if got := m.ShortName(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}); got != "cm" {
		t.Error(got)
	}
	if behind := names[:2][1]; behind != "" {
		t.Errorf("%q was written behind the names", behind)
	}
}
