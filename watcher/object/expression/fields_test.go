package expression

import (
	"slices"
	"testing"
)

// TestFieldPaths checks the paths found for each way to select a field.
func TestFieldPaths(t *testing.T) {
	for text, want := range map[string][]string{
		"object.status.readyReplicas == 3":                                              {"status.readyReplicas"},
		"has(object.status.phase) && old.status.phase != ''":                            {"status.phase"},
		"object['spec'].replicas > 1":                                                   {"spec.replicas"},
		"object.?spec.?replicas.orValue(1) > 1":                                         {"spec.replicas"},
		"object.spec[?'replicas'].orValue(1) > 1":                                       {"spec.replicas"},
		"object.metadata.labels['app.kubernetes.io/name'] == 'x'":                       {"metadata.labels[app.kubernetes.io/name]"},
		"object.spec.containers.exists(c, c.image == 'x')":                              {"spec.containers", "spec.containers[*].image"},
		"object.spec.containers[0].image == 'x'":                                        {"spec.containers[*].image"},
		"object.spec.a.exists(a, a.b.all(b, b.c > a.d))":                                {"spec.a", "spec.a[*].b", "spec.a[*].b[*].c", "spec.a[*].d"},
		"object.spec.a.exists(object, object.b)":                                        {"spec.a", "spec.a[*].b"},
		"object.spec.a.filter(a, a.b).map(x, x.c).exists(y, y.d)":                       {"spec.a", "spec.a[*].b"},
		"changed('spec.replicas') || changed('spec.a[name=x].b')":                       {"spec.replicas", "spec.a[*].b"},
		"changed('spec..image')":                                                        {"spec"},
		"jsonpath(object, '{.status.conditions[?(@.type==\"X\")].status}') == ['True']": {"status.conditions[*].status"},
		"ready(object) && age(object) > duration('1m')":                                 nil,
		"changes.exists(c, c.path == 'x') && type == 'ADDED'":                           nil,
	} {
		x, err := Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var got []string
		for _, f := range x.FieldPaths() {
			got = append(got, f.String())
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
