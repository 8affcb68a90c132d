package change

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// informative names the changes during a rollout that interest people. All others are noise.
var informative = mustParse(
	"spec.template", "spec.replicas", "spec.nodeName",
	"metadata.deletionTimestamp", "metadata.deletionGracePeriodSeconds",
	"status.phase", "status.hostIP", "status.podIP", "status.containerStatuses",
	"status.conditions[*].status", "status.conditions[*].reason", "status.conditions[*].message",
	"status.replicas", "status.readyReplicas", "status.availableReplicas", "status.unavailableReplicas", "status.updatedReplicas",
	"status.currentReplicas", "status.terminatingReplicas",
	"status.currentRevision", "status.updateRevision", "status.collisionCount",
	"status.currentNumberScheduled", "status.desiredNumberScheduled", "status.updatedNumberScheduled",
	"status.numberAvailable", "status.numberReady", "status.numberUnavailable",
	"status.active", "status.ready", "status.succeeded", "status.terminating", "status.completionTime",
)

// expectedNoise is noise that these rollouts certainly cause.
var expectedNoise = mustParse(
	"metadata.resourceVersion", "metadata.generation", "metadata.managedFields", "status.observedGeneration",
	"metadata.annotations[deployment.kubernetes.io/revision]", "metadata.annotations[deprecated.daemonset.template.generation]",
	"metadata.finalizers[=batch.kubernetes.io/job-tracking]", "status.uncountedTerminatedPods", "status.conditions[*].lastTransitionTime",
	"status.fullyLabeledReplicas", "status.hostIPs", "status.podIPs", "status.startTime",
)

// TestRollouts checks that DefaultNoise hides exactly the noise in the writes of controllers while workloads of each
// kind roll out.
func TestRollouts(t *testing.T) {
	c := start(t, "--controllers")
	admin := client(t, c, "admin")
	r := record(t, admin, deployments, replicaSets, statefulSets, daemonSets, jobs, pods)
	if _, err := c.Run("apply", "testdata/rollout.yaml"); err != nil {
		t.Fatal(err)
	}
	for version := 1; version <= 2; version++ {
		if version > 1 {
			setImages(t, writer{t.Context(), admin, "admin"}, version)
		}
		r.await(t, "the rollouts of version "+fmt.Sprint(version), func(last objects) bool { return isRolledOut(last, version) })
	}
	counts := map[string]int{}
	noise := 0
	for _, c := range r.all() {
		result := diffObjects(c.old.Object, c.new.Object, Options{Noise: DefaultNoise()})
		noise += result.NoiseCount
		for _, d := range result.Changes {
			checkInformative(t, c, d)
		}
		for _, d := range diffObjects(c.old.Object, c.new.Object, Options{Only: expectedNoise}).Changes {
			for _, p := range expectedNoise {
				if p.Match(d.Path) {
					counts[p.String()]++
				}
			}
		}
	}
	for _, p := range expectedNoise {
		if counts[p.String()] == 0 {
			t.Errorf("%s never changed", p)
		}
	}
	t.Logf("%d events with %d noise changes", len(r.all()), noise)
	for _, p := range slices.Sorted(maps.Keys(counts)) {
		t.Logf("%4d %s", counts[p], p)
	}
}

// checkInformative fails the test if a change is noise. A change of a whole map or list is informative if a part of it is.
func checkInformative(t *testing.T, c change, d Change) {
	t.Helper()
	parts := 0
	for _, p := range informative {
		if depth, below := follow(p.steps, d.Path); depth > 0 || below {
			parts++
		}
	}
	if parts == 0 {
		t.Errorf("%s %s: %s %s: %s -> %s", c.resource.Resource, c.new.GetName(), d.Kind, d.Path, text(d.Old), text(d.New))
	}
}

func setImages(t *testing.T, w writer, version int) {
	t.Helper()
	for name, resource := range workloads {
		name = name[len(resource.Resource+"/rollout/"):]
		_, err := w.client.Resource(resource).Namespace("rollout").Patch(w.ctx, name, types.StrategicMergePatchType,
			fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":%q,"image":"%s:%d"}]}}}}`, name, name, version), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
}

var workloads = map[string]schema.GroupVersionResource{
	"deployments/rollout/web":  deployments,
	"statefulsets/rollout/db":  statefulSets,
	"daemonsets/rollout/agent": daemonSets,
}

// isRolledOut reports whether all workloads have the version and are ready, and the Job is complete.
func isRolledOut(last objects, version int) bool {
	for name := range workloads {
		w := last[name]
		if w == nil {
			return false
		}
		containers, _, _ := unstructured.NestedSlice(w.Object, "spec", "template", "spec", "containers")
		image := containers[0].(map[string]any)["image"].(string)
		status, _, _ := unstructured.NestedMap(w.Object, "status")
		ready := status["updatedReplicas"] == int64(2) && status["availableReplicas"] == int64(2) && status["replicas"] == int64(2) ||
			status["updatedNumberScheduled"] == int64(2) && status["numberAvailable"] == int64(2)
		if image[len(image)-1] != byte('0'+version) || status["observedGeneration"] != w.GetGeneration() || !ready {
			return false
		}
	}
	job := last["jobs/rollout/once"]
	if job == nil {
		return false
	}
	done, _, _ := unstructured.NestedString(job.Object, "status", "completionTime")
	return done != ""
}
