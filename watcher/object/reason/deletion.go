package reason

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// namespaceConditions are the conditions that delay the deletion of a namespace. Failures come first.
var namespaceConditions = []string{
	"NamespaceDeletionDiscoveryFailure", "NamespaceDeletionGroupVersionParsingFailure", "NamespaceDeletionContentFailure",
	"NamespaceFinalizersRemaining", "NamespaceContentRemaining",
}

// terminating returns what the deletion of an object waits for. It is empty if that is unknown.
func terminating(u *unstructured.Unstructured) string {
	if u.GetKind() == "Namespace" {
		if r := firstCondition(u, "True", namespaceConditions...); r.Text != "" {
			return r.Text
		}
	}
	return Deletion(u)
}

// Deletion returns what the metadata of an object says about why its deletion takes time. It is empty if it says nothing.
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
