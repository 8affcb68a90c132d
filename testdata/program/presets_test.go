package program

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// presets are the tested words, in alphabetical order.
var presets = []string{"changed", "config", "deleted", "evicted", "failed", "manual", "newimage", "ready", "restarted", "scaled", "unready"}

var presetResources = []schema.GroupVersionResource{
	corev1.SchemeGroupVersion.WithResource("pods"), appsv1.SchemeGroupVersion.WithResource("deployments"), corev1.SchemeGroupVersion.WithResource("configmaps"),
}

// occurrence identifies an event in every watch.
type occurrence struct {
	Type, UID, Version string
}

// TestPresets lets random writers change pods, Deployments and ConfigMaps. It computes the expected events of each
// preset again, from typed objects of a plain watch and from the writers' own records, and compares them with what
// dwatch --where prints.
func TestPresets(t *testing.T) {
	t.Parallel()
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	defer o.leave()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	world := &writers{t: t, objects: o, by: map[string]string{}}
	var all []*presetWriter
	for n := range 3 {
		w := &presetWriter{writers: world, name: fmt.Sprint("w", n), random: rand.New(rand.NewPCG(seed, uint64(n)))}
		w.createPod()
		w.createDeployment()
		w.createConfigMap()
		all = append(all, w)
	}
	truth := world.watch(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := writeKubeconfig(kubeconfig, o.namespace); err != nil {
		t.Fatal(err)
	}
	found := map[string]*presetRun{}
	for _, word := range presets {
		found[word] = startPreset(t, kubeconfig, word)
	}
	for _, run := range found {
		run.awaitSynced()
	}
	var writing sync.WaitGroup
	for _, w := range all {
		writing.Go(func() {
			for range 75 {
				w.write()
			}
		})
	}
	writing.Wait()
	for _, r := range presetResources {
		began := time.Now()
		world.fence(r)
		for _, run := range found {
			run.awaitHeard(began)
		}
	}
	want, seen := truth(), map[string]int{}
	for _, word := range presets {
		got := found[word].all()
		for _, one := range want[word] {
			if !slices.Contains(got, one) {
				t.Errorf("%s: %v was not printed", word, one)
			}
		}
		for _, one := range got {
			if !slices.Contains(want[word], one) {
				t.Errorf("%s: %v was printed, but not expected", word, one)
			}
		}
		seen[word] = len(got)
		if len(want[word]) == 0 {
			t.Errorf("%s never happened", word)
		}
	}
	t.Logf("%v", seen)
}

// writers is the state that all writers share.
type writers struct {
	t       *testing.T
	objects *objects

	mu sync.Mutex
	by map[string]string // the manager that wrote a version, by UID/resourceVersion
}

func (w *writers) of(r schema.GroupVersionResource) interface {
	Create(ctx context.Context, u *unstructured.Unstructured, o metav1.CreateOptions, sub ...string) (*unstructured.Unstructured, error)
	Patch(ctx context.Context, name string, how types.PatchType, data []byte, o metav1.PatchOptions, sub ...string) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, name string, o metav1.DeleteOptions, sub ...string) error
	List(ctx context.Context, o metav1.ListOptions) (*unstructured.UnstructuredList, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
} {
	return w.objects.client.Resource(r).Namespace(w.objects.namespace)
}

func (w *writers) note(u *unstructured.Unstructured, err error, by string) {
	if err != nil {
		w.t.Error(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.by[string(u.GetUID())+"/"+u.GetResourceVersion()] = by
}

func (w *writers) create(r schema.GroupVersionResource, by, text string) {
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON([]byte(text)); err != nil {
		w.t.Error(err)
		return
	}
	u, err := w.of(r).Create(context.Background(), u, metav1.CreateOptions{FieldManager: by})
	w.note(u, err, by)
}

func (w *writers) patch(r schema.GroupVersionResource, name, by string, how types.PatchType, text string, sub ...string) {
	u, err := w.of(r).Patch(context.Background(), name, how, []byte(text), metav1.PatchOptions{FieldManager: by}, sub...)
	w.note(u, err, by)
}

// fence writes the last change of a type. It matches only the preset changed.
func (w *writers) fence(r schema.GroupVersionResource) {
	w.patch(r, "w0", "fence", types.MergePatchType, `{"metadata":{"annotations":{"fence":"x"}}}`)
}

// sight is an event of the plain watch.
type sight struct {
	event  watch.Event
	before *unstructured.Unstructured // previous state, nil if there is none
}

// watch starts the plain watches, which end at the fences. It returns a function that waits for that and returns the
// expected events by preset.
func (w *writers) watch(t *testing.T) func() map[string][]occurrence {
	seen := make(chan []sight)
	for _, r := range presetResources {
		list, err := w.of(r).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last := map[types.UID]*unstructured.Unstructured{}
		for i := range list.Items {
			last[list.Items[i].GetUID()] = &list.Items[i]
		}
		from, err := w.of(r).Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			var all []sight
			defer func() { seen <- all }()
			defer from.Stop()
			for e := range from.ResultChan() {
				u, ok := e.Object.(*unstructured.Unstructured)
				if !ok {
					t.Errorf("%v", e.Object)
					return
				}
				all = append(all, sight{e, last[u.GetUID()]})
				last[u.GetUID()] = u
				if u.GetAnnotations()["fence"] != "" {
					return
				}
			}
		}()
	}
	return func() map[string][]occurrence {
		found := map[string][]occurrence{}
		for range presetResources {
			for _, s := range <-seen {
				u := s.event.Object.(*unstructured.Unstructured)
				for _, word := range w.words(s.event.Type, s.before, u) {
					found[word] = append(found[word], occurrence{string(s.event.Type), string(u.GetUID()), u.GetResourceVersion()})
				}
			}
		}
		return found
	}
}

// words returns the presets that match an event of the plain watch.
func (w *writers) words(kind watch.EventType, before, u *unstructured.Unstructured) (words []string) {
	say := func(word string, is bool) {
		if is {
			words = append(words, word)
		}
	}
	say("changed", true)
	is, failed := stateOf(w.t, u)
	say("ready", is && kind != watch.Deleted)
	say("failed", failed && kind != watch.Deleted)
	say("deleted", kind == watch.Deleted)
	say("manual", kind != watch.Deleted && w.isManual(u))
	if kind != watch.Modified {
		return words
	}
	switch u.GetKind() {
	case "Pod":
		was, now := typed[corev1.Pod](w.t, before), typed[corev1.Pod](w.t, u)
		say("newimage", was.Spec.Containers[0].Image != now.Spec.Containers[0].Image)
		say("restarted", podRestarts(now) > podRestarts(was))
		say("unready", podReady(was) && !podReady(now) && now.DeletionTimestamp == nil)
		say("evicted", podEvicted(now) && !podEvicted(was))
	case "Deployment":
		was, now := typed[appsv1.Deployment](w.t, before), typed[appsv1.Deployment](w.t, u)
		old, new := was.Spec.Template.Spec.Containers[0], now.Spec.Template.Spec.Containers[0]
		say("newimage", old.Image != new.Image)
		say("scaled", *was.Spec.Replicas != *now.Spec.Replicas)
		say("unready", rolledOut(was) && !rolledOut(now))
		say("config", fmt.Sprint(old.Env, old.Args) != fmt.Sprint(new.Env, new.Args))
	case "ConfigMap":
		was, now := typed[corev1.ConfigMap](w.t, before), typed[corev1.ConfigMap](w.t, u)
		say("config", fmt.Sprint(was.Data) != fmt.Sprint(now.Data))
	}
	return words
}

func (w *writers) isManual(u *unstructured.Unstructured) bool {
	by, known := w.by[string(u.GetUID())+"/"+u.GetResourceVersion()]
	if !known && u.GetDeletionTimestamp() == nil { // a deletion has no manager
		w.t.Errorf("no writer wrote %s %s, version %s", u.GetKind(), u.GetName(), u.GetResourceVersion())
	}
	return by == "kubectl" || strings.HasPrefix(by, "kubectl-")
}

// stateOf reports whether an object is ready or has failed, by its status alone.
func stateOf(t *testing.T, u *unstructured.Unstructured) (ready, failed bool) {
	switch u.GetKind() {
	case "Pod":
		p := typed[corev1.Pod](t, u)
		goes := p.DeletionTimestamp != nil
		return podReady(p) && !goes, p.Status.Phase == corev1.PodFailed && !goes
	case "Deployment":
		d := typed[appsv1.Deployment](t, u)
		seen := d.Status.ObservedGeneration == d.Generation
		return seen && rolledOut(d), seen && isTooLate(d)
	}
	return true, false
}

// rolledOut applies the criteria of kubectl rollout status, without those on observedGeneration.
func rolledOut(d *appsv1.Deployment) bool {
	n := *d.Spec.Replicas
	return !isTooLate(d) && d.Status.UpdatedReplicas >= n && d.Status.Replicas <= d.Status.UpdatedReplicas && d.Status.AvailableReplicas >= d.Status.UpdatedReplicas
}

func isTooLate(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Reason == "ProgressDeadlineExceeded"
	})
}

