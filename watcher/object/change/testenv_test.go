package change

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"dwatch/testdata/testenv"
)

// patience is the timeout for events that a test expects from the server.
const patience = 2 * time.Minute

// shared is a server with controllers and objects of each kind. It starts when the first test needs it, because fuzz tests
// and benchmarks do not.
var shared = sync.OnceValues(func() (*testenv.Cluster, error) {
	c, err := testenv.StartCluster("--controllers")
	if err != nil {
		return nil, err
	}
	started = c
	_, err = c.Run("apply", "testdata/objects.yaml", "testdata/rollout.yaml",
		"../../codec/testdata/crds.yaml", "../../codec/testdata/objects.yaml")
	return c, err
})

var started *testenv.Cluster

func TestMain(m *testing.M) {
	code := m.Run()
	if started != nil {
		if err := started.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

func cluster(t *testing.T) *testenv.Cluster {
	t.Helper()
	c, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start starts an API server for one test.
func start(t *testing.T, flags ...string) *testenv.Cluster {
	t.Helper()
	c, err := testenv.StartCluster(flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// client returns a client with that user agent.
func client(t *testing.T, c *testenv.Cluster, name string) dynamic.Interface {
	t.Helper()
	config, err := c.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	config.UserAgent = name
	return dynamic.NewForConfigOrDie(config)
}

// objects contains objects by resource, namespace and name.
type objects map[string]*unstructured.Unstructured

// change is an update of an object.
type change struct {
	resource schema.GroupVersionResource
	old, new *unstructured.Unstructured
}

// recorder records all updates of objects of some resources.
type recorder struct {
	mu      sync.Mutex
	changes []change
	last    objects
	updated chan struct{} // receives a value after each event
	stop    func()        // can be called several times
}

// record watches resources until stop is called or the test ends.
func record(t *testing.T, client dynamic.Interface, resources ...schema.GroupVersionResource) *recorder {
	t.Helper()
	r := &recorder{last: objects{}, updated: make(chan struct{}, 1)}
	var watches sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = func() {
		cancel()
		watches.Wait()
	}
	t.Cleanup(r.stop)
	for _, resource := range resources {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			r.add(resource, watch.Event{Type: watch.Added, Object: &list.Items[i]})
		}
		w, err := client.Resource(resource).Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		watches.Go(func() {
			for e := range w.ResultChan() {
				r.add(resource, e)
			}
		})
	}
	return r
}

func (r *recorder) add(resource schema.GroupVersionResource, e watch.Event) {
	object, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return // the watch ended
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := fmt.Sprint(resource.Resource, "/", object.GetNamespace(), "/", object.GetName())
	switch e.Type {
	case watch.Modified:
		r.changes = append(r.changes, change{resource, r.last[key], object})
		r.last[key] = object
	case watch.Added:
		r.last[key] = object
	case watch.Deleted:
		delete(r.last, key)
	}
	select {
	case r.updated <- struct{}{}:
	default:
	}
}

// await waits until the latest states of all objects satisfy the condition.
func (r *recorder) await(t *testing.T, what string, wanted func(last objects) bool) {
	t.Helper()
	timeout := time.After(patience)
	for {
		r.mu.Lock()
		done := wanted(r.last)
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-r.updated:
		case <-timeout:
			t.Fatalf("timeout after %v waiting for %s", patience, what)
		}
	}
}

// all returns the recorded updates.
func (r *recorder) all() []change {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]change(nil), r.changes...)
}
