package status

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/reason"
)

// builtinGroups are the API groups of Kubernetes itself.
var builtinGroups = map[string]bool{
	"": true, "apps": true, "autoscaling": true, "batch": true, "extensions": true, "policy": true,
	"admissionregistration.k8s.io": true, "apiextensions.k8s.io": true, "apiregistration.k8s.io": true,
	"authentication.k8s.io": true, "authorization.k8s.io": true, "certificates.k8s.io": true, "coordination.k8s.io": true,
	"discovery.k8s.io": true, "events.k8s.io": true, "flowcontrol.apiserver.k8s.io": true, "internal.apiserver.k8s.io": true,
	"metrics.k8s.io": true, "networking.k8s.io": true, "node.k8s.io": true, "rbac.authorization.k8s.io": true,
	"resource.k8s.io": true, "scheduling.k8s.io": true, "storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// isBuiltin reports whether a group is one of Kubernetes itself. Groups such as gateway.networking.k8s.io are not.
func isBuiltin(group string) bool { return builtinGroups[group] }

// builtin returns the state of a built-in kind that is not being deleted. It corrects kstatus:
//
//   - A workload whose controller has not observed it yet is in progress, even if it wants no replicas.
//   - A paused Deployment is Current if all its pods are up to date, as in kubectl rollout status.
//   - A Job is Current if it is complete, and not as soon as it runs.
//   - A Pod in phase Failed has failed.
//   - A HorizontalPodAutoscaler that cannot scale, or has no metrics, is in progress.
//   - Some kinds that kstatus does not know have a state: see checks.
func builtin(u *unstructured.Unstructured) (status.Status, string) {
	r := compute(u)
	if r == nil {
		return status.UnknownStatus, ""
	}
	current := r.Status == status.CurrentStatus
	kind := u.GroupVersionKind().GroupKind()
	switch check := checks[kind]; {
	case isUnobserved(u):
	case kind == schema.GroupKind{Kind: "Pod"}:
		if current && text(u.Object, "status", "phase") == string(corev1.PodFailed) {
			return status.FailedStatus, "the pod failed"
		}
	case kind == schema.GroupKind{Group: "batch", Kind: "Job"}:
		return job(u, r)
	case kind == schema.GroupKind{Group: "apps", Kind: "Deployment"}:
		return deployment(u, r)
	case current && observes[kind] && !isObserved(u):
		return status.InProgressStatus, kind.Kind + " " + unobserved
	case check != nil:
		if word, message := check(u); word != "" {
			return word, message
		}
	}
	return r.Status, r.Message
}

// compute returns the result of kstatus. A field of a wrong type counts as absent. It returns nil if there is no
// result even so.
func compute(u *unstructured.Unstructured) *status.Result {
	u = forKstatus(u)
	if isWellFormed(u) {
		if r, err := status.Compute(u); err == nil {
			return r
		}
	}
	if r, err := status.Compute(wellFormed(u)); err == nil {
		return r
	}
	return nil
}

// isWellFormed reports whether the lists in a status contain only objects. kstatus panics otherwise.
func isWellFormed(u *unstructured.Unstructured) bool {
	about, ok := u.Object["status"].(map[string]any)
	if !ok {
		return u.Object["status"] == nil
	}
	for _, list := range []string{"conditions", "containerStatuses"} {
		all, isList := about[list].([]any)
		if about[list] != nil && !isList {
			return false
		}
		for _, one := range all {
			m, ok := one.(map[string]any)
			if !ok {
				return false
			}
			if list == "conditions" {
				continue
			}
			if _, ok := m["name"].(string); !ok {
				return false
			}
			state, ok := m["state"].(map[string]any)
			if m["state"] != nil && !ok {
				return false
			}
			waiting, ok := state["waiting"].(map[string]any)
			if state["waiting"] != nil && !ok {
				return false
			}
			if _, ok := waiting["reason"].(string); waiting["reason"] != nil && !ok {
				return false
			}
		}
	}
	return true
}

// wellFormed returns a copy of the object without the fields that kstatus reads and that have a wrong type.
func wellFormed(u *unstructured.Unstructured) *unstructured.Unstructured {
	u = u.DeepCopy()
	about, ok := u.Object["status"].(map[string]any)
	if !ok {
		delete(u.Object, "status")
		return u
	}
	for _, name := range []string{"observedGeneration", "phase"} {
		_, isNumber := about[name].(int64)
		_, isText := about[name].(string)
		if name == "phase" && !isText || name != "phase" && !isNumber {
			delete(about, name)
		}
	}
	delete(about, "containerStatuses")
	conditions, _ := about["conditions"].([]any)
	var good []any
	for _, one := range conditions {
		m, _ := one.(map[string]any)
		kind, value := text(m, "type"), text(m, "status")
		if kind != "" && value != "" {
			good = append(good, map[string]any{"type": kind, "status": value, "reason": text(m, "reason"), "message": text(m, "message")})
		}
	}
	delete(about, "conditions")
	if good != nil {
		about["conditions"] = good
	}
	return u
}

// observes are the kinds whose controller always reports the generation that it has observed. A Deployment without
// that lacks the conditions that kstatus requires.
var observes = map[schema.GroupKind]bool{
	{Group: "apps", Kind: "StatefulSet"}:           true,
	{Group: "apps", Kind: "ReplicaSet"}:            true,
	{Group: "policy", Kind: "PodDisruptionBudget"}: true,
}

func isObserved(u *unstructured.Unstructured) bool {
	return field(u.Object, "status", "observedGeneration") != nil
}

// isUnobserved reports whether the controller has observed only another generation.
func isUnobserved(u *unstructured.Unstructured) bool {
	observed, isNumber := field(u.Object, "status", "observedGeneration").(int64)
	return isNumber && u.GetGeneration() != 0 && observed != u.GetGeneration()
}

// asObserved returns the object as if its controller had observed its latest generation. It returns u if the controller
// has done so, or reports no generation.
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

// forKstatus returns the object as kstatus should see it. With the strategy OnDelete no controller rolls out a new
// template. Such a workload only has to have as many ready pods as it wants.
func forKstatus(u *unstructured.Unstructured) *unstructured.Unstructured {
	if text(u.Object, "spec", "updateStrategy", "type") != "OnDelete" {
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
		// kstatus calls every StatefulSet with this strategy Current. With a partition above all its pods, none has to
		// be updated.
		_ = unstructured.SetNestedMap(u.Object, map[string]any{"rollingUpdate": map[string]any{"partition": value}}, path...)
	} else if isObserved(u) {
		_ = unstructured.SetNestedField(u.Object, value, path...)
	}
	return u
}

// deployment returns the state of a Deployment. While it is paused, its controller does not report that it is complete.
func deployment(u *unstructured.Unstructured, r *status.Result) (status.Status, string) {
	paused, _ := field(u.Object, "spec", "paused").(bool)
	switch {
	case !paused || r.Status != status.InProgressStatus:
		return r.Status, r.Message
	case isObserved(u) && len(r.Conditions) == 1 && r.Conditions[0].Reason == "ReplicaSetNotAvailable" && isTrue(u, "Available"):
		return status.CurrentStatus, ""
	}
	return r.Status, "paused; " + r.Message
}

func job(u *unstructured.Unstructured, r *status.Result) (status.Status, string) {
	switch failed := reason.Condition(u, "Failed"); {
	case r.Status == status.FailedStatus:
		return r.Status, reason.Because(failed)
	case isTrue(u, "Complete"):
		return r.Status, r.Message
	}
	if suspended, _ := field(u.Object, "spec", "suspend").(bool); suspended {
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

// because returns why an object is not Current: the reason, together with how far the object is, or what kstatus says.
func because(u *unstructured.Unstructured, message, wrong string) string {
	switch {
	case u.GetDeletionTimestamp() != nil:
		return wrong
	case wrong == "", isUnobserved(u):
		return message
	case countsPods[u.GroupVersionKind().GroupKind()] && message != replicaFailure:
		return message + ": " + wrong
	}
	return wrong
}

// countsPods are the kinds whose message has the number of pods even if there is a reason.
var countsPods = map[schema.GroupKind]bool{{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "ReplicaSet"}: true}

// counted matches how kstatus tells how far a workload is, such as "Available: 0/2".
var counted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(paused; )?(\w+): (\d+/\d+)$`) })

// podCounts says the same in terms of pods, such as "0/2 pods available".
func podCounts(message string) string {
	switch n, found := strings.CutPrefix(message, "Pending termination: "); {
	case found && n == "1":
		return "1 pod more than wanted"
	case found:
		return n + " pods more than wanted"
	}
	m := counted().FindStringSubmatch(message)
	if m == nil {
		return message
	}
	word := strings.ToLower(m[2])
	switch word {
	case "replicas", "labelled": // pods of the ReplicaSet's template; it creates no others
		word = "created"
	case "current": // pods on the nodes that a DaemonSet wants
		word = "scheduled"
	}
	return m[1] + m[3] + " pods " + word
}

// unobserved ends the message of kstatus about an object that its controller has not observed yet. It is about a field,
// and not about the object.
const unobserved = "status.observedGeneration not found"

// replicaFailure is the message of kstatus about a ReplicaSet that cannot create its pods.
const replicaFailure = "Replica Failure condition. Check Pods"

func isTrue(u *unstructured.Unstructured, condition string) bool {
	return reason.Condition(u, condition)["status"] == "True"
}
