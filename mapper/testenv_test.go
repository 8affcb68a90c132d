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

// counter counts the requests that go through it.
type counter struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (c counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.count.Add(1)
	return c.next.RoundTrip(r)
}

// fresh returns a Mapper that knows nothing and the number of its requests.
func fresh(t testing.TB) (*Mapper, *atomic.Int64) {
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

// definition is a CRD.
type definition struct {
	group, plural, singular, kind string
	shortNames, categories        []string
	versions                      []string
}

// define creates CRDs, waits until discovery names them, and removes them when
// the test has ended.
func define(t testing.TB, definitions ...definition) {
	t.Helper()
	for _, d := range definitions {
		create(t, crds, d.object())
	}
	for _, d := range definitions {
		awaitServed(t, schema.GroupResource{Group: d.group, Resource: d.plural}, true)
	}
}

func (d definition) object() *unstructured.Unstructured {
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
				"shortNames": list2any(d.shortNames), "categories": list2any(d.categories),
			},
		},
	}}
}

func list2any(strs []string) []any {
	var result []any
	for _, s := range strs {
		result = append(result, s)
	}
	return result
}

// create creates an object and removes it when the test has ended, which waits
// until it has gone: the next test may make it again. The server at times gives up the
// end of a definition until that changes, when storage was "(re)initializing": it takes
// what it noted of that for the change after which it would try again.
func create(t testing.TB, gvr schema.GroupVersionResource, object *unstructured.Unstructured) {
	t.Helper()
	resources := dynamic.NewForConfigOrDie(admin(t)).Resource(gvr)
	if _, err := resources.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background() // the test's own has ended
		if err := resources.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		looks := 0
		await(t, object.GetName()+" to go", func() bool {
			_, err := resources.Get(ctx, object.GetName(), metav1.GetOptions{})
			if looks++; looks%100 == 0 {
				touch := fmt.Appendf(nil, `{"metadata":{"annotations":{"looks":"%d"}}}`, looks)
				_, err = resources.Patch(ctx, object.GetName(), types.MergePatchType, touch, metav1.PatchOptions{})
			}
			return apierrors.IsNotFound(err)
		})
	})
}

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

// await returns when done does, and fails the test when that takes minutes.
func await(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
