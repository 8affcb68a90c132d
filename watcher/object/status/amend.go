package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/reason"
)

// amend returns the state that an object has by the result of kstatus, but for this:
//
//   - a workload whose controller has not seen it yet is not done, even if it wants no
//     replicas;
//   - a paused Deployment is Current once all its pods are of its template, as kubectl
//     rollout status has it;
//   - a Job is Current when it is complete, and not as soon as it runs;
//   - a Pod that failed is Failed;
//   - a HorizontalPodAutoscaler that can't scale, or has no metrics, is not done;
//   - what Ready says of an older generation does not count;
//   - of a custom resource without a status nothing is known: its controller has not
//     seen it yet, or it has none.
func amend(u *unstructured.Unstructured, r *status.Result) (status.Status, string) {
	current := r.Status == status.CurrentStatus
	switch kind := u.GroupVersionKind().GroupKind(); {
	case r.Status == status.TerminatingStatus, isUnobserved(u):
	case kind == schema.GroupKind{Kind: "Pod"}:
		if current && status.GetStringField(u.Object, ".status.phase", "") == string(corev1.PodFailed) {
			return status.FailedStatus, "the pod failed"
		}
	case kind == schema.GroupKind{Group: "batch", Kind: "Job"}:
		return job(u, r)
	case kind == schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return deployment(u, r)
	case current && kind == schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return autoscaler(u)
	case current && observes[kind] && !isObserved(u):
		return status.InProgressStatus, kind.Kind + " " + unobserved
	case current && isCustom(kind):
		return custom(u)
	}
	return r.Status, r.Message
}

// observes has the kinds whose controller always says which generation it has seen.
// A Deployment without that lacks conditions, too, which kstatus asks for.
var observes = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "StatefulSet"}:           true,
	{Group: "apps", Kind: "ReplicaSet"}:            true,
	{Group: "policy", Kind: "PodDisruptionBudget"}: true,
}

func isObserved(u *unstructured.Unstructured) bool {
	_, found, _ := unstructured.NestedFieldNoCopy(u.Object, "status", "observedGeneration")
	return found
}

// isUnobserved reports whether the controller has seen only an older generation.
func isUnobserved(u *unstructured.Unstructured) bool {
	observed, found, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	return found && err == nil && observed != u.GetGeneration()
}

// asObserved returns the object as if its controller had seen its generation; one of which it has seen
// none is as it is.
func asObserved(u *unstructured.Unstructured) *unstructured.Unstructured {
	ready := reason.Condition(u, "Ready")
	of, _ := ready["observedGeneration"].(int64)
	if isOld := of != 0 && of < u.GetGeneration(); !isUnobserved(u) && !isOld {
		return u
	}
	u = u.DeepCopy()
	if isUnobserved(u) {
		_ = unstructured.SetNestedField(u.Object, u.GetGeneration(), "status", "observedGeneration")
	}
	if ready := reason.Condition(u, "Ready"); ready != nil {
		delete(ready, "observedGeneration")
	}
	return u
}

// forKstatus returns the object as kstatus is to see it. Of a workload with the strategy
// OnDelete nobody rolls out a new template, so it does not wait for that: only for as
// many pods as it wants, to be ready.
func forKstatus(u *unstructured.Unstructured) *unstructured.Unstructured {
	if strategy, _, _ := unstructured.NestedString(u.Object, "spec", "updateStrategy", "type"); strategy != "OnDelete" {
		return u
	}
	path, value := []string(nil), int64(0)
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "apps", Kind: "StatefulSet"}:
		path, value = []string{"spec", "updateStrategy"}, int64(status.GetIntField(u.Object, ".spec.replicas", 1))
	case schema.GroupKind{Group: "apps", Kind: "DaemonSet"}:
		path, value = []string{"status", "updatedNumberScheduled"}, int64(status.GetIntField(u.Object, ".status.desiredNumberScheduled", 0))
	default:
		return u
	}
	u = u.DeepCopy()
	if path[0] == "spec" {
		// kstatus calls each StatefulSet with this strategy Current. None of its pods
		// has to be updated if all are below the partition.
		_ = unstructured.SetNestedMap(u.Object, map[string]any{"rollingUpdate": map[string]any{"partition": value}}, path...)
	} else if isObserved(u) {
		_ = unstructured.SetNestedField(u.Object, value, path...)
	}
	return u
}

// deployment: while it is paused its controller does not say that it is complete.
func deployment(u *unstructured.Unstructured, r *status.Result) (status.Status, string) {
	paused, _, _ := unstructured.NestedBool(u.Object, "spec", "paused")
	switch {
	case !paused || r.Status != status.InProgressStatus:
		return r.Status, r.Message
	case isObserved(u) && len(r.Conditions) == 1 && r.Conditions[0].Reason == "ReplicaSetNotAvailable" && reason.Condition(u, "Available")["status"] == "True":
		return status.CurrentStatus, ""
	}
	return r.Status, "paused; " + r.Message
}

// autoscaler: its controller always says whether it can scale.
func autoscaler(u *unstructured.Unstructured) (status.Status, string) {
	wrong := reason.Of(u).Text
	switch {
	case reason.Condition(u, "AbleToScale") == nil:
		return status.InProgressStatus, u.GetKind() + " " + unobserved
	case wrong != "":
		return status.InProgressStatus, wrong
	}
	return status.CurrentStatus, ""
}

func job(u *unstructured.Unstructured, r *status.Result) (status.Status, string) {
	switch failed := reason.Condition(u, "Failed"); {
	case r.Status == status.FailedStatus:
		return r.Status, reason.Because(failed)
	case reason.Condition(u, "Complete")["status"] == "True":
		return r.Status, r.Message
	}
	if suspended, _, _ := unstructured.NestedBool(u.Object, "spec", "suspend"); suspended {
		return status.InProgressStatus, "suspended"
	}
	if r.Status != status.CurrentStatus {
		return r.Status, r.Message
	}
	count := func(field string, missing int) int { return status.GetIntField(u.Object, field, missing) }
	message := fmt.Sprintf("%d/%d pods succeeded", count(".status.succeeded", 0), count(".spec.completions", count(".spec.parallelism", 1)))
	if failed := count(".status.failed", 0); failed > 0 {
		message += fmt.Sprintf(", %d failed", failed)
	}
	return status.InProgressStatus, message
}

// isCustom reports whether a kind is of a group that can't be one of Kubernetes itself.
func isCustom(kind schema.GroupKind) bool {
	return strings.Contains(kind.Group, ".") && !strings.HasSuffix(kind.Group, ".k8s.io")
}

// custom looks again at what kstatus calls Current for its condition Ready, or because it has
// nothing that says otherwise.
func custom(u *unstructured.Unstructured) (status.Status, string) {
	ready := reason.Condition(u, "Ready")
	of, _ := ready["observedGeneration"].(int64)
	if ready["status"] == "True" && of != 0 && of < u.GetGeneration() {
		return status.InProgressStatus, fmt.Sprintf("%s generation is %d, but condition Ready is of %d", u.GetKind(), u.GetGeneration(), of)
	}
	if about, _ := u.Object["status"].(map[string]any); len(about) == 0 {
		return status.UnknownStatus, ""
	}
	return status.CurrentStatus, ""
}
