package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// resource is a resource whose objects are written and watched.
type resource struct {
	schema.GroupVersionResource
	kind string
}

var resources = []resource{
	{schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, "ConfigMap"},
	{schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "Secret"},
	{schema.GroupVersionResource{Group: "chaos.dwatch.test", Version: "v1", Resource: "things"}, "Thing"},
}

const (
	// names is the maximum number of objects of a writer, without the sentinel.
	names = 8
	// writeTimeout limits one request of a writer. Servers get killed.
	writeTimeout = 10 * time.Second
	// retryAfter is how long a writer waits after an error.
	retryAfter = 100 * time.Millisecond
)

// writer creates, changes and deletes objects of one resource in one namespace. Nothing else writes these objects, so it
// knows their state. It connects to the server directly, not through the proxy.
type writer struct {
	client dynamic.ResourceInterface
	resource
	namespace string
	// label is the value of the label "chaos", which identifies the objects of an arena.
	label string
	rng   *rand.Rand
	// pace is the mean wait between two changes.
	pace time.Duration
	// modest limits the size of the objects to about 50 KiB.
	modest bool
	// wrote is called with each created or patched state that the server has acknowledged. It may be nil.
	wrote func(state)

	written int // changes that the server has acknowledged
	known   map[string]acknowledged
}

// acknowledged is the last answer of the server about an object.
type acknowledged struct {
	uid     types.UID
	version string // empty if there is no such object
}

// run writes until ctx ends. It finishes the current burst.
func (w *writer) run(ctx context.Context) {
	for ctx.Err() == nil {
		for n := w.burst(); n > 0; n-- {
			w.change(ctx, fmt.Sprintf("object-%d", w.rng.IntN(names)))
		}
		sleep(ctx, time.Duration(w.rng.Int64N(int64(2*w.pace))))
	}
}

// burst returns the number of changes until the next pause.
func (w *writer) burst() int {
	if w.rng.IntN(20) == 0 {
		return 10
	}
	return 1
}

// change makes one change to the object. After an error the outcome is unknown, so change reads the object until that
// succeeds or ctx ends.
func (w *writer) change(ctx context.Context, name string) {
	err := w.try(name)
	for err != nil {
		delete(w.known, name)
		if !sleep(ctx, retryAfter) {
			return
		}
		err = w.look(name)
	}
}

func (w *writer) try(name string) error {
	state, sure := w.known[name]
	switch chance := w.rng.IntN(20); {
	case !sure:
		return w.look(name)
	case state.version == "":
		return w.create(name)
	case chance < 3:
		return w.delete(name)
	case chance < 5: // replace it by another object of the same name
		if err := w.delete(name); err != nil {
			return err
		}
		return w.create(name)
	default:
		return w.patch(name)
	}
}

func (w *writer) look(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	u, err := w.client.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		w.known[name] = acknowledged{}
		return nil
	}
	if err == nil {
		w.known[name] = acknowledged{u.GetUID(), u.GetResourceVersion()}
	}
	return err
}

func (w *writer) create(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	u, err := w.client.Create(ctx, w.object(name), metav1.CreateOptions{})
	return w.note(name, u, err)
}

func (w *writer) patch(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": w.labels()}, "data": w.data()})
	if err != nil {
		return err
	}
	u, err := w.client.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return w.note(name, u, err)
}

func (w *writer) delete(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	err := w.client.Delete(ctx, name, metav1.DeleteOptions{})
	return w.note(name, nil, err)
}

func (w *writer) note(name string, u *unstructured.Unstructured, err error) error {
	if err != nil {
		return err
	}
	w.written++
	is := acknowledged{}
	if u != nil {
		is = acknowledged{u.GetUID(), u.GetResourceVersion()}
		if w.wrote != nil {
			w.wrote(state(is))
		}
	}
	w.known[name] = is
	return nil
}

func (w *writer) object(name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"data": w.data()}}
	u.SetGroupVersionKind(w.GroupVersion().WithKind(w.kind))
	u.SetName(name)
	u.SetLabels(w.labels())
	return u
}

// labels returns labels that match the selector of the arena in two of three cases.
func (w *writer) labels() map[string]string {
	in := "yes"
	if w.rng.IntN(3) == 0 {
		in = "no"
	}
	return map[string]string{"chaos": w.label, "in": in}
}

// data returns random content. It is small in most cases and, unless the writer is modest, 700 KiB in one of 100.
func (w *writer) data() map[string]any {
	size := w.rng.IntN(300)
	switch w.rng.IntN(100) {
	case 0:
		if size = 700 << 10; w.modest {
			size = 50 << 10
		}
	case 1, 2, 3:
		if !w.modest {
			size = 50 << 10
		}
	}
	text := fmt.Sprintf("%d <&>\u2028\n\x00%s", w.rng.Int64(), strings.Repeat("x", size))
	return map[string]any{"n": base64.StdEncoding.EncodeToString([]byte(text))}
}
