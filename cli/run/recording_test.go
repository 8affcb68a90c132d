package run

import (
	"strings"
	"testing"

	"dwatch/watcher/event"
	"dwatch/watcher/recording"
)

// TestCheckSameRecording: a directory takes only the same cluster with the same selection. Without the UID of the cluster,
// its address and certificates identify it.
func TestCheckSameRecording(t *testing.T) {
	of := func(cluster, endpoint string) recording.RunInfo {
		return recording.RunInfo{Server: "prod:6443", ClusterUID: cluster, EndpointID: endpoint}
	}
	labelled := of("1", "a")
	labelled.Selection = event.Selection{Labels: "app=x"}
	for name, test := range map[string]struct {
		known, about recording.RunInfo
		want         string
	}{
		"the same":                                  {of("1", "a"), of("1", "b"), ""},
		"another":                                   {of("1", "a"), of("2", "a"), "it contains objects of another cluster, prod:6443: use another directory"},
		"by an account that may not see it":         {of("1", "a"), of("", "a"), ""},
		"and by one that may, after that":           {of("", "a"), of("1", "a"), ""},
		"elsewhere, by one that may not":            {of("1", "a"), of("", "b"), "cannot tell whether that is this cluster"},
		"elsewhere, by one that may not, twice":     {of("", "a"), of("", "b"), "dwatch rbac record"},
		"without certificates, by one that may not": {of("", ""), of("", ""), "cannot tell"},
		"other objects":                             {of("1", "a"), labelled, "it contains all objects, and this run would record objects with labels app=x"},
	} {
		err := checkSameRecording(test.known, test.about)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}
