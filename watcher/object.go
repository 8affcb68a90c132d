package watcher

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"dwatch/watcher/shallow"
)

// Object is one state of one Kubernetes object, as the server sent it. How it
// is held is this package's own business: look at it only through the methods.
// An Object may be shared with the informer's store and is never changed.
//
// The zero Object stands for none; only [Object.IsZero] may be called on it.
type Object struct {
	// head has the identity. It is a shallow object, which may have lost its
	// content, or what slim makes of one.
	head head
	// content is the whole object as JSON; empty if only head is known.
	content string
}

// head is what is always known of an object.
type head interface {
	metav1.Object
	GroupVersionKind() schema.GroupVersionKind
}

// ParseObject returns the object that is written as JSON.
func ParseObject(text []byte) (Object, error) {
	head, err := shallow.New(text)
	if err != nil {
		return Object{}, err
	}
	return whole(head), nil
}

// whole is the object whose content is still in head.
func whole(head *unstructured.Unstructured) Object { return Object{head, shallow.Content(head)} }

// stored is what the informer hands out as obj; zero if that is no object.
func stored(obj any) Object {
	switch obj := obj.(type) {
	case *unstructured.Unstructured:
		return whole(obj)
	case *metav1.PartialObjectMetadata:
		return Object{head: obj}
	default:
		return Object{}
	}
}

// IsZero reports whether there is no object.
func (o Object) IsZero() bool { return o.head == nil }

// Name returns metadata.name.
func (o Object) Name() string { return o.head.GetName() }

// Namespace returns metadata.namespace; empty for a cluster-scoped object.
func (o Object) Namespace() string { return o.head.GetNamespace() }

// UID returns metadata.uid, which tells an object from a later one of the same
// name.
func (o Object) UID() types.UID { return o.head.GetUID() }

// ResourceVersion returns metadata.resourceVersion.
func (o Object) ResourceVersion() string { return o.head.GetResourceVersion() }

// GroupVersionKind returns what apiVersion and kind say.
func (o Object) GroupVersionKind() schema.GroupVersionKind { return o.head.GroupVersionKind() }

// Raw returns the object as one line of JSON: the server's bytes, or where only
// the identity is known, apiVersion, kind and the metadata that are it.
func (o Object) Raw() string {
	if o.content != "" {
		return o.content
	}
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(o.GroupVersionKind())
	u.SetNamespace(o.Namespace())
	u.SetName(o.Name())
	u.SetUID(o.UID())
	u.SetResourceVersion(o.ResourceVersion())
	identity, err := json.Marshal(u.Object)
	if err != nil {
		panic(err) // it holds nothing but strings
	}
	return string(identity)
}

// Open returns the full content, decoded anew: the caller may change it.
func (o Object) Open() (*unstructured.Unstructured, error) { return shallow.Open(o.Raw()) }

func (o Object) key() cache.ObjectName {
	return cache.ObjectName{Namespace: o.Namespace(), Name: o.Name()}
}

// identity is the object of which nothing but its identity is known.
func identity(gvk schema.GroupVersionKind, key cache.ObjectName, e entry) Object {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(gvk)
	o.SetNamespace(key.Namespace)
	o.SetName(key.Name)
	o.SetUID(e.uid)
	o.SetResourceVersion(e.resourceVersion)
	return Object{head: o}
}
