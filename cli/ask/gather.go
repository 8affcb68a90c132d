package ask

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
)

// Gather returns the object that a target names with its pods, and the Services beside them. What may not be
// known is left out.
func (c *Causes) Gather(ctx context.Context, t event.Target) (known, services []*unstructured.Unstructured) {
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
	if owner.HasPods(kind.GroupKind()) {
		search := c.search(owner.Ref{GroupVersionKind: kind, Namespace: t.Namespace, Name: t.Name, UID: root.GetUID()})
		search.meet(ctx)
		pods, err := c.content.Resource(podsResource).Namespace(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selectorOf(root), Limit: maxPods})
		for i := 0; err == nil && i < len(pods.Items); i++ {
			if search.belongs(ctx, podRef(&pods.Items[i])) {
				known = append(known, &pods.Items[i])
			}
		}
	}
	all, err := c.content.Resource(corev1.SchemeGroupVersion.WithResource("services")).Namespace(t.Namespace).List(ctx, metav1.ListOptions{Limit: maxNames})
	for i := 0; err == nil && i < len(all.Items); i++ {
		services = append(services, &all.Items[i])
	}
	return known, services
}
