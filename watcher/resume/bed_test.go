package resume

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	bolt "go.etcd.io/bbolt"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/watcher/event"
	"dwatch/watcher/shallow"
)

var mine = Header{Server: "host:6443", Cluster: "uid", Arguments: "pods in namespace a"}

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

// event is written as TYPE NAME/UID/RESOURCEVERSION; a mark is only its type.
func parse(t testing.TB, target event.Target, text string) event.Event {
	t.Helper()
	kind, state, isObject := strings.Cut(text, " ")
	e := event.Event{Type: event.Type(kind), Target: target}
	if !isObject {
		return e
	}
	parts := strings.Split(state, "/")
	var err error
	e.Object, err = shallow.Parse(fmt.Appendf(nil,
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

// copyOf returns the path of what a process that is killed now would leave.
func copyOf(t testing.TB, f *File) string {
	t.Helper()
	path := newPath(t)
	if err := f.db.View(func(tx *bolt.Tx) error { return tx.CopyFile(path, 0o600) }); err != nil {
		t.Error(err)
	}
	return path
}

// tell opens the file at path, records events of a target, and closes it.
func tell(t testing.TB, path string, target event.Target, events ...string) {
	t.Helper()
	f := openMine(t, path)
	r := newReader(t, f)
	r.tell(target, events...)
	if err := errors.Join(r.recorder.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// reader prints to a Recorder, and is what it writes to.
type reader struct {
	t           testing.TB
	recorder    *Recorder
	emit        func(event.Event) error
	flush       func() error
	got, failed chan string
	// refuse, if not nil, is the error of the next write.
	refuse atomic.Pointer[error]
	// onWrite, if not nil, is called first at each write.
	onWrite func()
}

func newReader(t testing.TB, f *File) *reader {
	r := &reader{t: t, got: make(chan string, 1000), failed: make(chan string, 1)}
	r.recorder = f.Record(r, func(err error) { r.failed <- err.Error() })
	r.emit, r.flush = r.recorder.Stage(r.print, func() error { return nil })
	return r
}

func (r *reader) Write(text []byte) (int, error) {
	if r.onWrite != nil {
		r.onWrite()
	}
	if err := r.refuse.Load(); err != nil {
		return 0, *err
	}
	r.got <- string(text)
	return len(text), nil
}

func (r *reader) print(e event.Event) error {
	if e.Type.IsMark() {
		return nil
	}
	_, err := fmt.Fprintf(r.recorder, "%s %s\n", e.Type, e.Object.Name)
	return err
}

// tell emits and flushes events, one by one.
func (r *reader) tell(target event.Target, events ...string) {
	r.t.Helper()
	for _, text := range events {
		if err := r.emit(parse(r.t, target, text)); err != nil {
			r.t.Fatal(err)
		}
		if err := r.flush(); err != nil {
			r.t.Fatal(err)
		}
	}
}

// told returns what the file has about a target, as NAME/UID/RESOURCEVERSION,
// with a question mark where that is unsure.
func told(t testing.TB, f *File, target event.Target) (objects []string, complete bool) {
	t.Helper()
	found := map[string]bool{}
	complete, err := f.Past(target, func(o event.Reported) {
		text := fmt.Sprintf("%s/%s/%s", o.Name, o.UID, o.ResourceVersion)
		if o.Unsure {
			text += "?"
		}
		found[text] = true
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(found)), complete
}

// toldAt is told of a file that is not open.
func toldAt(t testing.TB, path string, target event.Target) (objects []string, complete bool) {
	t.Helper()
	f := openMine(t, path)
	defer f.Close()
	return told(t, f, target)
}
