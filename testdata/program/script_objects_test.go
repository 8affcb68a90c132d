package program

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"dwatch/mapper"
	"dwatch/testdata/testenv"
)

// objects writes to the API server, usually in a new namespace.
type objects struct {
	config    *rest.Config
	namespace string
	client    dynamic.Interface
	discovery *discovery.DiscoveryClient
}

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// newObjects creates a namespace. leave deletes it.
func newObjects() (*objects, error) { return newObjectsOn(testbed) }

func newObjectsOn(c *testenv.Cluster) (*objects, error) {
	o, err := objectsIn(c, "")
	if err != nil {
		return nil, err
	}
	ns := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"generateName": "script-"},
	}}
	if ns, err = o.client.Resource(namespaces).Create(context.Background(), ns, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	o.namespace = ns.GetName()
	return o, nil
}

// newObjectsNamed creates a namespace with the given name.
func newObjectsNamed(c *testenv.Cluster, name string) (*objects, error) {
	o, err := objectsIn(c, name)
	if err != nil {
		return nil, err
	}
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}
	_, err = o.client.Resource(namespaces).Create(context.Background(), ns, metav1.CreateOptions{})
	return o, err
}

// objectsIn uses an existing namespace.
func objectsIn(c *testenv.Cluster, namespace string) (*objects, error) {
	config, err := c.Config("admin")
	if err != nil {
		return nil, err
	}
	o := &objects{config: config, namespace: namespace}
	if o.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	o.discovery, err = discovery.NewDiscoveryClientForConfig(config)
	return o, err
}

// leave deletes the namespace. It does not wait, because the API server ends after the tests.
func (o *objects) leave() {
	_ = o.client.Resource(namespaces).Delete(context.Background(), o.namespace, metav1.DeleteOptions{})
}

// resource returns the client for a resource. If namespace is empty, it uses o.namespace.
func (o *objects) resource(ctx context.Context, name, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := o.mapping(ctx, name)
	if err != nil {
		return nil, err
	}
	client := o.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return client, nil
	}
	if namespace == "" {
		namespace = o.namespace
	}
	return client.Namespace(namespace), nil
}

// builtinMappings caches the mappings of built-in types, which are the same on each server.
var builtinMappings sync.Map

// mapping resolves the name of a resource. It does not cache custom resources, because CRDs are created and deleted.
func (o *objects) mapping(ctx context.Context, name string) (*meta.RESTMapping, error) {
	if known, ok := builtinMappings.Load(name); ok {
		return known.(*meta.RESTMapping), nil
	}
	answer, err := mapper.New(o.discovery).Resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	mapping := answer.Mappings[0]
	if scheme.Scheme.IsGroupRegistered(mapping.Resource.Group) {
		builtinMappings.Store(name, mapping)
	}
	return mapping, nil
}

// apply applies each document of a YAML file, and waits until CRDs and bindings
// are in force.
func (o *objects) apply(path string, replace *strings.Replacer) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(replace.Replace(string(text))), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := documents.Decode(u); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := o.applyOne(context.Background(), u); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

func (o *objects) applyOne(ctx context.Context, u *unstructured.Unstructured) error {
	gvk := u.GroupVersionKind()
	var client dynamic.ResourceInterface
	// A CRD can be established before discovery lists it.
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (_ bool, err error) {
		client, err = o.resource(ctx, fmt.Sprintf("%s.%s.%s", gvk.Kind, gvk.Version, gvk.Group), u.GetNamespace())
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", gvk, err)
	}
	if _, err := client.Apply(ctx, u.GetName(), u, metav1.ApplyOptions{FieldManager: "script", Force: true}); err != nil {
		return err
	}
	switch gvk.Kind {
	case "CustomResourceDefinition":
		return o.await(ctx, client, u.GetName(), "", func(e watch.Event) bool {
			return isEstablished(e.Object.(*unstructured.Unstructured))
		})
	case "RoleBinding", "ClusterRoleBinding":
		return o.awaitBinding(ctx, u)
	default:
		return nil
	}
}

