package codec_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/watcher"
	"dwatch/watcher/event"
)

// TestLister compares the objects of client-go's lister with a stock list, for all types.
func TestLister(t *testing.T) {
	resources := watchable(t)
	config := config(t, "admin")
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	stock := dynamic.NewForConfigOrDie(config)
	for _, managedFields := range []bool{false, true} {
		for _, resource := range resources {
			w, err := watcher.New(watcher.Options{
				Config: config, HTTP: client, KeepContent: true, KeepManagedFields: managedFields,
				Targets: []event.Target{{Mapping: &meta.RESTMapping{Resource: resource, Scope: meta.RESTScopeRoot}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			// Objects that change in between, such as a Lease, may differ, but not in each attempt.
			diff := "never compared"
			for try := 0; try < 10 && diff != ""; try++ {
				diff = diffLists(t, w, stock.Resource(resource), managedFields)
			}
			if diff != "" {
				t.Errorf("%s: stock (-), dwatch (+):\n%.2000s", resource.GroupResource(), diff)
			}
		}
	}
}

func diffLists(t *testing.T, w *watcher.Watcher, stock dynamic.ResourceInterface, managedFields bool) string {
	t.Helper()
	list, err := stock.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := w.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		u := &list.Items[i]
		if !managedFields {
			u.SetManagedFields(nil)
		}
		want[u.GetNamespace()+"/"+u.GetName()] = u
	}
	for _, o := range objects {
		if got[o.Namespace+"/"+o.Name], err = o.Decode(); err != nil {
			t.Fatal(err)
		}
	}
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}
