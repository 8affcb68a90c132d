package main

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"dwatch/testdata/testenv"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	cronTabs    = schema.GroupVersionResource{Group: "stable.example.com", Version: "v1", Resource: "crontabs"}
)

// cluster is the API server and a client that changes its objects.
type cluster struct {
	*testenv.Cluster
	client dynamic.Interface
}

// startCluster starts a cluster with the objects of objects.yaml. The caller must stop it.
func startCluster(ctx context.Context) (*cluster, error) {
	b, err := testenv.StartCluster("--controllers")
	if err != nil {
		return nil, err
	}
	c := &cluster{Cluster: b}
	if err := c.prepare(ctx); err != nil {
		b.Kill()
		return nil, err
	}
	return c, nil
}

func (c *cluster) prepare(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // starting the server takes seconds and cannot be canceled
	}
	if _, err := c.Run("apply", "testdata/demo/objects.yaml"); err != nil {
		return err
	}
	config, err := c.Config("admin")
	if err != nil {
		return err
	}
	c.client, err = dynamic.NewForConfig(config)
	return err
}

// change is one write to the server.
type change func(ctx context.Context, c *cluster) error

// patch merges a patch into an object of the default namespace.
func patch(resource schema.GroupVersionResource, name, patch string, subresources ...string) change {
	return func(ctx context.Context, c *cluster) error {
		_, err := c.client.Resource(resource).Namespace(metav1.NamespaceDefault).
			Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
		return err
	}
}

// remove deletes an object of the default namespace.
func remove(resource schema.GroupVersionResource, name string) change {
	return func(ctx context.Context, c *cluster) error {
		return c.client.Resource(resource).Namespace(metav1.NamespaceDefault).
			Delete(ctx, name, metav1.DeleteOptions{})
	}
}
