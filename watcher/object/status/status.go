// Package status says in what state an object is, as kstatus sees it: the built-in
// kinds by their fields, others by their conditions. Where kstatus calls Current what is
// not done, or differs from kubectl rollout status, its result is amended (amend.go). It
// is a pure function of the object.
package status

import (
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/reason"
)

// State is what an object says of itself.
type State struct {
	// Word is one of kstatus. It is Unknown where only the identity of the object is known, its status is
	// not as its kind has it, or it is a custom resource without a status.
	Word status.Status
	// Message is why it is not Current, in one line: what is wrong with it first (package reason), or
	// how far it is.
	Message string
	// HasReason: the message says what is wrong, and not only how far it is.
	HasReason bool
	// SaysWhy: the object itself says what is wrong, so that nobody else has to be asked.
	SaysWhy bool
}

// IsWrong reports whether an object is not as it should be, and is not about to go either.
func (s State) IsWrong() bool {
	return s.Word == status.FailedStatus || s.Word == status.InProgressStatus
}

// IsOver reports whether an object is a Pod that has failed: it never runs again, another takes its
// place, and it may stay for days.
func IsOver(u *unstructured.Unstructured) bool {
	if u.GetKind() != "Pod" || u.GetAPIVersion() != "v1" {
		return false
	}
	phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
	return phase == string(corev1.PodFailed)
}

// Of returns the state of an object.
func Of(u *unstructured.Unstructured) State {
	if created := u.GetCreationTimestamp(); created.IsZero() {
		return State{Word: status.UnknownStatus}
	}
	result, err := status.Compute(forKstatus(u))
	if err != nil {
		return State{Word: status.UnknownStatus}
	}
	word, message := amend(u, result)
	if word == status.CurrentStatus {
		return State{Word: word}
	}
	wrong := reason.Of(u)
	s := State{Word: word, HasReason: wrong.Text != "", SaysWhy: wrong.Text != "" && !wrong.Open}
	if !strings.HasSuffix(message, unobserved) {
		s.Message = strings.Join(strings.Fields(because(u, ofPods(message), wrong.Text)), " ")
	}
	return s
}

// MayBeOther reports whether an object may be anything but Current, by its JSON: to decode each takes
// longer than all else. A Pod that is not ready says so, or has no conditions yet.
func MayBeOther(kind schema.GroupVersionKind, object string) bool {
	if strings.Contains(object, `"deletionTimestamp"`) {
		return true
	}
	if kind != corev1.SchemeGroupVersion.WithKind("Pod") {
		return strings.Contains(object, `"status":{`)
	}
	for _, sign := range []string{`"status":"False"`, `"Pending"`, `"Failed"`, `"status":"Unknown"`, `"Stalled"`} {
		if strings.Contains(object, sign) {
			return true
		}
	}
	return !strings.Contains(object, `"Ready"`)
}

// Settled is when a condition of an object has changed last, or it was created: in what state it is by
// its conditions, it has been since. Zero if it does not say.
func Settled(u *unstructured.Unstructured) (last time.Time) {
	last = u.GetCreationTimestamp().Time
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, c := range conditions {
		one, _ := c.(map[string]any)
		text, _ := one["lastTransitionTime"].(string)
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// IsUnready reports whether an object is not Current for more than that its controller has not seen yet
// what was asked for last: what its status says is taken as of that.
func IsUnready(u *unstructured.Unstructured) bool {
	return Of(asObserved(u)).Word != status.CurrentStatus
}

// Shown is Of without a message that is made of what hide hides in the object: of what is hidden
// something else would be said than what is so.
func Shown(u *unstructured.Unstructured, hide func(object map[string]any) map[string]any) State {
	s := Of(u)
	if s.Message != "" && Of(&unstructured.Unstructured{Object: hide(u.Object)}).Message != s.Message {
		s.Message = ""
	}
	return s
}

// because is why an object is not Current: what is wrong with it, beside how far it is; else what
// kstatus says.
func because(u *unstructured.Unstructured, message, wrong string) string {
	switch {
	case u.GetDeletionTimestamp() != nil:
		return wrong
	case wrong == "", isUnobserved(u):
		return message
	case hasReplicas[u.GroupVersionKind().GroupKind()] && message != replicaFailure:
		return message + ": " + wrong
	}
	return wrong
}

// hasReplicas are the kinds of which it is said how many pods they have, also if something is wrong.
var hasReplicas = map[schema.GroupKind]bool{{Group: "apps", Kind: "Deployment"}: true, {Group: "apps", Kind: "ReplicaSet"}: true}

// counted is how kstatus says how far a workload is, e.g. "Available: 0/2".
var counted = regexp.MustCompile(`^(paused; )?(\w+): (\d+/\d+)$`)

// ofPods says the same of the pods that are counted, e.g. "0/2 pods available".
func ofPods(message string) string {
	switch n, found := strings.CutPrefix(message, "Pending termination: "); {
	case found && n == "1":
		return "1 pod more than wanted"
	case found:
		return n + " pods more than wanted"
	}
	m := counted.FindStringSubmatch(message)
	if m == nil {
		return message
	}
	word := strings.ToLower(m[2])
	switch word {
	case "replicas", "labelled": // those of the ReplicaSet's template, and it makes no others
		word = "created"
	case "current": // on the nodes that a DaemonSet wants
		word = "scheduled"
	}
	return m[1] + m[3] + " pods " + word
}

// Deletion says what the deletion of an object waits for; empty if it has not begun.
func Deletion(u *unstructured.Unstructured) string {
	if u.GetDeletionTimestamp() == nil {
		return ""
	}
	text := "is being deleted"
	if waits := reason.Deletion(u); waits != "" {
		text += ", " + waits
	}
	return text
}

// unobserved is what kstatus says of an object that its controller has not seen yet: of
// a field of the status, and not of the object.
const unobserved = "status.observedGeneration not found"

// replicaFailure is what kstatus says of a ReplicaSet that can't make its pods.
const replicaFailure = "Replica Failure condition. Check Pods"

// Part returns the content of an object without what makes most of it, and does not say how it is: of a Pod the spec,
// unless its limits or its probes count.
func Part(apiVersion, kind, content string) string {
	spec := gjson.Get(content, "spec")
	if kind != "Pod" || apiVersion != "v1" || !spec.Exists() {
		return content
	}
	if strings.Contains(content, "OOMKilled") || strings.Contains(content, `"ready":false`) && strings.Contains(spec.Raw, `Probe"`) {
		return content
	}
	return content[:spec.Index] + "{}" + content[spec.Index+len(spec.Raw):]
}
