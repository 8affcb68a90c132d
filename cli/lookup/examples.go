package lookup

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// exampleTimeout limits the queries of Examples. A user who called dwatch without arguments waits for them.
const exampleTimeout = 3 * time.Second

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// Examples are names of existing objects for usage examples. Each may be empty.
type Examples struct {
	Deployment          string
	DeploymentNamespace string // of Deployment, if it is not the requested namespace
	CustomResource      string // name of a CustomResourceDefinition
}

// Examples queries the server for at most exampleTimeout. If the namespace has no Deployment, it returns one of another
// namespace. It is no error if objects are missing or may not be listed.
func (c *Client) Examples(ctx context.Context, namespace string) (e Examples, err error) {
	ctx, cancel := context.WithTimeout(ctx, exampleTimeout)
	defer cancel()
	var both sync.WaitGroup
	both.Go(func() { _, e.CustomResource, _ = c.first(ctx, definitions, "") })
	_, e.Deployment, err = c.first(ctx, deployments, namespace)
	if err == nil && e.Deployment == "" && namespace != "" {
		e.DeploymentNamespace, e.Deployment, _ = c.first(ctx, deployments, "")
	}
	both.Wait()
	return e, err
}

// first returns one object of a resource. name is empty if there is none or it may not be listed.
func (c *Client) first(ctx context.Context, r schema.GroupVersionResource, namespace string) (in, name string, err error) {
	list, err := c.objects.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0 {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	return list.Items[0].Namespace, list.Items[0].Name, nil
}
