package plan

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"dwatch/watcher/event"
)

// TestNamesThatTheServerRefuses checks that the API server rejects all names that checkName rejects.
func TestNamesThatTheServerRefuses(t *testing.T) {
	client := dynamic.NewForConfigOrDie(admin(t))
	for group, resources := range subdomains {
		for _, resource := range resources {
			gr := schema.GroupResource{Group: group, Resource: resource}
			target := first(t, of(gr.String())).Targets[0]
			for _, name := range []string{"A", "a b", "a_b", "a:b", "a,b", "a\n", "-a"} {
				if err := create(t, client, target, name); !refusesName(err) {
					t.Errorf("%s %q: got error %v, want an invalid name", gr, name, err)
				}
			}
		}
	}
}

// create makes the server validate an object that only has a name.
func create(t *testing.T, client dynamic.Interface, target event.Target, name string) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(target.Mapping.GroupVersionKind)
	object.SetName(name)
	resource := client.Resource(target.Resource())
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	if !target.Namespaced() {
		_, err := resource.Create(t.Context(), object, dry)
		return err
	}
	_, err := resource.Namespace(metav1.NamespaceDefault).Create(t.Context(), object, dry)
	return err
}

func refusesName(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.name" {
			return true
		}
	}
	return false
}
