package resume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/testdata/object"
	"dwatch/watcher/event"
)

var mine = Header{Server: "host:6443", Cluster: "uid", Selection: event.Selection{Resources: []event.SelectedResource{{Resource: "pods"}}, Namespaces: []string{"a"}}}

func targetOf(resource, namespace, name string) event.Target {
	_, gr := schema.ParseResourceArg(resource)
	version := schema.GroupVersion{Group: gr.Group, Version: "v1"}
	return event.Target{
		Mapping: &meta.RESTMapping{
			Resource:         version.WithResource(gr.Resource),
			GroupVersionKind: version.WithKind("Kind"),
			Scope:            meta.RESTScopeNamespace,
		},
		Namespace: namespace, Name: name,
	}
}

var pods = targetOf("pods", "a", "")

// parse parses an event of the form TYPE NAME/UID/RESOURCEVERSION. A status event has only a type.
func parse(t testing.TB, target event.Target, text string) event.Event {
	t.Helper()
	kind, state, isObject := strings.Cut(text, " ")
	e := event.Event{Type: event.Type(kind), Target: target}
	if !isObject {
		return e
	}
	parts := strings.Split(state, "/")
	e.Object = object.Parse(t, fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Kind","metadata":{"namespace":"a","name":%q,"uid":%q,"resourceVersion":%q}}`, parts[0], parts[1], parts[2]))
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

// copyOf returns the path of a file that a process leaves if it is killed now.
func copyOf(t testing.TB, f *File) string {
	t.Helper()
	path := newPath(t)
	if err := f.db.View(func(tx *bolt.Tx) error { return tx.CopyFile(path, 0o600) }); err != nil {
		t.Error(err)
	}
	return path
}

// report opens the file at path, reports events of a target, and closes the file.
func report(t testing.TB, path string, target event.Target, events ...string) {
	t.Helper()
	f := openMine(t, path)
	r := newReader(t, f)
	r.report(target, events...)
	if err := errors.Join(r.stage.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// reader is the Sink downstream of a Stage. It sends a line for each object.
type reader struct {
	t     testing.TB
	stage *Stage
	got   chan string // the lines of each batch
	// failed receives the error of the file between two batches.
	failed chan string
	// refuse, if not nil, is returned for batches.
	refuse error
	// onDeliver, if not nil, is called at the start of each batch.
	onDeliver func()
}

func newReader(t testing.TB, f *File) *reader {
	r := &reader{t: t, got: make(chan string, 1000), failed: make(chan string, 1)}
	r.stage = f.NewStage(r, func(err error) { r.failed <- err.Error() })
	return r
}

// Deliver implements event.Sink.
func (r *reader) Deliver(_ context.Context, batch []event.Event) error {
	if r.onDeliver != nil {
		r.onDeliver()
	}
	if r.refuse != nil {
		return r.refuse
	}
	var text strings.Builder
	for _, e := range batch {
		if !e.Type.IsStatus() {
			fmt.Fprintf(&text, "%s %s\n", e.Type, e.Object.Name)
		}
	}
	r.got <- text.String()
	return nil
}

// deliver delivers events of a target as one batch.
func (r *reader) deliver(target event.Target, events ...string) error {
	var batch []event.Event
	for _, text := range events {
		batch = append(batch, parse(r.t, target, text))
	}
	return r.stage.Deliver(r.t.Context(), batch)
}

// report delivers events one by one.
func (r *reader) report(target event.Target, events ...string) {
	r.t.Helper()
	for _, text := range events {
		if err := r.deliver(target, text); err != nil {
			r.t.Fatal(err)
		}
	}
}

// reported returns the objects of a target in the file as NAME/UID/RESOURCEVERSION, with a leading
// question mark if they are unconfirmed.
func reported(t testing.TB, f *File, target event.Target) (objects []string, complete bool) {
	t.Helper()
	found := map[string]bool{}
	complete, err := f.History(target, func(o event.ReportedObject) {
		text := fmt.Sprintf("%s/%s/%s", o.Name, o.UID, o.ResourceVersion)
		if o.Unconfirmed {
			text += "?"
		}
		found[text] = true
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found)), complete
}

// reportedAt is like reported for a closed file.
func reportedAt(t testing.TB, path string, target event.Target) (objects []string, complete bool) {
	t.Helper()
	f := openMine(t, path)
	defer f.Close()
	return reported(t, f, target)
}
