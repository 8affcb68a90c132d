// Package owned finds what belongs to an object, and leaves out of a stream the Events of
// Kubernetes that are about something else.
package owned

import (
	"cmp"
	"strings"

	"github.com/tidwall/gjson"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// Ref names an object. It says nothing of the version it is served in, nor which of
// several of one name that came one after the other it is.
type Ref struct {
	schema.GroupKind
	// Namespace is empty for an object in none.
	Namespace, Name string
}

// IsEvent reports whether objects of this kind are Events of Kubernetes, each about
// another object.
func IsEvent(kind schema.GroupKind) bool {
	return kind.Kind == "Event" && (kind.Group == "" || kind.Group == "events.k8s.io")
}

// about returns what an Event is about (v1, events.k8s.io/v1); what it does not say is
// empty, but for the namespace, which is then its own.
func about(o event.Object) Owner {
	content := o.Raw()
	involved := gjson.Get(content, "involvedObject")
	if !involved.IsObject() {
		involved = gjson.Get(content, "regarding")
	}
	text := func(name string) string { return strings.Clone(involved.Get(name).Str) }
	kind := schema.FromAPIVersionAndKind(text("apiVersion"), text("kind"))
	return Owner{Ref{kind.GroupKind(), cmp.Or(text("namespace"), o.Namespace), text("name")}, kind.Version}
}

// Owner is an object, or one of its owners, in the version in which it is named.
type Owner struct {
	Ref
	Version string
}

// Owners returns the owners that an object in this namespace names. Each is in the same
// namespace, or in none: that is not known, and the namespace is that of the object.
func Owners(namespace string, references []metav1.OwnerReference) (owners []Owner) {
	for _, r := range references {
		kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
		owners = append(owners, Owner{Ref{kind.GroupKind(), namespace, r.Name}, kind.Version})
	}
	return owners
}
