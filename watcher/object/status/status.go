// Package status says in what state an object is, as kstatus sees it: the built-in
// kinds by their fields, others by their conditions. Where kstatus calls Current what is
// not done, or differs from kubectl rollout status, its result is amended (amend.go). It
// is a pure function of the object.
package status

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// Of returns the state of an object in one word of kstatus (Current, InProgress, Failed,
// Terminating), and why it is not Current. It is Unknown where nothing is known of the
// object but its identity, its status is not as its kind has it, or it is a custom
// resource without a status.
func Of(u *unstructured.Unstructured) (word status.Status, message string) {
	if created := u.GetCreationTimestamp(); created.IsZero() {
		return status.UnknownStatus, ""
	}
	result, err := status.Compute(asJudged(u))
	if err != nil {
		return status.UnknownStatus, ""
	}
	word, message = amend(u, result)
	if word == status.CurrentStatus || strings.HasSuffix(message, unobserved) {
		return word, ""
	}
	return word, message
}

// unobserved is what kstatus says of an object that its controller has not seen yet: of
// a field of the status, and not of the object.
const unobserved = "status.observedGeneration not found"
