package view

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// describe says in a few words what an object is: its state as kstatus sees it, which
// knows the built-in kinds, and others by their conditions.
func describe(u *unstructured.Unstructured) string {
	result := compute(u)
	if result == nil {
		return ""
	}
	text := result.Status.String()
	if result.Status != status.CurrentStatus && result.Message != "" && !strings.HasSuffix(result.Message, unobserved) {
		text += ": " + clean(strings.Join(strings.Fields(result.Message), " "))
	}
	return text
}

// unobserved is what kstatus says of an object that its controller has not seen yet: of
// a field of the status, and not of the object.
const unobserved = "status.observedGeneration not found"

// stateOf is the state of an object in one word.
func stateOf(u *unstructured.Unstructured) string {
	if result := compute(u); result != nil {
		return result.Status.String()
	}
	return status.UnknownStatus.String()
}

// compute returns nil where nothing is known of an object but its identity, or its
// status is not as its kind has it.
func compute(u *unstructured.Unstructured) *status.Result {
	if created := u.GetCreationTimestamp(); created.IsZero() {
		return nil
	}
	result, err := status.Compute(u)
	if err != nil {
		return nil
	}
	return result
}
