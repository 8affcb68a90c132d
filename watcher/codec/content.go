package codec

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/event"
)

// contentKey is the key of the content in a raw object. The content is a string because
// client-go may deep-copy the object, which panics for a []byte.
const contentKey = "\x00content"

// Content returns the whole object as one line of JSON, or an empty string if TakeContent removed
// it.
func Content(u *unstructured.Unstructured) string {
	content, _ := u.Object[contentKey].(string)
	return content
}

// TakeContent removes the content from u and returns it. u must not be shared yet. u still
// identifies the object and its state.
func TakeContent(u *unstructured.Unstructured) string {
	content := Content(u)
	delete(u.Object, contentKey)
	return content
}

// IdentityOf returns the identity of u.
func IdentityOf(u *unstructured.Unstructured) *event.Identity {
	return &event.Identity{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(),
		Namespace: u.GetNamespace(), Name: u.GetName(),
		UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}
}

// unreadableKey is set in a raw object whose content was not valid JSON. unreadablePrefix begins
// the text that framer writes for such an object.
const (
	unreadableKey    = "\x00unreadable"
	unreadablePrefix = `{"\u0000unreadable":true,`
)

// IsUnreadable reports whether the content of u was not valid JSON. u only has an identity then.
func IsUnreadable(u *unstructured.Unstructured) bool { return u.Object[unreadableKey] == true }
