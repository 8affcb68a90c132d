package status

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// needCheck are built-in kinds without a status that may still be in progress.
var needCheck = map[string]bool{"MutatingWebhookConfiguration": true, "ValidatingWebhookConfiguration": true}

// MayNotBeCurrent reports whether an object may be anything but Current, judged by its JSON. It is much faster than decoding
// the object. A Pod that is not ready says so, or has no conditions yet. A Pod that restarted may be in a crash loop.
func MayNotBeCurrent(kind schema.GroupVersionKind, object string) bool {
	switch {
	case strings.Contains(object, `"deletionTimestamp"`), !isBuiltin(kind.Group), needCheck[kind.Kind]:
		return true
	case kind != corev1.SchemeGroupVersion.WithKind("Pod"):
		return strings.Contains(object, `"status":`)
	}
	for _, sign := range []string{`"status":"False"`, `"Pending"`, `"Failed"`, `"status":"Unknown"`, `"Stalled"`, `"lastState":{"terminated"`} {
		if strings.Contains(object, sign) {
			return true
		}
	}
	return !strings.Contains(object, `"Ready"`)
}

// stateless are the built-in kinds whose objects have no state but their existence, by group.
var stateless = map[string][]string{
	"":                          {"ConfigMap", "Endpoints", "Event", "LimitRange", "PodTemplate", "Secret", "ServiceAccount"},
	"apps":                      {"ControllerRevision"},
	"coordination.k8s.io":       {"Lease"},
	"discovery.k8s.io":          {"EndpointSlice"},
	"events.k8s.io":             {"Event"},
	"networking.k8s.io":         {"IngressClass", "NetworkPolicy"},
	"node.k8s.io":               {"RuntimeClass"},
	"rbac.authorization.k8s.io": {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
	"scheduling.k8s.io":         {"PriorityClass"},
	"storage.k8s.io":            {"CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass"},
}

// IsStateless reports whether the objects of a kind have no state, so that nothing can be said about their health. Each is
// Current until it is being deleted.
func IsStateless(kind schema.GroupKind) bool {
	return slices.Contains(stateless[kind.Group], kind.Kind)
}

// TrimContent returns the content of an object without a part that is large and says nothing about its state: the spec of a
// Pod, unless the message would quote its limits or probes.
func TrimContent(apiVersion, kind, content string) string {
	spec := gjson.Get(content, "spec")
	if kind != "Pod" || apiVersion != "v1" || !spec.Exists() {
		return content
	}
	if strings.Contains(content, "OOMKilled") || strings.Contains(content, `"ready":false`) && strings.Contains(spec.Raw, `Probe"`) {
		return content
	}
	return content[:spec.Index] + "{}" + content[spec.Index+len(spec.Raw):]
}
