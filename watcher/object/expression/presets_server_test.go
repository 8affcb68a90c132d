package expression_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"dwatch/testdata/testenv"

	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/expression"
)

const writes = 300

// TestPresetsOnServer makes random writes to a real API server as different field managers. It checks that each preset
// matches exactly the writes that it describes.
func TestPresetsOnServer(t *testing.T) {
	cluster, err := testenv.StartCluster()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.Config("admin")
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &writer{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), client: dynamic.NewForConfigOrDie(config), want: map[string][]string{}}
	w.createObjects()
	found := w.watch(config)
	for range writes {
		w.write()
	}
	w.end()
	select {
	case got := <-found:
		w.compare(got)
	case <-time.After(2 * time.Minute):
		t.Fatal("timeout: the watch did not report the last writes")
	}
}

// compare checks the presets that matched each write.
func (w *writer) compare(got map[string][]string) {
	for rv, want := range w.want {
		if !slices.Equal(got[rv], want) {
			w.Errorf("write %s: got presets %q, want %q", rv, got[rv], want)
		}
		delete(got, rv)
	}
	for rv, words := range got { // events without a write of the test, such as a Pod that gets a deletionTimestamp
		if len(words) > 0 {
			w.Errorf("event %s is not a write of the test: got presets %q, want none", rv, words)
		}
	}
	counts := map[string]int{}
	for _, words := range w.want {
		for _, word := range words {
			counts[word]++
		}
	}
	w.Log(counts)
	for _, word := range judgedPresets {
		if counts[word] < 3 {
			w.Errorf("there were %d writes that match %s, want at least 3", counts[word], word)
		}
	}
}

// judgedPresets are the presets that the test checks.
var judgedPresets = []string{"config", "deleted", "evicted", "manual", "newimage", "restarted", "scaled", "unready"}

// writer writes to its objects and records the presets that match each write.
type writer struct {
	*testing.T
	*rand.Rand
	client  dynamic.Interface
	objects []*unstructured.Unstructured
	writes  int
	// want has the presets that match each write, by the resulting resourceVersion.
	want map[string][]string
}

var managers = []string{"kubectl", "kubectl-edit", "kubectl-patch", "oc", "k9s", "kubectlish", "argocd-controller", "kube-controller-manager", "kubelet", "helm"}

func (w *writer) manager() (name string, manual bool) {
	i := w.IntN(len(managers))
	return managers[i], i < 5
}

func mappingOf(u *unstructured.Unstructured) *meta.RESTMapping {
	gvk := u.GroupVersionKind()
	return &meta.RESTMapping{Resource: gvk.GroupVersion().WithResource(strings.ToLower(gvk.Kind) + "s"), GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}
}

func (w *writer) resource(u *unstructured.Unstructured) dynamic.ResourceInterface {
	return w.client.Resource(mappingOf(u).Resource).Namespace("words")
}

func (w *writer) createObjects() {
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "words"}}}
	if _, err := w.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Create(w.Context(), namespace, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.writes = 10 // so that no written value equals an initial one, such as nginx:1
	container := func(name string) any { return map[string]any{"name": name, "image": "nginx:1"} }
	template := map[string]any{"initContainers": []any{container("setup")}, "containers": []any{container("web"), container("log")}}
	for i := range 8 {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": []string{"Pod", "Pod", "Pod", "Deployment", "StatefulSet", "ConfigMap", "Secret", "Pod"}[i]}}
		switch u.GetKind() {
		case "Pod":
			u.Object["spec"] = template
		case "Deployment", "StatefulSet":
			u.SetAPIVersion("apps/v1")
			labels := map[string]any{"app": "x"}
			u.Object["spec"] = map[string]any{"replicas": int64(1), "selector": map[string]any{"matchLabels": labels},
				"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": template}}
		default:
			u.Object["data"] = map[string]any{"k": "dmFsdWU="}
		}
		u.SetName(fmt.Sprintf("object-%d", i))
		w.objects = append(w.objects, w.create(u.DeepCopy(), false))
	}
}

// create creates an object. If counts is true, it is one of the recorded writes.
func (w *writer) create(u *unstructured.Unstructured, counts bool) *unstructured.Unstructured {
	manager, manual := w.manager()
	made, err := w.resource(u).Create(w.Context(), u, metav1.CreateOptions{FieldManager: manager})
	if err != nil {
		w.Fatal(err)
	}
	if counts {
		w.note(made, manual)
	}
	return made
}

