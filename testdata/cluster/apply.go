package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
)

const applyUsage = `cluster apply creates or updates the objects in FILEs (YAML or JSON, any number
of documents, "-" for standard input) by server-side apply. CRDs go first, and
the rest waits until their resources are served.

Usage:
  cluster apply FILE... [flags]

Flags:
`

// applier applies objects to one cluster.
type applier struct {
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	namespace string
	stdout    io.Writer
}

// applyCommand applies the objects of all files named in args.
func applyCommand(ctx context.Context, args []string, stdout io.Writer) error {
	var common clientFlags
	flags := pflag.NewFlagSet("cluster apply", pflag.ContinueOnError)
	common.addTo(flags, "`NS` for namespaced objects that name none (default \"default\")")
	if err := parseFlags(flags, applyUsage, args, stdout); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return badUsage("apply what? Give at least one FILE")
	}
	objects, err := readObjects(flags.Args())
	if err != nil {
		return err
	}
	a, err := newApplier(common, stdout)
	if err != nil {
		return err
	}
	return a.applyAll(ctx, objects)
}

// newApplier returns an applier for the cluster that the flags choose.
func newApplier(common clientFlags, stdout io.Writer) (*applier, error) {
	config, err := common.connect()
	if err != nil {
		return nil, err
	}
	a := &applier{namespace: common.namespace, stdout: stdout}
	if a.namespace == "" {
		a.namespace = metav1.NamespaceDefault
	}
	if a.client, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	if a.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		return nil, err
	}
	a.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(a.discovery))
	return a, nil
}

// readObjects returns the objects in all files, in their order.
func readObjects(files []string) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, file := range files {
		content, err := readFile(file)
		if err != nil {
			return nil, err
		}
		objects, err := decodeObjects(content)
		if err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// readFile returns the content of a file, or of standard input for "-".
func readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(name)
}

// decodeObjects returns the objects in YAML or JSON documents. The items of a
// List count as objects; empty documents do not.
func decodeObjects(content []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		switch {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) == 0:
			continue
		case object.GetKind() == "" || object.GetAPIVersion() == "":
			return nil, errors.New("a document lacks apiVersion or kind")
		case object.IsList():
			err = object.EachListItem(func(item runtime.Object) error {
				objects = append(objects, item.(*unstructured.Unstructured))
				return nil
			})
			if err != nil {
				return nil, err
			}
		default:
			objects = append(objects, object)
		}
	}
}

// applyAll applies all CRDs, waits until they are served, and applies the rest.
func (a *applier) applyAll(ctx context.Context, objects []*unstructured.Unstructured) error {
	var crds, others []*unstructured.Unstructured
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() == crdKind {
			crds = append(crds, object)
		} else {
			others = append(others, object)
		}
	}
	for _, crd := range crds {
		if err := a.apply(ctx, crd); err != nil {
			return err
		}
	}
	for _, crd := range crds {
		if err := a.waitServed(ctx, crd); err != nil {
			return err
		}
	}
	for _, object := range others {
		if err := a.apply(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// apply applies one object and says so.
func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	name := kind.Kind + " " + object.GetName()
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("cannot apply %s: %w", name, err)
	}
	resource := dynamic.ResourceInterface(a.client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if object.GetNamespace() == "" {
			object.SetNamespace(a.namespace)
		}
		resource = a.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
		name = kind.Kind + " " + object.GetNamespace() + "/" + object.GetName()
	}
	how := metav1.ApplyOptions{FieldManager: "cluster-apply", Force: true}
	if _, err := resource.Apply(ctx, object.GetName(), object, how); err != nil {
		return fmt.Errorf("cannot apply %s: %w", name, err)
	}
	fmt.Fprintf(a.stdout, "%s applied\n", name)
	return nil
}
