package resume

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher"
)

var mine = Header{Server: "host:6443", Cluster: "uid", Arguments: "pods in namespace a"}

func targetOf(resource, namespace, name string) watcher.Target {
	_, gr := schema.ParseResourceArg(resource)
	version := schema.GroupVersion{Group: gr.Group, Version: "v1"}
	return watcher.Target{
		Mapping: &meta.RESTMapping{
			Resource:         version.WithResource(gr.Resource),
			GroupVersionKind: version.WithKind("Kind"),
			Scope:            meta.RESTScopeNamespace,
		},
		Namespace: namespace, Name: name,
	}
}

var pods = targetOf("pods", "a", "")

// event is written as TYPE NAME/UID/RESOURCEVERSION; a mark is only its type.
func event(t testing.TB, target watcher.Target, text string) watcher.Event {
	t.Helper()
	kind, state, isObject := strings.Cut(text, " ")
	e := watcher.Event{Type: watcher.Type(kind), Target: target}
	if !isObject {
		return e
	}
	parts := strings.Split(state, "/")
	var err error
	e.Object, err = watcher.ParseObject(fmt.Appendf(nil,
		`{"apiVersion":"v1","kind":"Kind","metadata":{"namespace":"a","name":%q,"uid":%q,"resourceVersion":%q}}`, parts[0], parts[1], parts[2]))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func openMine(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path, mine)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "state") }

// deaf is a reader that takes everything.
var deaf = struct {
	next  func(watcher.Event) error
	flush func() error
}{func(watcher.Event) error { return nil }, func() error { return nil }}

func unexpected(t testing.TB) func(error) { return func(err error) { t.Error(err) } }

// tell opens the file at path, records events of a target, and closes it.
func tell(t testing.TB, path string, target watcher.Target, events ...string) {
	t.Helper()
	f := openMine(t, path)
	r := f.Record(deaf.next, deaf.flush, unexpected(t))
	for _, text := range events {
		if err := r.Emit(event(t, target, text)); err != nil {
			t.Fatal(err)
		}
		if err := r.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// told returns what the file has about a target, as NAME/UID/RESOURCEVERSION.
func told(t testing.TB, f *File, target watcher.Target) (objects []string, complete bool) {
	t.Helper()
	found := map[string]bool{}
	complete, err := f.Past(target, func(o watcher.Told) {
		found[fmt.Sprintf("%s/%s/%s", o.Name, o.UID, o.ResourceVersion)] = true
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found)), complete
}

// toldAt is told of a file that is not open.
func toldAt(t testing.TB, path string, target watcher.Target) (objects []string, complete bool) {
	t.Helper()
	f := openMine(t, path)
	defer f.Close()
	return told(t, f, target)
}
