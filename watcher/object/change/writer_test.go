package change

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWriter(t *testing.T) {
	const second = `2026-11-21T10:00:02Z`
	entry := func(manager, at, set string) string {
		return `{manager: ` + manager + `, operation: Update, apiVersion: v1, time: "` + at + `", fieldsType: FieldsV1, fieldsV1: ` + set + `}`
	}
	status := func(manager, at, set string) string {
		return strings.Replace(entry(manager, at, set), "{", "{subresource: status, ", 1)
	}
	object := func(content string, entries ...string) string {
		text := `{metadata: {managedFields: [`
		for _, e := range entries {
			text += e + ", "
		}
		return text + `]}, ` + content + `}`
	}
	const first = `2026-11-21T10:00:01Z`
	for _, c := range []struct{ name, old, new, want string }{
		{"the only owner", object(`spec: {replicas: 1}`, entry("a", first, `{"f:spec": {"f:replicas": {}}}`)),
			object(`spec: {replicas: 2}`, entry("b", second, `{"f:spec": {"f:replicas": {}}}`)), "spec.replicas b"},
		{"the deepest owner", object(`data: {a: x}`, entry("a", first, `{"f:data": {".": {}, "f:a": {}}}`)),
			object(`data: {a: z}`, entry("a", first, `{"f:data": {}}`), entry("b", first, `{"f:data": {"f:a": {}}}`)), "data.a b"},
		{"in an atomic value", object(`spec: {selector: {a: {b: 1}}}`, entry("a", first, `{"f:spec": {"f:selector": {}}}`)),
			object(`spec: {selector: {a: {b: 2}}}`, entry("b", second, `{"f:spec": {"f:selector": {}}}`)), "spec.selector.a.b b"},
		{"in an item", object(`spec: {l: [{name: x, v: 1}]}`, entry("a", first, `{"f:spec": {"f:l": {'k:{"name":"x"}': {".": {}, "f:v": {}}}}}`)),
			object(`spec: {l: [{name: x, v: 2}]}`, entry("a", first, `{"f:spec": {"f:l": {'k:{"name":"x"}': {".": {}}}}}`), entry("b", second, `{"f:spec": {"f:l": {'k:{"name":"x"}': {"f:v": {}}}}}`)), "spec.l[name=x].v b"},
		{"a value in a set", object(`metadata: {}`),
			`{metadata: {finalizers: [a/b], managedFields: [` + entry("a", first, `{"f:metadata": {"f:finalizers": {".": {}}}}`) + `, ` + entry("b", second, `{"f:metadata": {"f:finalizers": {'v:"a/b"': {}}}}`) + `]}}`, "metadata.finalizers "},
		{"several owners, one with a new time", object(`x: {a: 1}`, entry("a", first, `{"f:x": {"f:a": {}}}`), entry("b", first, `{"f:x": {"f:a": {}}}`)),
			object(`x: {a: 2}`, entry("a", first, `{"f:x": {"f:a": {}}}`), entry("b", second, `{"f:x": {"f:a": {}}}`)), "x.a b"},
		{"several owners, one with new fields", object(`x: {a: 1}`, entry("a", first, `{"f:x": {"f:a": {}}}`), entry("b", first, `{"f:x": {"f:b": {}}}`)),
			object(`x: {a: 2}`, entry("a", first, `{"f:x": {"f:a": {}}}`), entry("b", first, `{"f:x": {"f:a": {}, "f:b": {}}}`)), "x.a b"},
		{"several owners, none of which changed", object(`x: {a: 1}`, entry("a", first, `{"f:x": {"f:a": {}}}`), entry("b", first, `{"f:x": {"f:a": {}}}`)),
			object(`x: {a: 2}`, entry("a", first, `{"f:x": {"f:a": {}}}`), entry("b", first, `{"f:x": {"f:a": {}}}`)), "x.a "},
		{"no owner", object(`x: {a: 1}`, entry("a", first, `{"f:x": {"f:b": {}}}`)), object(`x: {a: 2}`, entry("a", second, `{"f:x": {"f:b": {}}}`)), "x.a "},
		{"added as a whole, with an owner of a field in it", object(`y: 1`), object(`y: 1, x: {a: 2}`, entry("a", second, `{"f:x": {"f:a": {}}}`)), "x a"},
		{"removed", object(`x: 1, y: 1`, entry("a", first, `{"f:x": {}, "f:y": {}}`), entry("b", first, `{"f:z": {}}`)),
			object(`y: 1`, entry("a", first, `{"f:y": {}}`), entry("b", second, `{"f:z": {}}`)), "x b"},
		{"removed in the same second", object(`x: 1, y: 1`, entry("a", first, `{"f:x": {}, "f:y": {}}`)), object(`y: 1`, entry("a", first, `{"f:y": {}}`)), "x "},
		{"removed, and two managers have a new time", object(`x: 1`, entry("a", first, `{}`)), object(``, entry("a", second, `{"f:y": {}}`), entry("b", second, `{"f:y": {}}`)), "x "},
		{"removed, and the server merged old managers", object(`x: 1`, entry("a", first, `{"f:x": {}}`)), object(``, entry("ancient-changes", first, `{}`), entry("b", second, `{}`)), "x b"},
		{"removed, and later another manager wrote the status", object(`spec: {x: 1}`, entry("a", first, `{"f:spec": {"f:x": {}}}`), status("b", first, `{"f:status": {"f:n": {}}}`)),
			object(`spec: {}`, entry("a", first, `{}`), status("b", second, `{"f:status": {"f:n": {}}}`)), "spec.x "},
		{"removed from the metadata, and later another manager wrote the status", `{metadata: {labels: {x: a}, managedFields: [` + status("b", first, `{"f:status": {"f:n": {}}}`) + `]}}`,
			`{metadata: {managedFields: [` + status("b", second, `{"f:status": {"f:n": {}}}`) + `]}}`, "metadata.labels "},
		{"removed, while another manager wrote the status", object(`spec: {x: 1}`, entry("a", first, `{"f:spec": {"f:x": {}}}`)),
			object(`spec: {}`, entry("a", second, `{}`), status("b", second, `{"f:status": {"f:n": {}}}`)), "spec.x a"},
		{"removed from the status", object(`status: {x: 1}`, status("b", first, `{"f:status": {"f:x": {}}}`)),
			object(`status: {}`, status("b", second, `{}`)), "status.x b"},
		{"set by the server in an item that another manager owns", object(`spec: {type: a, l: [{name: x}]}`, entry("a", first, `{"f:spec": {"f:l": {'k:{"name":"x"}': {".": {}, "f:name": {}}}}}`)),
			object(`spec: {type: a, l: [{name: x, port: 1}]}`, entry("a", first, `{"f:spec": {"f:l": {'k:{"name":"x"}': {".": {}, "f:name": {}}}}}`), entry("b", first, `{"f:spec": {"f:type": {}}}`)), "spec.l[name=x].port "},
		{"owned by ancient-changes", object(`x: {a: 1}`), object(`x: {a: 2}`, entry("ancient-changes", first, `{"f:x": {}}`)), "x.a "},
		{"no managed fields", `{a: 1}`, `{a: 2}`, "a "},
		{"invalid managed fields", `{a: 1}`, `{a: 2, metadata: {managedFields: [1, {fieldsV1: x}, {manager: 5}]}}`, "a "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diffObjects(decode(t, c.old), decode(t, c.new), Options{Noise: Noise{Paths: patterns(t, "metadata.managedFields")}})
			i := slices.IndexFunc(r.Changes, func(c Change) bool { return c.Path[0].Field != "metadata" || len(r.Changes) == 1 })
			if got := r.Changes[i].Path.String() + " " + r.Changes[i].Writer.Manager; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestWriterFields checks all fields of a Writer, with and without a time.
func TestWriterFields(t *testing.T) {
	old := decode(t, `{spec: {replicas: 1}, status: {replicas: 1}}`)
	new := decode(t, `{spec: {replicas: 2}, status: {replicas: 2}, metadata: {managedFields: [
		{manager: kubectl, operation: Update, apiVersion: apps/v1, subresource: scale, fieldsV1: {"f:spec": {"f:replicas": {}}}},
		{manager: kcm, operation: Apply, apiVersion: apps/v1, subresource: status, time: "2026-11-21T10:00:02Z", fieldsV1: {"f:status": {"f:replicas": {}}}}]}}`)
	r := diffObjects(old, new, Options{Only: patterns(t, "spec", "status")})
	want := []Writer{
		{Manager: "kubectl", Operation: "Update", Subresource: "scale"},
		{Manager: "kcm", Operation: "Apply", Subresource: "status", Time: time.Date(2026, 11, 21, 10, 0, 2, 0, time.UTC)},
	}
	for i, c := range r.Changes {
		if c.Writer != want[i] || !c.Writer.IsKnown() {
			t.Errorf("%+v, want %+v", c.Writer, want[i])
		}
	}
}
