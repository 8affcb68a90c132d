package watcher

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Object is one state of one Kubernetes object, as the server sent it. How it
// is held is this package's own business: look at it only through the methods.
// An Object may be shared with the informer's store and is never changed.
//
// The zero Object stands for none; only [Object.IsZero] may be called on it.
type Object struct {
	content *unstructured.Unstructured
}

// NewObject returns u as an Object. The caller must not change u any more.
func NewObject(u *unstructured.Unstructured) Object { return Object{u} }

// IsZero reports whether there is no object.
func (o Object) IsZero() bool { return o.content == nil }

// Name returns metadata.name.
func (o Object) Name() string { return o.content.GetName() }

// Namespace returns metadata.namespace; empty for a cluster-scoped object.
func (o Object) Namespace() string { return o.content.GetNamespace() }

// UID returns metadata.uid, which tells an object from a later one of the same
// name.
func (o Object) UID() types.UID { return o.content.GetUID() }

// ResourceVersion returns metadata.resourceVersion.
func (o Object) ResourceVersion() string { return o.content.GetResourceVersion() }

// GroupVersionKind returns what apiVersion and kind say.
func (o Object) GroupVersionKind() schema.GroupVersionKind { return o.content.GroupVersionKind() }

// Raw returns the whole object as compact JSON, without a newline.
func (o Object) Raw() ([]byte, error) {
	raw, err := json.Marshal(o.content.Object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", o.key(), err)
	}
	return raw, nil
}

// Open returns the full content, a copy that the caller may change.
func (o Object) Open() (*unstructured.Unstructured, error) { return o.content.DeepCopy(), nil }

func (o Object) key() cache.ObjectName {
	return cache.ObjectName{Namespace: o.Namespace(), Name: o.Name()}
}

// identity is the object of which nothing but its identity is known.
func identity(gvk schema.GroupVersionKind, key cache.ObjectName, e entry) Object {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(gvk)
	u.SetNamespace(key.Namespace)
	u.SetName(key.Name)
	u.SetUID(e.uid)
	u.SetResourceVersion(e.resourceVersion)
	return Object{u}
}