// note records the presets that match a write.
func (w *writer) note(made *unstructured.Unstructured, manual bool, words ...string) {
	if manual {
		words = append(words, "manual")
	}
	slices.Sort(words)
	w.want[made.GetResourceVersion()] = words
}

// write changes or replaces a random object.
func (w *writer) write() {
	w.writes++
	i := w.IntN(len(w.objects))
	u := w.objects[i].DeepCopy()
	if w.IntN(15) == 0 {
		w.objects[i] = w.replace(u)
		return
	}
	var words []string
	status := false
	switch u.GetKind() {
	case "Pod":
		status, words = w.changePod(u)
	case "Deployment", "StatefulSet":
		words = w.changeWorkload(u)
	default:
		if w.IntN(2) == 0 {
			u.SetAnnotations(map[string]string{"n": w.text()})
		} else {
			w.set(u, "dmFsdWU=", "data", "k"+w.text())
			words = []string{"config"}
		}
	}
	manager, manual := w.manager()
	var through []string
	if status {
		through = append(through, "status")
	}
	made, err := w.resource(u).Update(w.Context(), u, metav1.UpdateOptions{FieldManager: manager}, through...)
	if err != nil {
		w.Fatal(err)
	}
	if made.GetResourceVersion() == u.GetResourceVersion() {
		w.Fatalf("nothing was written: %v", words)
	}
	w.note(made, manual, words...)
	w.objects[i] = made
}

func (w *writer) text() string { return fmt.Sprint(w.writes) }

func (w *writer) set(u *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(u.Object, value, path...); err != nil {
		w.Fatal(err)
	}
}

// replace deletes an object and creates another one with the same name.
func (w *writer) replace(u *unstructured.Unstructured) *unstructured.Unstructured {
	if err := w.resource(u).Delete(w.Context(), u.GetName(), metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		w.Fatal(err)
	}
	w.want["deleted "+string(u.GetUID())] = []string{"deleted"}
	next := &unstructured.Unstructured{Object: map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind()}}
	next.SetName(u.GetName())
	for _, field := range []string{"spec", "data"} {
		if value, there := u.Object[field]; there {
			next.Object[field] = value
		}
	}
	return w.create(next, true)
}

// changePod usually changes several fields of the status at once.
func (w *writer) changePod(u *unstructured.Unstructured) (status bool, words []string) {
	switch w.IntN(8) {
	case 0:
		u.SetAnnotations(map[string]string{"n": w.text()})
		return false, nil
	case 1:
		containers, _, _ := unstructured.NestedSlice(u.Object, "spec", "containers")
		containers[w.IntN(2)].(map[string]any)["image"] = "nginx:" + w.text()
		w.set(u, containers, "spec", "containers")
		return false, []string{"newimage"}
	}
	was := isReady(u)
	w.set(u, w.text(), "status", "message")
	w.set(u, "Running", "status", "phase")
	if w.IntN(2) == 0 && w.restart(u) {
		words = append(words, "restarted")
	}
	conditions := []any{map[string]any{"type": "Ready", "status": []string{"True", "False"}[w.IntN(2)]}}
	if evicted := isEvicted(u); evicted || w.IntN(8) == 0 {
		conditions = append(conditions, map[string]any{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"})
		if !evicted {
			words = append(words, "evicted")
		}
	}
	w.set(u, conditions, "status", "conditions")
	if was && !isReady(u) {
		words = append(words, "unready")
	}
	return true, words
}

// restart sets the container statuses and reports whether a restart count was increased.
func (w *writer) restart(u *unstructured.Unstructured) (restarted bool) {
	for field, names := range map[string][]string{"initContainerStatuses": {"setup"}, "containerStatuses": {"web", "log"}} {
		before, _, _ := unstructured.NestedSlice(u.Object, "status", field)
		var statuses []any
		for i, name := range names {
			count := int64(0)
			if i < len(before) {
				count, _, _ = unstructured.NestedInt64(before[i].(map[string]any), "restartCount")
			}
			if w.IntN(3) == 0 {
				count += int64(1 + w.IntN(2))
				restarted = true
			}
			statuses = append(statuses, map[string]any{"name": name, "image": "nginx:" + w.text(), "imageID": "", "ready": w.IntN(2) == 0, "restartCount": count, "state": map[string]any{}})
		}
		w.set(u, statuses, "status", field)
	}
	return restarted
}

func isReady(u *unstructured.Unstructured) bool { return hasCondition(u, "Ready") }

func isEvicted(u *unstructured.Unstructured) bool { return hasCondition(u, "DisruptionTarget") }

func hasCondition(u *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m := c.(map[string]any)
		return m["type"] == kind && m["status"] == "True"
	})
}

