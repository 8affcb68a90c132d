package reason

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ofNamespace are the conditions that hold up the deletion of a namespace.
var ofNamespace = []string{
	"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure", "NamespaceDeletionContentFailure",
	"NamespaceFinalizersRemaining", "NamespaceContentRemaining",
}

// deletion is what it waits for; empty if that is not known.
func deletion(u *unstructured.Unstructured) string {
	if u.GetKind() == "Namespace" {
		if r := first(u, "True", ofNamespace...); r.Text != "" {
			return r.Text
		}
	}
	return Deletion(u)
}

// Deletion says what the deletion of an object waits for, by its metadata; empty if that does not say.
func Deletion(u *unstructured.Unstructured) string {
	var parts []string
	if grace := u.GetDeletionGracePeriodSeconds(); grace != nil && *grace > 0 {
		parts = append(parts, fmt.Sprintf("%d s of grace", *grace))
	}
	if f := u.GetFinalizers(); len(f) > 0 {
		parts = append(parts, "waits for "+strings.Join(f, ", "))
	}
	return strings.Join(parts, ", ")
}
