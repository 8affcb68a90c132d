package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// crdTimeout bounds how long a CRD may take to be served.
const crdTimeout = 30 * time.Second

var (
	crdKind     = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}
	crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// waitServed returns when clients can use every served version of an applied
// CRD: it is established, discovery shows it, and its resource can be listed.
func (a *applier) waitServed(ctx context.Context, crd *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, crdTimeout, true, func(ctx context.Context) (bool, error) {
		current, err := a.client.Resource(crdResource).Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil || !isEstablished(current) {
			return false, err
		}
		for _, version := range versions {
			fields, _ := version.(map[string]any)
			name, _, _ := unstructured.NestedString(fields, "name")
			served, _, _ := unstructured.NestedBool(fields, "served")
			resource := schema.GroupVersionResource{Group: group, Version: name, Resource: plural}
			if served && !a.isServed(ctx, resource) {
				return false, nil
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("CRD %s is not served: %w", crd.GetName(), err)
	}
	a.mapper.Reset()
	return nil
}

// isEstablished tells whether the API server has accepted a CRD.
func isEstablished(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		if fields["type"] == "Established" && fields["status"] == "True" {
			return true
		}
	}
	return false
}

// isServed tells whether a resource is in discovery and answers.
func (a *applier) isServed(ctx context.Context, resource schema.GroupVersionResource) bool {
	list, err := a.discovery.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return false
	}
	for _, known := range list.APIResources {
		if known.Name == resource.Resource {
			_, err := a.client.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
			return err == nil
		}
	}
	return false
}
