package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// truth is the objects in etcd by UID.
type truth map[types.UID]*unstructured.Unstructured

// readTruth lists the objects of all resources in the namespaces, without managed fields.
func readTruth(ctx context.Context, client dynamic.Interface, namespaces []string, selector string) (truth, error) {
	found := truth{}
	for _, r := range resources {
		for _, namespace := range namespaces {
			list, err := client.Resource(r.GroupVersionResource).Namespace(namespace).
				List(ctx, metav1.ListOptions{LabelSelector: selector})
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", r.Resource, err)
			}
			for i := range list.Items {
				list.Items[i].SetManagedFields(nil)
				found[list.Items[i].GetUID()] = &list.Items[i]
			}
		}
	}
	return found, nil
}

// compareLocked returns the differences between the record and the objects in etcd. It requires r.mu to be held.
func (r *record) compareLocked(t truth) []problem {
	var wrong []problem
	miss := func(format string, args ...any) {
		wrong = append(wrong, problem{lost, fmt.Sprintf(format, args...)})
	}
	for uid, want := range t {
		got := r.objects[uid]
		name := fmt.Sprintf("%s %s/%s (%s)", want.GetKind(), want.GetNamespace(), want.GetName(), uid)
		switch {
		case got == nil:
			miss("%s was never printed", name)
		case got.kind == "DELETED":
			miss("%s was printed as deleted at %s, and is there at %s", name, got.version, want.GetResourceVersion())
		case got.version != want.GetResourceVersion():
			miss("%s was printed at %s, and is at %s", name, got.version, want.GetResourceVersion())
		case !same(got.object, want):
			miss("%s was printed with another content: %.500s", name, got.object)
		}
	}
	for uid, got := range r.objects {
		if t[uid] == nil && got.kind != "DELETED" {
			miss("%s %s/%s (%s at %s) was not printed as deleted", got.place.kind, got.place.namespace, got.place.name, uid, got.version)
		}
	}
	return wrong
}

// same reports whether text is the object in JSON.
func same(text json.RawMessage, want *unstructured.Unstructured) bool {
	var got unstructured.Unstructured
	return got.UnmarshalJSON(text) == nil && reflect.DeepEqual(got.Object, want.Object)
}

// check compares the objects in etcd with the writes that the server acknowledged. If the server had lost some, the test
// would prove nothing.
func (w *writer) check(t truth) error {
	there := map[string]acknowledged{}
	for _, u := range t {
		if u.GetKind() == w.kind && u.GetNamespace() == w.namespace {
			there[u.GetName()] = acknowledged{u.GetUID(), u.GetResourceVersion()}
		}
	}
	for name, want := range w.known {
		if got := there[name]; want.version == "" && got.version != "" || want.version != "" && got != want {
			return fmt.Errorf("the test bed forgets: %s %s/%s is %v, and was acknowledged as %v", w.kind, w.namespace, name, got, want)
		}
	}
	return nil
}
