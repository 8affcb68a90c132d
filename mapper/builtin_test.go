package mapper

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBuiltin checks each built-in resource against a real server, by each of its names.
func TestBuiltin(t *testing.T) {
	server, builtin := New(client(t, admin(t))), NewBuiltin()
	resources, err := builtin.Resources(t.Context(), Watch)
	if err != nil || len(resources) < 40 {
		t.Fatalf("%d resources, %v", len(resources), err)
	}
	for _, r := range resources {
		described := builtin.APIResource(r.Mapping.Resource)
		for _, name := range append([]string{described.Name, described.SingularName, described.Kind, r.Mapping.Resource.GroupResource().String()}, r.ShortNames...) {
			want, got := resolve(t, server, name), resolve(t, builtin, name)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -server +builtin:\n%s", name, diff)
			}
		}
		real := server.APIResource(r.Mapping.Resource)
		if real.Namespaced != described.Namespaced || !cmp.Equal(real.ShortNames, described.ShortNames) {
			t.Errorf("%s: %+v, the server has %+v", r.Name, described, real)
		}
	}
	if _, err := builtin.Resolve(t.Context(), "crontabs.example.com"); !IsUnknown(err) {
		t.Errorf("a custom resource: %v", err)
	}
}
