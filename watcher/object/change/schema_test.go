package change

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"dwatch/mapper"
	"dwatch/testdata/testenv"
)

// objectSchema contains the parts of an OpenAPI v3 schema that describe lists.
type objectSchema struct {
	Ref        string                    `json:"$ref"`
	AllOf      []objectSchema            `json:"allOf"`
	Properties map[string]objectSchema   `json:"properties"`
	Items      *objectSchema             `json:"items"`
	Additional json.RawMessage           `json:"additionalProperties"`
	ListType   string                    `json:"x-kubernetes-list-type"`
	Keys       []string                  `json:"x-kubernetes-list-map-keys"`
	Kinds      []metav1.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
}

// schemas are the schemas of the server by group version, then by name.
type schemas map[string]map[string]objectSchema

func readSchemas(t *testing.T, client rest.Interface) schemas {
	t.Helper()
	read := func(path string, into any) {
		text, err := client.Get().RequestURI(path).DoRaw(t.Context())
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	read("/openapi/v3", &index)
	all := schemas{}
	for path, at := range index.Paths {
		_, version, ok := strings.Cut(path, "/") // api/v1, apis/apps/v1
		if !ok {
			continue
		}
		var document struct {
			Components struct{ Schemas map[string]objectSchema }
		}
		read(at.ServerRelativeURL, &document)
		all[version] = document.Components.Schemas
	}
	return all
}

// find returns the schema of an object's kind, or nil.
func (s schemas) find(object *unstructured.Unstructured) *objectSchema {
	gvk := metav1.GroupVersionKind(object.GroupVersionKind())
	for _, schema := range s[object.GetAPIVersion()] {
		if slices.Contains(schema.Kinds, gvk) && len(schema.Properties) > 0 {
			return &schema
		}
	}
	return nil
}

// resolve returns the schema to which a reference refers.
func (s schemas) resolve(version string, schema objectSchema) objectSchema {
	if len(schema.AllOf) == 1 {
		schema.Ref = schema.AllOf[0].Ref
	}
	if name, ok := strings.CutPrefix(schema.Ref, "#/components/schemas/"); ok {
		return s.resolve(version, s[version][name])
	}
	return schema
}

// listStatistics counts the lists in objects by their schema and by how this package identifies their items.
type listStatistics struct {
	schemas schemas
	counts  map[string]int
	wrong   []string
}

// walk checks all lists in a part of an object.
func (l *listStatistics) walk(object *unstructured.Unstructured, f *fields, path Path, v any, schema objectSchema) {
	schema = l.schemas.resolve(object.GetAPIVersion(), schema)
	var other objectSchema
	if json.Unmarshal(schema.Additional, &other) != nil {
		other = objectSchema{} // a boolean, or nothing
	}
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			next, known := schema.Properties[name]
			if !known {
				next = other
			}
			l.walk(object, f, append(slices.Clip(path), Step{Field: name}), part, next)
		}
	case []any:
		if len(v) > 0 {
			l.checkList(object, f, path, v, schema)
		}
		by := f.identify(path, v, nil)
		for i, part := range v {
			if schema.Items != nil {
				l.walk(object, f, append(slices.Clip(path), by.step(v, i)), part, *schema.Items)
			}
		}
	}
}

// checkList compares how the items of a list are identified with the schema.
func (l *listStatistics) checkList(object *unstructured.Unstructured, f *fields, path Path, list []any, schema objectSchema) {
	managed, set := f.listType(path)
	by := f.identify(path, list, nil)
	want := slices.Sorted(slices.Values(schema.Keys))
	where := fmt.Sprintf("%s %s/%s %s: managed fields have keys %q, set %v; identified by %q; the schema has %q %q",
		object.GetKind(), object.GetNamespace(), object.GetName(), path, managed, set, by.keys, schema.ListType, want)
	if isScalar(list[0]) {
		if set != (schema.ListType == "set") && set {
			l.wrong = append(l.wrong, where)
		}
		l.counts[fmt.Sprintf("scalars, %s: managed fields say set: %v", schema.ListType, set)]++
		return
	}
	how := "by index"
	switch {
	case by.kind == byKey && len(managed) > 0:
		how = "by the key of managed fields"
	case by.kind == byKey:
		how = "by a natural key"
	}
	l.counts[fmt.Sprintf("objects, %s: %s", schema.ListType, how)]++
	for _, id := range by.old {
		if len(managed) > 0 && !isManaged(f, path, id) {
			l.wrong = append(l.wrong, where+": no field set contains "+id)
		}
	}
	isMap := schema.ListType == "map"
	if len(managed) > 0 && (!isMap || !slices.Equal(managed, want)) || isMap && !slices.Equal(by.keys, want) {
		l.wrong = append(l.wrong, where)
	}
}

// isManaged reports whether a field set contains an item with that name.
func isManaged(f *fields, path Path, id string) bool {
	for _, set := range f.fieldSetsAt(path) {
		if set.parts()[id] != nil {
			return true
		}
	}
	return false
}

// listAll returns all objects of the server, of each type that can be watched.
func listAll(t *testing.T, c *testenv.Cluster) (objects []unstructured.Unstructured) {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	known, err := mapper.New(discovery.NewDiscoveryClientForConfigOrDie(config)).Resources(t.Context(), mapper.Watch)
	if err != nil {
		t.Fatal(err)
	}
	admin := client(t, c, "admin")
	for _, r := range known {
		list, err := admin.Resource(r.Mapping.Resource).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, list.Items...)
	}
	return objects
}

// TestListKeys compares how the items of lists are identified with the schema of the server, for all lists in all objects.
func TestListKeys(t *testing.T) {
	c := cluster(t)
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	l, objects := listStatistics{counts: map[string]int{}}, listAll(t, c)
	openAPI := discovery.NewDiscoveryClientForConfigOrDie(config).RESTClient()
	if err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		l.schemas = readSchemas(t, openAPI) // the server adds the schemas of custom resources later
		return !slices.ContainsFunc(objects, func(o unstructured.Unstructured) bool { return l.schemas.find(&o) == nil }), nil
	}); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	for _, object := range objects {
		schema := l.schemas.find(&object)
		kinds[object.GroupVersionKind().String()] = true
		l.walk(&object, &fields{new: managedFieldsOf(text(object.Object)).Raw}, nil, object.Object, *schema)
	}
	for _, where := range l.wrong {
		t.Error(where)
	}
	t.Logf("%d kinds", len(kinds))
	for _, what := range slices.Sorted(maps.Keys(l.counts)) {
		t.Logf("%4d lists of %s", l.counts[what], what)
	}
	if len(kinds) < 55 || l.counts["objects, map: by the key of managed fields"] < 100 {
		t.Error("too few kinds or lists were checked")
	}
}

// TestPatchObjects checks the patch from each object to the next one of its kind, and to an empty object.
func TestPatchObjects(t *testing.T) {
	last := map[string]map[string]any{}
	patches, operations := 0, 0
	for _, object := range listAll(t, cluster(t)) {
		if other := last[object.GetKind()]; other != nil {
			operations += checkPatch(t, other, object.Object)
			check(t, other, object.Object)
			patches++
		}
		operations += checkPatch(t, object.Object, map[string]any{})
		last[object.GetKind()] = object.Object
		patches++
	}
	t.Logf("%d patches with %d operations", patches, operations)
}
