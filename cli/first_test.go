package cli

import (
	"strings"
	"testing"
)

// TestFirstSteps: a deployment of another namespace is named with it, and nothing is named
// that the cluster does not have.
func TestFirstSteps(t *testing.T) {
	steps := firstSteps{display: "dwatch", place: "Here.", deployment: "coredns", elsewhere: " -n kube-system"}
	got := steps.text()
	for _, want := range []string{
		"\n  dwatch deploy/coredns -n kube-system               of one object\n",
		"\n  dwatch events --for deploy/coredns -n kube-system  what Kubernetes says",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "custom") {
		t.Errorf("a custom resource of none:\n%s", got)
	}
}
