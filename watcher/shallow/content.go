package shallow

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"dwatch/watcher/event"
)

// contentKey is where a shallow object holds its content. A string can be
// deep-copied by all that client-go does with an object; bytes could not.
const contentKey = "\x00content"

// Content returns the whole object as one line of JSON; empty if it has been
// taken.
func Content(u *unstructured.Unstructured) string {
	content, _ := u.Object[contentKey].(string)
	return content
}

// Take returns the content and removes it from u, which must not be shared yet.
// What remains identifies the object and its state.
func Take(u *unstructured.Unstructured) string {
	content := Content(u)
	delete(u.Object, contentKey)
	return content
}

// New makes a shallow object of JSON text, with managedFields.
func New(text []byte) (*unstructured.Unstructured, error) {
	u, err := scanner{keepManagedFields: true}.object(string(text), typeMeta{})
	if err == nil && u == nil {
		err = fmt.Errorf("%.40q is no object of the API", text)
	}
	return u, err
}

// Identity is what u says of the object itself.
func Identity(u *unstructured.Unstructured) *event.Identity {
	return &event.Identity{
		APIVersion: u.GetAPIVersion(), Kind: u.GetKind(),
		Namespace: u.GetNamespace(), Name: u.GetName(),
		UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
	}
}