func isEstablished(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}

// splitArg splits TYPE/NAME or TYPE/NAMESPACE/NAME. namespace is empty if there is none.
func splitArg(arg string) (resource, namespace, name string) {
	resource, name, _ = strings.Cut(arg, "/")
	if before, after, found := strings.Cut(name, "/"); found {
		namespace, name = before, after
	}
	return resource, namespace, name
}

// remove deletes TYPE/NAME or TYPE/NAMESPACE/NAME, and returns when it is gone.
func (o *objects) remove(arg string) error {
	ctx := context.Background()
	resource, namespace, name := splitArg(arg)
	client, err := o.resource(ctx, resource, namespace)
	if err != nil {
		return err
	}
	doomed, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	// A controller may create another object with the same name at once.
	uid := doomed.GetUID()
	if err := client.Delete(ctx, name, *metav1.NewPreconditionDeleteOptions(string(uid))); err != nil {
		return err
	}
	left, err := client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && left.GetUID() != uid:
		return nil
	case err != nil:
		return err
	}
	// Watch from this version, because the object may be gone before the watch starts.
	return o.await(ctx, client, name, left.GetResourceVersion(), func(e watch.Event) bool {
		u, ok := e.Object.(*unstructured.Unstructured)
		return e.Type == watch.Deleted && ok && u.GetUID() == uid
	})
}

// await watches an object until done returns true, from a resourceVersion, or from its current state if that is empty.
func (o *objects) await(
	ctx context.Context, client dynamic.ResourceInterface, name, resourceVersion string, done func(watch.Event) bool,
) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	w, err := client.Watch(ctx, metav1.ListOptions{
		FieldSelector:   fields.OneTermEqualSelector("metadata.name", name).String(),
		ResourceVersion: resourceVersion,
	})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if done(e) {
			return nil
		}
	}
	return fmt.Errorf("wait for %s: %w", name, context.Cause(ctx))
}

func (o *objects) patch(arg, patch string) error {
	return o.patchAs("kubectl-patch", "", arg, patch)
}

// patchAs patches TYPE/NAME as a field manager. If subresource is empty, it is the object, or status if only that is patched.
func (o *objects) patchAs(manager, subresource, arg, patch string) error {
	ctx := context.Background()
	resource, namespace, name := splitArg(arg)
	client, err := o.resource(ctx, resource, namespace)
	if err != nil {
		return err
	}
	var subresources []string
	if subresource != "" {
		subresources = []string{subresource}
	} else if strings.Contains(patch, `"status"`) && !strings.Contains(patch, `"spec"`) {
		subresources = []string{"status"}
	}
	_, err = client.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: manager}, subresources...)
	return err
}

// warn creates a Warning Event about TYPE/NAME, as a controller would.
func (o *objects) warn(arg, reason, message string) error {
	ctx := context.Background()
	resource, name, _ := strings.Cut(arg, "/")
	client, err := o.resource(ctx, resource, "")
	if err != nil {
		return err
	}
	about, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	event := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": corev1.EventTypeWarning, "reason": reason, "message": message,
		"metadata": map[string]any{"generateName": name + "."},
		"involvedObject": map[string]any{
			"apiVersion": about.GetAPIVersion(), "kind": about.GetKind(), "namespace": about.GetNamespace(), "name": name, "uid": string(about.GetUID()),
		},
	}}
	_, err = o.client.Resource(corev1.SchemeGroupVersion.WithResource("events")).Namespace(o.namespace).Create(ctx, event, metav1.CreateOptions{})
	return err
}

// isLater reports whether kubectl-patch wrote an object after the second of its creation.
func (o *objects) isLater(arg string) (bool, error) {
	resource, name, _ := strings.Cut(arg, "/")
	client, err := o.resource(context.Background(), resource, "")
	if err != nil {
		return false, err
	}
	u, err := client.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	created := u.GetCreationTimestamp()
	return slices.ContainsFunc(u.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == "kubectl-patch" && e.Time != nil && created.Before(e.Time)
	}), nil
}
