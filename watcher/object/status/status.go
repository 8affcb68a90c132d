// Package status tells in which state an object is: current, in progress, failed, terminating or unknown, in the words
// of kstatus.
//
// The built-in kinds are judged by their fields: by kstatus, corrected where it differs from kubectl rollout status or
// has no answer (builtin.go). All other kinds are judged by package readiness, which requires evidence.
package status

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"dwatch/watcher/object/readiness"
	"dwatch/watcher/object/reason"
)

// State is the state of an object.
type State struct {
	// Word is a word of kstatus. It is Unknown if the object has no status, if its status has no evidence, or if the
	// object is only an identity.
	Word status.Status
	// Message tells in one line why the object is not Current: the first reason found, or how far it is. For an unknown
	// state it tells which evidence is missing; it is then empty if the object has no status.
	Message string
	// HasReason is true if Message gives a reason, and not only how far the object is.
	HasReason bool
	// SelfReported is true if the object itself gives the reason, so that no events have to be looked up.
	SelfReported bool
	// Hint is a flag of dwatch wait to try if the state is Unknown, such as "--for condition=Synced". It may be empty.
	Hint string
	// ClearsAt is when a state that depends on time ends without a change of the object: the end of a crash loop, if the
	// containers keep running. Zero means that the state does not depend on time.
	ClearsAt time.Time
	// FailsAt is when an object that is in progress counts as failed, if nothing changes until then. Zero means that time
	// changes nothing.
	FailsAt time.Time
}

// IsNotReady reports whether the object has failed or is in progress.
func (s State) IsNotReady() bool {
	return s.Word == status.FailedStatus || s.Word == status.InProgressStatus
}

// IsFailedPod reports whether an object is a Pod in phase Failed. Such a Pod never runs again and may exist for days.
func IsFailedPod(u *unstructured.Unstructured) bool {
	return isPod(u) && text(u.Object, "status", "phase") == string(corev1.PodFailed)
}

// Of returns the present state of an object.
func Of(u *unstructured.Unstructured) State { return At(u, time.Now()) }

// At returns the state of an object at a time. The time counts only for Pods that crash repeatedly, and for conditions of
// custom resources that have been False for long. A zero time is the present.
func At(u *unstructured.Unstructured, now time.Time) State {
	if now.IsZero() {
		now = time.Now()
	}
	switch {
	case u.GetCreationTimestamp().Time.IsZero():
		return State{Word: status.UnknownStatus}
	case u.GetDeletionTimestamp() != nil:
		return withReason(u, status.TerminatingStatus, "")
	case !isBuiltin(u.GroupVersionKind().Group):
		return custom(u, now)
	}
	word, message := builtin(u)
	if word == status.CurrentStatus || word == status.InProgressStatus {
		if loop := crashLoop(u, now); loop.Word != "" {
			return loop
		}
	}
	if word == status.CurrentStatus {
		return State{Word: word}
	}
	return withReason(u, word, message)
}

// withReason adds what package reason finds out about an object that is not Current.
func withReason(u *unstructured.Unstructured, word status.Status, message string) State {
	wrong := reason.Of(u)
	s := State{Word: word, HasReason: wrong.Text != "", SelfReported: wrong.Text != "" && !wrong.NeedsEvents}
	if !strings.HasSuffix(message, unobserved) {
		s.Message = strings.Join(strings.Fields(because(u, podCounts(message), wrong.Text)), " ")
	}
	return s
}

// custom returns the state of a custom resource.
func custom(u *unstructured.Unstructured, now time.Time) State {
	return stateOf(readiness.Judge(u.Object, now))
}

func stateOf(r readiness.Result) State {
	s := State{Message: r.Message, Hint: r.Hint, HasReason: r.HasReason, SelfReported: r.HasReason, FailsAt: r.FailsAt}
	switch r.Answer {
	case readiness.Ready:
		return State{Word: status.CurrentStatus}
	case readiness.Failed:
		s.Word = status.FailedStatus
	case readiness.InProgress:
		s.Word = status.InProgressStatus
	default:
		s.Word = status.UnknownStatus
		if !r.HasStatus() {
			s.Message = ""
		}
	}
	return s
}

