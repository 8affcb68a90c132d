package lookup

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
)

// eachPage is the number of objects per list request.
const eachPage = 500

// ForEachObject calls take for each object of a resource in a namespace, or in all namespaces if namespace is empty. After an
// error, take may have been called for some of them.
func (c *Client) ForEachObject(ctx context.Context, resource schema.GroupVersionResource, namespace string, take func(event.Object)) error {
	options := metav1.ListOptions{Limit: eachPage}
	for {
		next, err := c.page(ctx, resource, namespace, options, take)
		if err != nil || next == "" {
			return err
		}
		options.Continue = next
	}
}

// page calls take for the objects of one list request, and returns the token of the next one, or "" after the last.
func (c *Client) page(ctx context.Context, resource schema.GroupVersionResource, namespace string, o metav1.ListOptions, take func(event.Object)) (next string, err error) {
	ctx, cancel := c.cluster.WithTimeout(ctx)
	defer cancel()
	list, err := c.content.Resource(resource).Namespace(namespace).List(ctx, o)
	if err != nil {
		return "", err
	}
	for i := range list.Items {
		u := &list.Items[i]
		content, err := u.MarshalJSON()
		if err != nil {
			return "", err
		}
		take(event.NewObject(&event.Identity{
			APIVersion: u.GetAPIVersion(), Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(),
			UID: u.GetUID(), ResourceVersion: u.GetResourceVersion(),
		}, strings.TrimSpace(string(content))))
	}
	return list.GetContinue(), nil
}
