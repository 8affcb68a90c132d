package codec

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/event"
)

// contentKey is where a shallow object holds its content: a string, as client-go may deep-copy
// it, which bytes could not be.
const contentKey = "\x00content"

// Content returns the whole object as one line of JSON; empty if it has been taken.
func Content(u *unstructured.Unstructured) string {
	content, _ := u.Object[contentKey].(string)
	return content
}

// Take returns the content and removes it from u, which must not be shared yet. What remains
// identifies the object and its state.
func TakeContent(u *unstructured.Unstructured) string {
	content := Content(u)
	delete(u.Object, contentKey)
	return content
}

// Identity is what u says of the object itself.
func IdentityOf(u *unstructured.Unstructured) *event.Identity {
	return &event.Identity{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(),
		Namespace: u.GetNamespace(), Name: u.GetName(),
		UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}
}