func typed[T any](t *testing.T, u *unstructured.Unstructured) *T {
	o := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		t.Error(err)
	}
	return o
}

func podReady(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodRunning && slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func podEvicted(p *corev1.Pod) bool {
	return p.Status.Reason == "Evicted" || slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
}

func podRestarts(p *corev1.Pod) (n int32) {
	for _, c := range p.Status.ContainerStatuses {
		n += c.RestartCount
	}
	return n
}

// presetWriter writes a pod, a Deployment and a ConfigMap of its own. Its changes cover all presets, and some match
// none.
type presetWriter struct {
	*writers
	name   string
	random *rand.Rand
	n      int // number of writes, so that each writes another value
	pod    podModel
}

// podModel is the status of the pod.
type podModel struct {
	ready, disrupted, evicted bool
	restarts                  int
}

func (w *presetWriter) somebody() string {
	return []string{"kubectl-edit", "argocd", "kubelet", "kubectl", "kubectlish"}[w.random.IntN(5)]
}

func (w *presetWriter) createPod() {
	w.pod = podModel{}
	w.create(presetResources[0], w.somebody(), fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q},"spec":{"containers":[{"name":"c","image":"nginx:1"}]}}`, w.name))
}

func (w *presetWriter) createDeployment() {
	w.create(presetResources[1], w.somebody(), fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":%q},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},`+
		`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"nginx:1","args":["x"]}]}}}}`, w.name))
}

