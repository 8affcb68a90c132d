package output

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"dwatch/watcher/event"
)

// TestLooksAt checks which members of an object a template reads, as far as its text shows.
func TestLooksAt(t *testing.T) {
	all := members(nil)
	for text, want := range map[string]members{
		`{.metadata.name} {.metadata.labels.app}{"\n"}`:   {"metadata": {"name", "labels"}},
		`{.metadata.name}{.metadata}{.metadata.uid}`:      {"metadata": nil},
		`{.spec.containers[*].name}`:                      {"spec": {"containers"}},
		`{range .spec.containers[*]}{.name}{end}`:         {"spec": {"containers"}, "name": nil},
		`{range .spec}{.containers[0].name}{end}`:         {"spec": nil, "containers": nil},
		`{.metadata.annotations.example\.com/a}`:          {"metadata": {"annotations"}},
		`{$.kind}{@.spec['containers','volumes']}`:        {"kind": nil, "spec": nil},
		`{.status.conditions[?(@.type=="Ready")].status}`: {"status": {"conditions"}},
		`{"text"}{1}`: {},
		`{..name}`:    all,
		`{.*}`:        all,
		`{@}`:         all,
		`{.spec`:      all,
		`{['kind']}`:  {"kind": nil},
	} {
		if diff := cmp.Diff(want, members{}.with(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

// TestReduce checks that a template prints the same for an object that is reduced to the members that it reads.
func TestReduce(t *testing.T) {
	const content = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","labels":{"a":"1"},"\u0075id":"3"},"spec":{"containers":[{"name":"a"},{"name":"b"}],"size":9007199254740993},"status":"odd","list":[1,2]}`
	o := object(t, content)
	for _, text := range []string{
		`{.metadata.name} {.metadata.labels}`, `{.metadata.uid}`, `{.metadata}`, `{.nothing.there}`, `{.status.phase}`, `{.list[1]}`,
		`{range .spec.containers[*]}{.name},{end}{.kind}`, `{range .spec}{.containers[1].name}{end}{.spec.size}`, `{.spec..name}`,
		`{$.kind}{@.spec['containers','size']}`, `{.spec.containers[?(@.name=="b")]}`, `{['kind']}`, `{.spec.containers[0]['name']}`,
	} {
		options := template(t, "jsonpath", text)
		got := printed(t, options, event.Event{Type: event.Added, Object: o})
		options.Template.reads = nil
		if want := printed(t, options, event.Event{Type: event.Added, Object: o}); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got, want := (members{"metadata": {"labels", "uid"}, "status": {"x"}, "list": nil}).reduce(o).Raw(),
		`{"apiVersion":"v1","kind":"Pod","metadata":{"labels":{"a":"1"},"\u0075id":"3"},"status":"odd","list":[1,2]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestTemplateLooksAt(t *testing.T) {
	for text, want := range map[string]bool{
		`{.metadata.name}`: false, `{.spec}`: false, `{.metadata}`: true, `{.metadata.managedFields}`: true, `{..manager}`: true,
	} {
		if got := template(t, "jsonpath", text).Template.MayRead("metadata", "managedFields"); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	if !template(t, "go-template", `{{.kind}}`).Template.MayRead("metadata", "managedFields") {
		t.Error("MayRead of a Go template is false, although its members are unknown")
	}
	if template(t, "custom-columns", `NAME:.metadata.name`).Template.MayRead("metadata", "managedFields") {
		t.Error("MayRead of columns is true, although none reads the managed fields")
	}
}
