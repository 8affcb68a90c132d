package watcher

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/testdata/testenv"

	"dwatch/watcher/event"
)

var cluster *testenv.Cluster

// TestMain starts a server that supports shards. That does not affect clients that request none.
func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, &cluster, "--apiserver-arg", "feature-gates=ShardedListAndWatch=true"))
}

var configMaps = &meta.RESTMapping{
	Resource:         schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
	GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
	Scope:            meta.RESTScopeNamespace,
}

func newWatcher(t *testing.T, options Options) *Watcher {
	t.Helper()
	var err error
	if options.HTTP, err = rest.HTTPClientFor(options.Config); err != nil {
		t.Fatal(err)
	}
	w, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// sandbox is a namespace for one test, and a client that writes to it.
type sandbox struct {
	t         *testing.T
	namespace string
	client    dynamic.Interface
	config    *rest.Config
}

func newSandbox(t *testing.T, c *testenv.Cluster) *sandbox {
	t.Helper()
	config := config(t, c)
	client := dynamic.NewForConfigOrDie(config)
	namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	ns := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	ns.SetGenerateName("watcher-")
	ns, err := namespaces.Create(t.Context(), ns, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &sandbox{t, ns.GetName(), client, config}
}

func config(t *testing.T, c *testenv.Cluster) *rest.Config {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	return config
}

func (r *sandbox) configMaps() dynamic.ResourceInterface {
	return r.client.Resource(configMaps.Resource).Namespace(r.namespace)
}

func (r *sandbox) create(name string) {
	r.t.Helper()
	cm := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"n": "0"}}}
	cm.SetName(name)
	if _, err := r.configMaps().Create(r.t.Context(), cm, metav1.CreateOptions{}); err != nil {
		r.t.Error(err)
	}
}

func (r *sandbox) update(name string, n int) {
	r.t.Helper()
	patch := fmt.Appendf(nil, `{"data":{"n":"%d"}}`, n)
	if _, err := r.configMaps().Patch(r.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		r.t.Error(err)
	}
}

func (r *sandbox) delete(name string) {
	r.t.Helper()
	if err := r.configMaps().Delete(r.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.t.Error(err)
	}
}

func (r *sandbox) target() event.Target {
	return event.Target{Mapping: configMaps, Namespace: r.namespace}
}

// testRun is a running watch and the events that it has delivered.
type testRun struct {
	t      *testing.T
	cancel context.CancelFunc
	done   chan error

	mu      sync.Mutex
	events  []event.Event
	changed chan struct{}
}

func watchWith(t *testing.T, options Options) *testRun {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w := &testRun{t: t, cancel: cancel, done: make(chan error, 1), changed: make(chan struct{})}
	watcher := newWatcher(t, options)
	go func() { w.done <- watcher.Run(ctx, each(w.emit)) }()
	t.Cleanup(cancel)
	return w
}

func (w *testRun) emit(e event.Event) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.events); n > 0 && e.Time.Before(w.events[n-1].Time) {
		w.t.Errorf("%s has a time that is %v before the preceding %s", e.Type, w.events[n-1].Time.Sub(e.Time), w.events[n-1].Type)
	}
	w.events = append(w.events, e)
	close(w.changed)
	w.changed = make(chan struct{})
	return nil
}

// lines formats the events so far, with data.n of each object.
func (w *testRun) lines() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return linesOf(w.events)
}

func linesOf(events []event.Event) []string {
	var lines []string
	for _, e := range events {
		words := []string{string(e.Type)}
		if e.Initial {
			words = append(words, "initial")
		}
		if e.FinalStateUnknown {
			words = append(words, "unknown")
		}
		if !e.Type.IsStatus() {
			full, err := e.Object.Decode()
			if err != nil {
				panic(err)
			}
			n, _, _ := unstructured.NestedString(full.Object, "data", "n")
			words = append(words, strings.TrimSuffix(e.Object.Name+"="+n, "="))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// await returns when line has been delivered n times.
func (w *testRun) await(line string, n int) {
	w.t.Helper()
	deadline := time.After(time.Minute)
	for {
		w.mu.Lock()
		changed := w.changed
		count := 0
		for _, l := range linesOf(w.events) {
			if l == line {
				count++
			}
		}
		w.mu.Unlock()
		if count >= n {
			return
		}
		select {
		case <-changed:
		case err := <-w.done:
			w.t.Fatalf("the watch ended early: %v\n%s", err, strings.Join(w.lines(), "\n"))
		case <-deadline:
			w.t.Fatalf("%q was not delivered %d times:\n%s", line, n, strings.Join(w.lines(), "\n"))
		}
	}
}

// stop ends the watch and returns the error of Run.
func (w *testRun) stop() error {
	w.t.Helper()
	w.cancel()
	select {
	case err := <-w.done:
		return err
	case <-time.After(time.Minute):
		w.t.Fatal("Run did not return")
		return nil
	}
}

// each returns a Sink that calls emit for each event.
func each(emit func(event.Event) error) event.Sink {
	return event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			if err := emit(e); err != nil {
				return err
			}
		}
		return nil
	})
}