func (w *presetWriter) createConfigMap() {
	w.create(presetResources[2], w.somebody(), fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"k":"x"}}`, w.name))
}

func (w *presetWriter) delete(r schema.GroupVersionResource) {
	if err := w.of(r).Delete(context.Background(), w.name, metav1.DeleteOptions{}); err != nil {
		w.t.Error(err)
	}
}

func (w *presetWriter) write() {
	w.n++
	pods, deployments, configs := presetResources[0], presetResources[1], presetResources[2]
	r := presetResources[w.random.IntN(3)]
	annotated := fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}}}`, w.n)
	template := func(text string) {
		w.patch(deployments, w.name, w.somebody(), types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"c",`+text+`}]}}}}`)
	}
	switch w.random.IntN(18) {
	case 0:
		w.patch(r, w.name, w.somebody(), types.MergePatchType, annotated)
	case 1:
		w.patch(deployments, w.name, w.somebody(), types.MergePatchType, fmt.Sprintf(`{"spec":{"replicas":%d}}`, w.n+1))
	case 2:
		template(fmt.Sprintf(`"image":"nginx:%d"`, w.n+1))
	case 3:
		template(fmt.Sprintf(`"env":[{"name":"A","value":"%d"}]`, w.n))
	case 4:
		template(fmt.Sprintf(`"args":["%d"]`, w.n))
	case 5:
		w.patch(pods, w.name, w.somebody(), types.StrategicMergePatchType, fmt.Sprintf(`{"spec":{"containers":[{"name":"c","image":"nginx:%d"}]}}`, w.n+1))
	case 6:
		w.patch(configs, w.name, w.somebody(), types.MergePatchType, fmt.Sprintf(`{"data":{"k":"%d"}}`, w.n))
	case 7:
		w.delete(pods)
		w.createPod()
	case 8:
		w.delete(configs)
		w.createConfigMap()
	case 9, 10, 11, 12:
		w.writeRollout()
	default:
		w.writeStatus()
	}
}

// writeStatus changes one or several fields of the pod's status.
func (w *presetWriter) writeStatus() {
	for before := w.pod; w.pod == before; {
		for _, change := range []func(){
			func() { w.pod.ready = !w.pod.ready }, func() { w.pod.restarts += 1 + w.random.IntN(2) },
			func() { w.pod.disrupted = !w.pod.disrupted }, func() { w.pod.evicted = !w.pod.evicted },
		} {
			if w.random.IntN(3) == 0 {
				change()
			}
		}
	}
	is := map[bool]string{true: "True", false: "False"}
	phase, reason := "Running", "null"
	if w.pod.evicted {
		phase, reason = "Failed", `"Evicted"`
	}
	w.patch(presetResources[0], w.name, w.somebody(), types.MergePatchType, fmt.Sprintf(`{"status":{"phase":%q,"reason":%s,"conditions":[{"type":"Ready","status":%q},{"type":"DisruptionTarget","status":%q}],`+
		`"containerStatuses":[{"name":"c","image":"nginx","imageID":"","ready":%t,"restartCount":%d,"state":{"running":{}}}]}}`,
		phase, reason, is[w.pod.ready], is[w.pod.disrupted], w.pod.ready, w.pod.restarts), "status")
}

// writeRollout writes a status of the Deployment as its controller does, for the current generation or the one before.
func (w *presetWriter) writeRollout() {
	deployments := presetResources[1]
	list, err := w.of(deployments).List(context.Background(), metav1.ListOptions{FieldSelector: "metadata.name=" + w.name})
	if err != nil || len(list.Items) != 1 {
		w.t.Errorf("%v, %v", list, err)
		return
	}
	d := typed[appsv1.Deployment](w.t, &list.Items[0])
	replicas, observed := *d.Spec.Replicas, d.Generation
	available, is, reason := replicas, "True", "NewReplicaSetAvailable"
	switch w.random.IntN(4) {
	case 0:
		available, reason = replicas-1, "ReplicaSetUpdated"
	case 1:
		available, is, reason = 0, "False", "ProgressDeadlineExceeded"
	case 2:
		observed = max(observed-1, 1)
	}
	w.patch(deployments, w.name, "kube-controller-manager", types.MergePatchType, fmt.Sprintf(`{"metadata":{"annotations":{"n":"%d"}},"status":{"observedGeneration":%d,"replicas":%d,"updatedReplicas":%[3]d,"readyReplicas":%[4]d,"availableReplicas":%[4]d,`+
		`"unavailableReplicas":%d,"conditions":[{"type":"Available","status":%q},{"type":"Progressing","status":%[6]q,"reason":%q}]}}`, w.n, observed, replicas, available, replicas-available, is, reason), "status")
}

// presetRun is a process of dwatch --where WORD.
type presetRun struct {
	t    *testing.T
	cmd  *exec.Cmd
	word string

	mu      sync.Mutex
	found   []occurrence
	synced  int
	heard   time.Time // lastEvent of the latest heartbeat
	changed chan struct{}
}

func startPreset(t *testing.T, kubeconfig, word string) *presetRun {
	p := &presetRun{t: t, word: word, changed: make(chan struct{})}
	p.cmd = exec.Command(filepath.Join(binaries, "dwatch"), "po,deploy,cm", "-o", "json", "--marks", "--heartbeat", "1s", "--where", word, "--kubeconfig", kubeconfig)
	var stderr strings.Builder
	p.cmd.Stderr = &stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.take(lines.Bytes())
		}
	}()
	t.Cleanup(func() {
		p.cmd.Process.Kill()
		<-ended
		p.cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", word, stderr.String())
		}
	})
	return p
}

func (p *presetRun) take(line []byte) {
	var e struct {
		Type      string
		Initial   bool
		LastEvent time.Time
		Object    *struct {
			Metadata struct{ UID, ResourceVersion string }
		}
	}
	if err := json.Unmarshal(line, &e); err != nil {
		p.t.Errorf("%s: %v: %s", p.word, err, line)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Initial && p.word == "ready": // ready also matches existing objects
	case e.Object != nil:
		p.found = append(p.found, occurrence{e.Type, e.Object.Metadata.UID, e.Object.Metadata.ResourceVersion})
	case e.Type == "SYNCED":
		p.synced++
	case e.Type == "HEARTBEAT":
		p.heard = e.LastEvent
	}
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *presetRun) all() []occurrence {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.found)
}

func (p *presetRun) await(what string, is func() bool) {
	p.t.Helper()
	for deadline := time.After(patience); ; {
		p.mu.Lock()
		ok, changed := is(), p.changed
		p.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			p.t.Fatalf("%s: %s", p.word, what)
		}
	}
}

func (p *presetRun) awaitSynced() {
	p.await("dwatch has not listed the existing objects", func() bool { return p.synced == len(presetResources) })
}

// awaitHeard waits until dwatch has received an event after a time.
func (p *presetRun) awaitHeard(after time.Time) {
	p.await("dwatch has not received the last event", func() bool { return p.heard.After(after) })
}
