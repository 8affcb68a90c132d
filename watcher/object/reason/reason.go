// Package reason says what is the first thing wrong with an object, in the words of who found it:
// the kubelet, the scheduler, a controller. All are pure functions of the object.
package reason

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reason is what is wrong, in one line, such as "OOMKilled (exit 137, 4 restarts), limit 64Mi".
// The zero Reason: the object does not say that anything is.
type Reason struct {
	Text string
	// Open: the object itself does not say why, and Events about it may.
	Open bool
}

// Of returns what is wrong with an object that is not as it should be: that it is not is for the
// caller to know. What the status says of an older generation counts as well.
func Of(u *unstructured.Unstructured) Reason {
	r := of(u)
	r.Text = strings.Join(strings.Fields(r.Text), " ")
	return r
}

func of(u *unstructured.Unstructured) Reason {
	if u.GetDeletionTimestamp() != nil {
		return Reason{Text: deletion(u)}
	}
	switch u.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Kind: "Pod"}:
		return ofPod(u)
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return claim(u)
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Kind: "ReplicationController"}:
		return replicas(u)
	case schema.GroupKind{Group: "batch", Kind: "Job"}:
		return first(u, "True", "Failed", "FailureTarget")
	case schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}:
		return autoscaler(u)
	}
	if stalled := first(u, "True", "Stalled", "Reconciling"); stalled.Text != "" {
		return stalled
	}
	if ready := Condition(u, "Ready"); ready != nil && ready["status"] != "True" {
		return Reason{Text: Because(ready)}
	}
	return Reason{}
}

// Condition returns the condition of a type; nil if there is none. It is not to be changed.
func Condition(u *unstructured.Unstructured, of string) (found map[string]any) {
	for _, one := range list(u.Object, "status", "conditions") {
		if one, ok := one.(map[string]any); ok && one["type"] == of {
			found = one
		}
	}
	return found
}

// Because says what a condition, or a status, gives as the reason.
func Because(about map[string]any) string {
	return because(text(about, "reason"), text(about, "message"))
}

func because(reason, message string) string {
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

// first is the first of the conditions that has this status.
func first(u *unstructured.Unstructured, status string, conditions ...string) Reason {
	for _, of := range conditions {
		if c := Condition(u, of); c["status"] == status {
			return Reason{Text: Because(c)}
		}
	}
	return Reason{}
}

// replicas: pods can't be made, or not be deleted.
func replicas(u *unstructured.Unstructured) Reason {
	failure := Condition(u, "ReplicaFailure")
	if failure["status"] != "True" {
		return Reason{}
	}
	return Reason{Text: because(text(failure, "reason"), refusal(text(failure, "message")))}
}

func claim(u *unstructured.Unstructured) Reason {
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

// autoscaler: it can't read what it scales, or its metrics. That there is nothing to scale, as
// somebody has scaled it to zero, is not wrong.
func autoscaler(u *unstructured.Unstructured) Reason {
	if r := first(u, "False", "AbleToScale"); r.Text != "" {
		return r
	}
	if active := Condition(u, "ScalingActive"); active["status"] == "False" && active["reason"] != "ScalingDisabled" {
		return Reason{Text: Because(active)}
	}
	return Reason{}
}

// text is a text within an object; empty if there is none.
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

func part(object map[string]any, path ...string) map[string]any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	m, _ := value.(map[string]any)
	return m
}

// named is the member of a list of maps that has this name.
func named(all []any, name string) map[string]any {
	i := slices.IndexFunc(all, func(one any) bool {
		m, ok := one.(map[string]any)
		return ok && m["name"] == name
	})
	if i < 0 {
		return nil
	}
	return all[i].(map[string]any)
}
