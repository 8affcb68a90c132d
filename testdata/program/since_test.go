//go:build unix

package program

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// truth is what a plain watch of a namespace received: all states of each object, by UID.
type truth struct {
	mu      sync.Mutex
	states  map[types.UID][]*unstructured.Unstructured
	deleted map[types.UID]bool
	before  map[types.UID]int // number of states before the query
	news    chan struct{}
}

var sinceResources = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "pods"},
	{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Version: "v1", Resource: "daemonsets"},
}

func observe(t *testing.T, o *objects) *truth {
	t.Helper()
	w := &truth{
		states: map[types.UID][]*unstructured.Unstructured{}, deleted: map[types.UID]bool{},
		before: map[types.UID]int{}, news: make(chan struct{}, 1),
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	for _, r := range sinceResources {
		from, err := o.client.Resource(r).Namespace(o.namespace).Watch(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() {
			for e := range from.ResultChan() {
				w.take(e)
			}
		})
		t.Cleanup(from.Stop)
	}
	return w
}

func (w *truth) take(e watch.Event) {
	u, ok := e.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Type == watch.Deleted {
		w.deleted[u.GetUID()] = true
	} else {
		w.states[u.GetUID()] = append(w.states[u.GetUID()], u)
	}
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// await waits until the last state of an object satisfies wanted.
func (w *truth) await(t *testing.T, kind, name string, wanted func(*unstructured.Unstructured) bool) {
	t.Helper()
	w.awaitAll(t, kind+" "+name+" as it is wanted", func() bool {
		for uid, states := range w.states {
			if last := states[len(states)-1]; last.GetKind() == kind && last.GetName() == name && !w.deleted[uid] && wanted(last) {
				return true
			}
		}
		return false
	})
}

// asked stores how many states were received before the query.
func (w *truth) asked() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, states := range w.states {
		w.before[uid] = len(states)
	}
}

// catchUp waits until the watch has received the current state of each object. Controllers may write at any time, and a
// watch may lag behind a list.
func (w *truth) catchUp(t *testing.T, o *objects) {
	t.Helper()
	for _, r := range sinceResources {
		all, err := o.client.Resource(r).Namespace(o.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all.Items {
			w.awaitAll(t, one.GetKind()+" "+one.GetName()+" as it is now", func() bool {
				return w.deleted[one.GetUID()] || slices.ContainsFunc(w.states[one.GetUID()], func(u *unstructured.Unstructured) bool {
					return u.GetResourceVersion() == one.GetResourceVersion()
				})
			})
		}
	}
}

// awaitAll waits until the received states satisfy wanted.
func (w *truth) awaitAll(t *testing.T, what string, wanted func() bool) {
	t.Helper()
	timeout := time.After(2 * time.Minute)
	for {
		w.mu.Lock()
		done := wanted()
		w.mu.Unlock()
		if done {
			return
		}
		select {
		case <-w.news:
		case <-timeout:
			t.Fatalf("the watch did not receive %s", what)
		}
	}
}

// reconstructed is a line of dwatch --since about a change that it has reconstructed.
type reconstructed struct {
	Type, Reconstructed string
	Time                time.Time
	Object              unstructured.Unstructured
	Writers             []struct{ Manager, Operation, Subresource string }
	Fields              []string
	Changes             []struct{ Path, Manager string }
	Old                 *unstructured.Unstructured
}

const workloadYAML = `
apiVersion: apps/v1
kind: %s
metadata: {name: %[2]s}
spec:
  %[3]s
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: {containers: [{name: main, image: "%[2]s:1"}]}
`

// TestSince compares the changes that dwatch reconstructs with those that a plain watch received, while several managers
// write and workloads of each kind roll out and back. No line may be wrong. The test logs how many changes were
// reconstructed, for docs/contributing/measurements.md.
func TestSince(t *testing.T) {
	t.Parallel()
	c := controllersBed(t)
	o, err := newObjectsOn(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.leave)
	t.Cleanup(func() {
		_, _ = o.client.Resource(resourceOf("configmaps")).Namespace(o.namespace).Patch(context.Background(), "cm-5", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	})
	w := observe(t, o)
	writeAll(t, o, w)
	w.asked()
	lines := askSince(t, c.Kubeconfig, o.namespace)
	w.catchUp(t, o)
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[string]int{}
	for _, line := range lines {
		if wrong := w.judge(line); wrong != "" {
			t.Errorf("%s: %s %s at %s", wrong, line.Object.GetKind(), line.Object.GetName(), line.Time)
			text, _ := json.Marshal(line)
			t.Logf("%s", text)
		}
		found[line.Reconstructed]++
	}
	w.report(t, found)
}

func writeAll(t *testing.T, o *objects, w *truth) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	workloads := [][3]string{{"Deployment", "web", "replicas: 2"}, {"StatefulSet", "db", "replicas: 1\n  serviceName: db"}, {"DaemonSet", "agent", "minReadySeconds: 0"}}
	for _, kind := range workloads {
		applyText(t, o, fmt.Sprintf(workloadYAML, kind[0], kind[1], kind[2]))
		w.await(t, kind[0], kind[1], settled)
	}
	for i := range 8 {
		applyText(t, o, fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: cm-%d}, data: {a: '0', b: '0'}}", i))
	}
	patch := func(resource, name, manager, text string, sub ...string) {
		client := o.client.Resource(resourceOf(resource)).Namespace(o.namespace)
		if _, err := client.Patch(t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{FieldManager: manager}, sub...); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 5 {
		nextSecond()
		for range 6 {
			key, manager := string(rune('a'+random.IntN(4))), fmt.Sprintf("writer-%d", random.IntN(3))
			value := []string{`null`, `"1"`, `"2"`, `"3"`}[random.IntN(4)]
			patch("configmaps", fmt.Sprintf("cm-%d", random.IntN(6)), manager, fmt.Sprintf(`{"data":{%q:%s}}`, key, value))
		}
		for _, kind := range workloads {
			resource := strings.ToLower(kind[0]) + "s"
			image := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"%s:%d"}]}}}}`, kind[1], 1+[]int{1, 2, 1, 3, 4}[round])
			patch(resource, kind[1], fmt.Sprintf("releaser-%d", round%2), image)
			w.await(t, kind[0], kind[1], settled)
		}
		patch("deployments", "web", "scaler", fmt.Sprintf(`{"spec":{"replicas":%d}}`, 2+round%2), "scale")
	}
	for _, name := range []string{"cm-6", "cm-7"} {
		if err := o.remove("configmaps/" + name); err != nil {
			t.Fatal(err)
		}
	}
	held := `{"metadata":{"finalizers":["dwatch.test/hold"]}}`
	patch("configmaps", "cm-5", "holder", held)
	if err := o.client.Resource(resourceOf("configmaps")).Namespace(o.namespace).Delete(t.Context(), "cm-5", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await(t, "ConfigMap", "cm-5", func(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil })
	w.await(t, "Deployment", "web", settled)
}

// nextSecond waits for the next second of the clock. The times in managedFields are whole seconds, so writes in the
// second of an object's creation cannot be told apart from it.
func nextSecond() {
	time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
}

func resourceOf(name string) schema.GroupVersionResource {
	i := slices.IndexFunc(sinceResources, func(r schema.GroupVersionResource) bool { return r.Resource == name })
	return sinceResources[i]
}

func applyText(t *testing.T, o *objects, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "object.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := o.apply(path, strings.NewReplacer()); err != nil {
		t.Fatal(err)
	}
}

// settled reports whether the controllers have observed the last generation of a workload, and all its pods are updated
// and ready.
func settled(u *unstructured.Unstructured) bool {
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	n := func(name string) int64 { i, _ := status[name].(int64); return i }
	if n("observedGeneration") != u.GetGeneration() {
		return false
	}
	if u.GetKind() == "DaemonSet" {
		return n("desiredNumberScheduled") > 0 && n("updatedNumberScheduled") == n("desiredNumberScheduled") && n("numberReady") == n("desiredNumberScheduled")
	}
	wanted, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
	return n("updatedReplicas") == wanted && n("readyReplicas") == wanted && n("replicas") == wanted
}

func askSince(t *testing.T, kubeconfig, namespace string) (lines []reconstructed) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "dwatch"), "cm,po,deploy,sts,ds", "--since", "1h", "--before", "now", "--old", "-o", "json", "-n", namespace, "--kubeconfig", kubeconfig)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	last := time.Time{}
	for text := range strings.Lines(stdout.String()) {
		var line reconstructed
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if line.Time.Before(last) {
			t.Errorf("out of order: %s", text)
		}
		last = line.Time
		lines = append(lines, line)
	}
	return lines
}

// judge describes what is wrong with a line. It returns "" if nothing is.
func (w *truth) judge(line reconstructed) string {
	states := w.states[line.Object.GetUID()]
	if line.Reconstructed == "event" {
		return "" // the line is an Event
	}
	if len(states) == 0 {
		return "there was no such object"
	}
	switch line.Reconstructed {
	case "creationTimestamp":
		if line.Type != "ADDED" || !states[0].GetCreationTimestamp().Time.Equal(line.Time) {
			return "it was not created then"
		}
	case "deletionTimestamp":
		if i := slices.IndexFunc(states, func(u *unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }); i < 1 {
			return "it was never deleted"
		}
	case "managedFields":
		return w.judgeWrite(states, line)
	case "revision":
		return judgeRevision(states, line)
	default:
		return "unknown value of reconstructed"
	}
	return ""
}

// judgeWrite checks the line against the states at each possible time of the query, because controllers may write while
// it runs.
func (w *truth) judgeWrite(states []*unstructured.Unstructured, line reconstructed) (wrong string) {
	for n := len(states); n >= max(w.before[line.Object.GetUID()], 1); n-- {
		if wrong = judgeWriteIn(states[:n], line); wrong == "" {
			return ""
		}
	}
	return wrong
}

// judgeWriteIn checks that the manager wrote at the time, that no other manager has changed its fields since, and that
// they have the same values in all later states. A manager may write several times within a second.
func judgeWriteIn(states []*unstructured.Unstructured, line reconstructed) string {
	by := line.Writers[0]
	first := slices.IndexFunc(states, func(u *unstructured.Unstructured) bool {
		at, there := entriesOf(u)[by.Manager+"/"+by.Operation+"/"+by.Subresource]
		return there && at.Equal(line.Time)
	})
	if first < 1 {
		return by.Manager + " did not write then"
	}
	since := len(states)
	for since > 0 && contains(states[since-1].Object, line.Object.Object) {
		since--
	}
	switch {
	case len(line.Fields) == 0:
		return by.Manager + " owns no fields"
	case since == len(states):
		return "the last state lacks the fields of " + by.Manager
	case since <= first:
		return "" // the fields existed before
	}
	before, now := entriesOf(states[since-1]), entriesOf(states[since])
	for writer, at := range now {
		if writer != by.Manager+"/"+by.Operation+"/"+by.Subresource && !at.Equal(before[writer]) {
			return writer + " wrote the fields of " + by.Manager + " later"
		}
	}
	return ""
}

// entriesOf returns the time of the last write of each manager.
func entriesOf(u *unstructured.Unstructured) map[string]time.Time {
	at := map[string]time.Time{}
	for _, e := range u.GetManagedFields() {
		if e.Time != nil {
			at[e.Manager+"/"+string(e.Operation)+"/"+e.Subresource] = e.Time.Time
		}
	}
	return at
}

// judgeRevision checks that the template changed from the old one to the new one with no other template between them,
// and that the named managers are the ones that changed it.
func judgeRevision(states []*unstructured.Unstructured, line reconstructed) string {
	var templates []any
	for _, u := range states {
		template, _, _ := unstructured.NestedMap(u.Object, "spec", "template")
		if len(templates) == 0 || !reflect.DeepEqual(templates[len(templates)-1], any(template)) {
			templates = append(templates, template)
		}
	}
	of := func(u unstructured.Unstructured) any {
		template, _, _ := unstructured.NestedMap(u.Object, "spec", "template")
		return template
	}
	for i := 1; i < len(templates); i++ {
		if contains(templates[i], of(line.Object)) && contains(templates[i-1], of(*line.Old)) {
			for _, c := range line.Changes {
				if c.Manager != "" && !strings.HasPrefix(c.Manager, "releaser-") {
					return c.Manager + " did not do that"
				}
			}
			return ""
		}
	}
	return "the template never changed from the old to the new one"
}

// contains reports whether whole contains part. A list contains another one if it contains all its items.
func contains(whole, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		in, ok := whole.(map[string]any)
		for name, value := range part {
			inner, there := in[name]
			if !ok || !there || !contains(inner, value) {
				return false
			}
		}
		return ok
	case []any:
		in, ok := whole.([]any)
		return ok && !slices.ContainsFunc(part, func(item any) bool {
			return !slices.ContainsFunc(in, func(other any) bool { return contains(other, item) })
		})
	}
	return fmt.Sprint(whole) == fmt.Sprint(part)
}

// report logs how many changes there were and how many were reconstructed.
func (w *truth) report(t *testing.T, found map[string]int) {
	t.Helper()
	all := map[string]int{}
	for uid, states := range w.states {
		all["creations"]++
		if w.deleted[uid] {
			all["deletions"]++
			all["states of deleted objects"] += len(states)
		}
		for i := 1; i < len(states); i++ {
			before, _, _ := unstructured.NestedMap(states[i-1].Object, "spec", "template")
			now, _, _ := unstructured.NestedMap(states[i].Object, "spec", "template")
			if reflect.DeepEqual(before, now) {
				all["other modifications"]++
			} else {
				all["templates"]++
			}
		}
	}
	t.Logf("there were %v; found %v", all, found)
	if found["revision"] < 6 || found["managedFields"] < 10 || found["deletionTimestamp"] == 0 || found["event"] == 0 {
		t.Error("too few changes were reconstructed")
	}
}
