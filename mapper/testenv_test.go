package mapper

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/testdata/testenv"
)

var cluster *testenv.Cluster

func TestMain(m *testing.M) { os.Exit(testenv.Main(m, &cluster)) }

var (
	crds        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// counter counts requests.
type counter struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.next.RoundTrip(r)
}

// newCountingMapper returns a new Mapper and its number of requests.
func newCountingMapper(t testing.TB) (*Mapper, *atomic.Int64) {
	t.Helper()
	var count atomic.Int64
	config := admin(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, &count} })
	return New(client(t, config)), &count
}

func admin(t testing.TB) *rest.Config {
	t.Helper()
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func client(t testing.TB, config *rest.Config) *discovery.DiscoveryClient {
	t.Helper()
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// crd describes a CustomResourceDefinition.
type crd struct {
	group, plural, singular, kind string
	shortNames, categories        []string
	versions                      []string
}

// createCRDs creates CRDs and waits until discovery contains them. It deletes them at the end of the test.
func createCRDs(t testing.TB, definitions ...crd) {
	t.Helper()
	for _, d := range definitions {
		create(t, crds, d.object())
	}
	for _, d := range definitions {
		awaitServed(t, schema.GroupResource{Group: d.group, Resource: d.plural}, true)
	}
}

func (d crd) object() *unstructured.Unstructured {
	var versions []any
	for i, name := range d.versions {
		versions = append(versions, map[string]any{
			"name": name, "served": true, "storage": i == 0,
			"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
		})
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": d.plural + "." + d.group},
		"spec": map[string]any{
			"group": d.group, "scope": "Namespaced", "versions": versions,
			"names": map[string]any{
				"plural": d.plural, "singular": d.singular, "kind": d.kind,
				"shortNames": toAny(d.shortNames), "categories": toAny(d.categories),
			},
		},
	}}
}

func toAny(strs []string) []any {
	var result []any
	for _, s := range strs {
		result = append(result, s)
	}
	return result
}

// create creates an object, and deletes it at the end of the test. It waits until the object is
// deleted, because the next test may create it again. Sometimes the server fails to finalize a CRD
// with the message that storage is "(re)initializing", and only retries after the next change. So
// create changes an annotation from time to time.
func create(t testing.TB, gvr schema.GroupVersionResource, object *unstructured.Unstructured) {
	t.Helper()
	resources := dynamic.NewForConfigOrDie(admin(t)).Resource(gvr)
	if _, err := resources.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background() // the context of the test is canceled
		if err := resources.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		attempts := 0
		await(t, "deletion of "+object.GetName(), func() bool {
			_, err := resources.Get(ctx, object.GetName(), metav1.GetOptions{})
			if attempts++; attempts%100 == 0 {
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"attempts":"%d"}}}`, attempts)
				_, err = resources.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
			}
			return apierrors.IsNotFound(err)
		})
	})
}

// awaitServed waits until discovery contains the resource, or does not contain it if want is false.
func awaitServed(t testing.TB, gr schema.GroupResource, want bool) {
	t.Helper()
	d := client(t, admin(t))
	await(t, "discovery of "+gr.String(), func() bool {
		_, lists, _, err := d.GroupsAndMaybeResourcesWithContext(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for gv, list := range lists {
			named := slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == gr.Resource })
			if gv.Group == gr.Group && named {
				return want
			}
		}
		return !want
	})
}

// await waits until done returns true. It fails the test after two minutes.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout waiting for %s", what)
		}
	}
}
