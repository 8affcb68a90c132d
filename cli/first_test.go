package cli

import (
	"strings"
	"testing"
)

// TestFirstSteps checks that the namespace of a deployment is named if it is not the current one, and that only names of
// the cluster appear.
func TestFirstSteps(t *testing.T) {
	steps := firstSteps{display: "dwatch", place: "Here.", deployment: "coredns", elsewhere: " -n kube-system"}
	got := steps.text()
	for _, want := range []string{
		"\n  dwatch deploy/coredns -n kube-system               changes of one object\n",
		"\n  dwatch events --for deploy/coredns -n kube-system  Events about it\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwithout %q", got, want)
		}
	}
	if strings.Contains(got, "custom") {
		t.Errorf("got a custom resource, although the cluster has none:\n%s", got)
	}
}
