// Package reason finds the first thing that is wrong with an object, in the words of the kubelet, the scheduler or a
// controller if they give a reason. All functions are pure.
package reason

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reason describes what is wrong, in one line such as "OOMKilled (exit 137, 4 restarts), limit 64Mi". The zero Reason
// means that the object reports nothing wrong.
type Reason struct {
	Text string
	// NeedsEvents is true if the object does not say why. Kubernetes Events about it may do so.
	NeedsEvents bool
}

// Of returns what is wrong with an object that the caller knows not to be ready. A status about an older generation
// counts as well.
func Of(u *unstructured.Unstructured) Reason {
	r := find(u)
	r.Text = strings.Join(strings.Fields(r.Text), " ")
	return r
}

func find(u *unstructured.Unstructured) Reason {
	if u.GetDeletionTimestamp() != nil {
		return Reason{Text: terminating(u)}
	}
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		return podReason(u)
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return claimReason(u)
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Kind: "ReplicationController"}:
		return replicaFailure(u)
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return firstCondition(u, "True", "Failed", "FailureTarget")
	case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return autoscalerReason(u)
	}
	if stalled := firstCondition(u, "True", "Stalled", "Reconciling"); stalled.Text != "" {
		return stalled
	}
	if ready := Condition(u, "Ready"); ready != nil && ready["status"] != "True" {
		return Reason{Text: Because(ready)}
	}
	return Reason{}
}

// Condition returns the last condition of a type in status.conditions, or nil. The caller must not change it.
func Condition(u *unstructured.Unstructured, conditionType string) (found map[string]any) {
	for _, one := range list(u.Object, "status", "conditions") {
		if one, ok := one.(map[string]any); ok && one["type"] == conditionType {
			found = one
		}
	}
	return found
}

// Because joins the reason and the message of a condition or of a status.
func Because(condition map[string]any) string {
	return join(text(condition, "reason"), text(condition, "message"))
}

func join(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// firstCondition returns the reason of the first of the conditions that has the status.
func firstCondition(u *unstructured.Unstructured, status string, conditions ...string) Reason {
	for _, conditionType := range conditions {
		if c := Condition(u, conditionType); c["status"] == status {
			return Reason{Text: Because(c)}
		}
	}
	return Reason{}
}

// replicaFailure returns why the controller can't create or delete pods.
func replicaFailure(u *unstructured.Unstructured) Reason {
	failure := Condition(u, "ReplicaFailure")
	if failure["status"] != "True" {
		return Reason{}
	}
	return Reason{Text: join(text(failure, "reason"), trimRefusal(text(failure, "message")))}
}

func claimReason(u *unstructured.Unstructured) Reason {
	phase := text(u.Object, "status", "phase")
	if phase == "Bound" {
		return Reason{}
	}
	class := text(u.Object, "spec", "storageClassName")
	switch volume := text(u.Object, "spec", "volumeName"); {
	case volume != "" && phase == "Lost":
		phase += ": its volume " + volume + " is gone"
	case volume != "":
		phase += ", waits for volume " + volume
	case class != "":
		phase += ", StorageClass " + class
	default:
		phase += ", without a StorageClass"
	}
	return Reason{strings.TrimPrefix(phase, ", "), true}
}

// autoscalerReason returns why an autoscaler can't read its target or its metrics. A target that was scaled to zero is
// not wrong.
func autoscalerReason(u *unstructured.Unstructured) Reason {
	if r := firstCondition(u, "False", "AbleToScale"); r.Text != "" {
		return r
	}
	if active := Condition(u, "ScalingActive"); active["status"] == "False" && active["reason"] != "ScalingDisabled" {
		return Reason{Text: Because(active)}
	}
	return Reason{}
}

// text returns the string at a path. A value of another type counts as absent.
func text(object map[string]any, path ...string) string {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	s, _ := value.(string)
	return s
}

func list(object map[string]any, path ...string) []any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	all, _ := value.([]any)
	return all
}

func submap(object map[string]any, path ...string) map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	m, _ := value.(map[string]any)
	return m
}

// byName returns the map in a list that has the name, or nil.
func byName(all []any, name string) map[string]any {
	i := slices.IndexFunc(all, func(one any) bool {
		m, ok := one.(map[string]any)
		return ok && m["name"] == name
	})
	if i < 0 {
		return nil
	}
	return all[i].(map[string]any)
}