// Explain returns the state of an object with its evidence.
func Explain(u *unstructured.Unstructured) (State, readiness.Result) {
	if u.GetDeletionTimestamp() != nil {
		return Of(u), readiness.Result{By: "metadata.deletionTimestamp", Needs: "an object that is being deleted is never ready"}
	}
	if isBuiltin(u.GroupVersionKind().Group) {
		s := Of(u)
		r := readiness.Result{By: "the built-in rules for " + u.GetKind(), Message: s.Message, Evidence: conditionsOf(u)}
		return s, r
	}
	r := readiness.Explain(u.Object, time.Now())
	return stateOf(r), r
}

// IsUnready reports whether an object is not Current, apart from changes that its controller has not observed yet: its
// status is judged as if it were about the latest generation.
func IsUnready(u *unstructured.Unstructured) bool {
	return Of(asObserved(u)).Word != status.CurrentStatus
}

// OfMasked is Of without the message if that contains anything that hide removes from the object.
func OfMasked(u *unstructured.Unstructured, hide func(object map[string]any) map[string]any) State {
	s := Of(u)
	if s.Message != "" && Of(&unstructured.Unstructured{Object: hide(u.Object)}).Message != s.Message {
		s.Message = ""
	}
	return s
}

// LastTransition returns when a condition of an object changed last, or when the object was created. The state that
// its conditions describe began then. It is zero if the object has neither.
func LastTransition(u *unstructured.Unstructured) (last time.Time) {
	last = u.GetCreationTimestamp().Time
	conditions, _ := field(u.Object, "status", "conditions").([]any)
	for _, c := range conditions {
		one, _ := c.(map[string]any)
		if at, err := time.Parse(time.RFC3339, text(one, "lastTransitionTime")); err == nil && at.After(last) {
			last = at
		}
	}
	return last
}

// TemplateRevision returns the revision of the template of a Deployment or of its ReplicaSet; empty for other objects. The
// ReplicaSet of the newest template has the same revision as the Deployment.
func TemplateRevision(u *unstructured.Unstructured) string {
	if u.GroupVersionKind().Group != "apps" || u.GetKind() != "Deployment" && u.GetKind() != "ReplicaSet" {
		return ""
	}
	return text(u.Object, "metadata", "annotations", "deployment.kubernetes.io/revision")
}

// MayBeSuperseded reports whether a failed object of a kind may exist for long after another one has taken its place, as a
// failed Job does. Whether a custom resource does is not known.
func MayBeSuperseded(kind schema.GroupKind) bool {
	return kind == schema.GroupKind{Group: "batch", Kind: "Job"} || !isBuiltin(kind.Group)
}

// Deletion tells what the deletion of an object waits for. It is empty if the object is not being deleted.
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

// conditionsOf lists the conditions of a built-in kind.
func conditionsOf(u *unstructured.Unstructured) (all []readiness.Evidence) {
	conditions, _ := field(u.Object, "status", "conditions").([]any)
	for _, one := range conditions {
		c, _ := one.(map[string]any)
		value := text(c, "status")
		if why := reason.Because(c); why != "" {
			value += " (" + why + ")"
		}
		all = append(all, readiness.Evidence{Path: "status.conditions[" + text(c, "type") + "]", Value: strings.Join(strings.Fields(value), " ")})
	}
	return all
}

func isPod(u *unstructured.Unstructured) bool {
	return u.GetKind() == "Pod" && u.GetAPIVersion() == "v1"
}

// field returns a value within an object; nil if there is none.
func field(object map[string]any, path ...string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return value
}

// text returns a string within an object. A value of another type counts as absent.
func text(object map[string]any, path ...string) string {
	s, _ := field(object, path...).(string)
	return s
}