// changeWorkload changes the replicas, an image or an environment variable, or several of them.
func (w *writer) changeWorkload(u *unstructured.Unstructured) (words []string) {
	path := []string{"spec", "template", "spec", "containers"}
	containers, _, _ := unstructured.NestedSlice(u.Object, path...)
	c := containers[w.IntN(len(containers))].(map[string]any)
	if w.IntN(3) == 0 {
		w.set(u, int64(w.writes), "spec", "replicas")
		words = append(words, "scaled")
	}
	if w.IntN(3) == 0 {
		c["image"] = "nginx:" + w.text()
		words = append(words, "newimage")
	}
	if w.IntN(3) == 0 {
		c["env"] = []any{map[string]any{"name": "N", "value": w.text()}}
		words = append(words, "config")
	}
	w.set(u, containers, path...)
	u.SetAnnotations(map[string]string{"n": w.text()})
	return words
}

// end makes the last write to each object. The watch ends when it has reported them.
func (w *writer) end() {
	for i := range w.objects {
		w.objects[i].SetLabels(map[string]string{"last": "yes"})
		manager, manual := w.manager()
		made, err := w.resource(w.objects[i]).Update(w.Context(), w.objects[i], metav1.UpdateOptions{FieldManager: manager})
		if err != nil {
			w.Fatal(err)
		}
		w.note(made, manual)
	}
}

var errDone = errors.New("all last writes were reported")

// watch starts a watch and waits until it is synced. The channel receives the presets that matched each event after the
// last writes.
func (w *writer) watch(config *rest.Config) <-chan map[string][]string {
	o := watcher.Options{Config: config, KeepContent: true, KeepManagedFields: true}
	var err error
	if o.HTTP, err = rest.HTTPClientFor(config); err != nil {
		w.Fatal(err)
	}
	for _, u := range w.objects {
		target := event.Target{Mapping: mappingOf(u), Namespace: "words"}
		if !slices.ContainsFunc(o.Targets, func(t event.Target) bool { return t.Key() == target.Key() }) {
			o.Targets = append(o.Targets, target)
		}
	}
	watch, err := watcher.New(o)
	if err != nil {
		w.Fatal(err)
	}
	found, synced := make(chan map[string][]string, 1), make(chan struct{})
	v := &evaluator{T: w.T, targets: len(o.Targets), objects: len(w.objects), found: map[string][]string{}, synced: synced}
	for _, word := range judgedPresets {
		x, err := expression.Compile(word)
		if err != nil {
			w.Fatal(err)
		}
		v.expressions = append(v.expressions, x)
	}
	go func() {
		if err := watch.Run(w.Context(), event.SinkFunc(v.deliver)); !errors.Is(err, errDone) {
			w.Errorf("the watch ended with error %v, want %v", err, errDone)
		}
		found <- v.found
	}()
	<-synced
	return found
}

// evaluator is a sink that records which presets match each event.
type evaluator struct {
	*testing.T
	expressions      []*expression.Expression
	targets, objects int
	found            map[string][]string
	synced           chan<- struct{}
}

func (v *evaluator) deliver(_ context.Context, batch []event.Event) error {
	for _, e := range batch {
		switch {
		case e.Type == event.Synced:
			if v.targets--; v.targets == 0 {
				close(v.synced)
			}
		case e.Type.IsStatus():
		case e.Initial:
			if words := v.wordsOf(e); len(words) > 0 {
				v.Errorf("got presets %q for an initial event, want none", words)
			}
		default:
			key := e.Object.ResourceVersion
			if e.Type == event.Deleted {
				key = "deleted " + string(e.Object.UID)
			}
			v.found[key] = v.wordsOf(e)
			if strings.Contains(e.Object.Raw(), `"last":"yes"`) {
				if v.objects--; v.objects == 0 {
					return errDone
				}
			}
		}
	}
	return nil
}

func (v *evaluator) wordsOf(e event.Event) (words []string) {
	in := expression.NewInput(e, expression.Options{Compare: change.Options{Noise: change.DefaultNoise()}})
	for i, x := range v.expressions {
		holds, err := x.Matches(in)
		if err != nil {
			v.Errorf("%s: %v", judgedPresets[i], err)
		}
		if holds {
			words = append(words, judgedPresets[i])
		}
	}
	return words
}
