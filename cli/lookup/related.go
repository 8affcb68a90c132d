package lookup

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
)

// fronts are the resources that route traffic to pods, or scale or protect them. Services precede the Ingresses that refer to
// them, because the caller learns from the objects in this order.
var fronts = []schema.GroupVersionResource{
	corev1.SchemeGroupVersion.WithResource("services"),
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"},
	{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// RelatedObjects returns the object that a target names with its pods, and all objects of fronts in its namespace. It omits
// objects that can't be listed, and returns nothing if the object does not exist.
func (c *CauseFinder) RelatedObjects(ctx context.Context, t event.Target) (known, frontObjects []*unstructured.Unstructured) {
	named := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, t.Name).String()}
	found, err := c.content.Resource(t.Resource()).Namespace(t.Namespace).List(ctx, named)
	if err != nil || len(found.Items) == 0 {
		return nil, nil
	}
	root := &found.Items[0]
	known = append(known, root)
	kind := t.Mapping.GroupVersionKind
	if !t.Namespaced() {
		return known, nil
	}
	if owner.MayOwnPods(kind.GroupKind()) {
		search := c.search(owner.Ref{GroupVersionKind: kind, Namespace: t.Namespace, Name: t.Name, UID: root.GetUID()})
		search.listDescendants(ctx)
		pods, err := c.content.Resource(podsResource).Namespace(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectorOf(root), Limit: maxPods})
		for i := 0; err == nil && i < len(pods.Items); i++ {
			if search.belongs(ctx, podRef(&pods.Items[i])) {
				known = append(known, &pods.Items[i])
			}
		}
	}
	for _, resource := range fronts {
		all, err := c.content.Resource(resource).Namespace(t.Namespace).List(ctx, metav1.ListOptions{Limit: maxNames})
		for i := 0; err == nil && i < len(all.Items); i++ {
			frontObjects = append(frontObjects, &all.Items[i])
		}
	}
	return known, frontObjects
}
