//go:build unix

package program

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"dwatch/testdata/readme"
	"dwatch/testdata/testenv"
)

// fault keeps an object from becoming ready. It has the expected texts of dwatch about it.
type fault struct {
	name    string
	objects string // YAML
	// of is the type of the object that the fault is about. If set, the test writes status to it, because no kubelet,
	// scheduler or controller does.
	of, status string
	// warning has the reason and the message of an Event about that object.
	warning [2]string
	target  string // argument of dwatch wait
	// state is the state of an object of type shown in the changes view, the live table and on the page.
	shown, state string
	waits        string // reported by dwatch wait; -x7 stands for any suffix
	// listed says when the fault is listed as a problem.
	listed string
	// cause is the text in the list of problems if that is not the state, because an owned object or an Event has the
	// reason.
	cause string

	in *objects // objects in the fault's namespace
}

// Values of fault.listed, which are also cells of the table in docs/reference/reasons.md.
const (
	alwaysListed = ""
	listedLate   = "after 2 min"
	neverListed  = "no"
)

// deployment returns a Deployment of one pod. If the pod is placed on the node elsewhere, no kubelet runs it.
func deployment(name, pod string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {%s}
`, name, pod)
}

// placed is a pod spec with a node that has no kubelet.
const placed = `nodeName: elsewhere, containers: [{name: web, image: "nginx:1.288", resources: {limits: {memory: 64Mi}}}]`

// probed is placed with a readiness probe.
const probed = `nodeName: elsewhere, containers: [{name: web, image: "nginx:1.288", readinessProbe: {httpGet: {port: 80}}}]`

// loops returns the status of a pod whose container has terminated several times in the given way.
func loops(terminated string) string {
	return `{"phase":"Running","conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady","message":"containers with unready status: [web]"}],"containerStatuses":[{"name":"web","image":"nginx:1.288","imageID":"","ready":false,"restartCount":4,"started":false,"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 1m20s restarting failed container"}},"lastState":{"terminated":` + terminated + `}}]}`
}

// creating returns the status of a pod whose container waits for the given reason.
func creating(waiting string) string {
	return `{"phase":"Pending","containerStatuses":[{"name":"web","image":"nginx:1.288","imageID":"","ready":false,"restartCount":0,"started":false,"state":{"waiting":` + waiting + `}}]}`
}

var faults = []fault{
	{name: "an image that does not exist", objects: deployment("image", placed), of: "pods", target: "deploy/image",
		status: creating(`{"reason":"ImagePullBackOff","message":"Back-off pulling image \"nginx:1.288\": ErrImagePull: rpc error: code = NotFound desc = failed to pull and unpack image \"docker.io/library/nginx:1.288\": docker.io/library/nginx:1.288: not found"}`),
		shown:  "pods", state: "InProgress: ImagePullBackOff nginx:1.288: not found", waits: "deploy/image 0/1: po/image-x7 ImagePullBackOff nginx:1.288: not found"},
	{name: "an invalid image name", objects: deployment("noname", placed), of: "pods", target: "deploy/noname",
		status: creating(`{"reason":"InvalidImageName","message":"Failed to apply default image tag \"SHOP\": couldn't parse image name \"SHOP\": invalid reference format: repository name (library/SHOP) must be lowercase"}`),
		shown:  "pods", state: "InProgress: InvalidImageName nginx:1.288: repository name (library/SHOP) must be lowercase", waits: "deploy/noname 0/1: po/noname-x7 InvalidImageName nginx:1.288: repository name (library/SHOP) must be lowercase"},
	{name: "a container above its memory limit", objects: deployment("oom", placed), of: "pods", target: "deploy/oom",
		status: loops(`{"exitCode":137,"reason":"OOMKilled"}`),
		shown:  "pods", state: "Failed: OOMKilled (exit 137, 4 restarts), limit 64Mi", waits: "deploy/oom 0/1: po/oom-x7 OOMKilled (exit 137, 4 restarts), limit 64Mi"},
	{name: "a program that crashes", objects: deployment("crash", placed), of: "pods", target: "deploy/crash",
		status: loops(`{"exitCode":1,"reason":"Error","message":"no such file: /etc/shop.yaml\n"}`),
		shown:  "pods", state: "Failed: CrashLoopBackOff (exit 1, 4 restarts): no such file: /etc/shop.yaml", waits: "deploy/crash 0/1: po/crash-x7 CrashLoopBackOff (exit 1, 4 restarts): no such file: /etc/shop.yaml"},
	{name: "a program that does not exist", objects: deployment("start", placed), of: "pods", target: "deploy/start",
		status: loops(`{"exitCode":128,"reason":"StartError","message":"exec: \"shop\": executable file not found in $PATH"}`),
		shown:  "pods", state: `Failed: StartError (exit 128, 4 restarts): exec: "shop": executable file not found in $PATH`, waits: `deploy/start 0/1: po/start-x7 StartError (exit 128, 4 restarts): exec: "shop": executable file not found in $PATH`},
	{name: "a key that its ConfigMap lacks", objects: deployment("key", placed), of: "pods", target: "deploy/key",
		status: creating(`{"reason":"CreateContainerConfigError","message":"couldn't find key colour in ConfigMap shop/web"}`),
		shown:  "pods", state: "InProgress: CreateContainerConfigError: couldn't find key colour in ConfigMap shop/web", waits: "deploy/key 0/1: po/key-x7 CreateContainerConfigError: couldn't find key colour in ConfigMap shop/web"},
	{name: "a volume of a ConfigMap that does not exist", objects: deployment("mount", placed), of: "pods", target: "deploy/mount",
		status: creating(`{"reason":"ContainerCreating"}`), warning: [2]string{"FailedMount", `MountVolume.SetUp failed for volume "config" : configmap "shop" not found`},
		shown: "pods", state: "InProgress: Pod is in the Pending phase", cause: `FailedMount: volume "config": configmap "shop" not found`, waits: `deploy/mount 0/1: po/mount-x7 Pod is in the Pending phase; FailedMount: volume "config": configmap "shop" not found`},
	{name: "a readiness probe", objects: deployment("probe", probed), of: "pods", target: "deploy/probe",
		status:  `{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"web","image":"nginx:1.288","imageID":"","ready":false,"restartCount":0,"started":true,"state":{"running":{}}}]}`,
		warning: [2]string{"Unhealthy", "Readiness probe failed: HTTP probe failed with statuscode: 503"},
		shown:   "pods", state: "InProgress: its readiness probe does not succeed", waits: "deploy/probe 0/1: po/probe-x7 its readiness probe does not succeed; Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503"},
	{name: "a liveness probe", objects: deployment("live", placed), of: "pods", target: "deploy/live",
		status: loops(`{"exitCode":137,"reason":"Error"}`), warning: [2]string{"Unhealthy", "Liveness probe failed: command timed out after 1s"},
		shown: "pods", state: "Failed: CrashLoopBackOff (exit 137, 4 restarts)", waits: "deploy/live 0/1: po/live-x7 CrashLoopBackOff (exit 137, 4 restarts); Unhealthy: Liveness probe failed: command timed out after 1s"},
	{name: "no node with enough memory", objects: deployment("room", `schedulingGates: [{name: example.com/wait}], containers: [{name: web, image: web}]`), of: "pods", target: "deploy/room",
		status: `{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."}]}`,
		shown:  "pods", state: "Unschedulable: 0/3 nodes: insufficient memory", waits: "deploy/room 0/1: po/room-x7 Unschedulable: 0/3 nodes: insufficient memory"},
	{name: "an init container", objects: deployment("init", `nodeName: elsewhere, initContainers: [{name: migrate, image: db}], containers: [{name: web, image: web}]`), of: "pods", target: "deploy/init",
		status: `{"phase":"Pending","initContainerStatuses":[{"name":"migrate","image":"db","imageID":"","ready":false,"restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error","containerID":"containerd://1","startedAt":"2026-01-31T09:00:00Z","finishedAt":"2026-01-31T09:00:01Z"}}}],"containerStatuses":[{"name":"web","image":"web","imageID":"","ready":false,"restartCount":0,"state":{"waiting":{"reason":"PodInitializing"}}}]}`,
		shown:  "pods", state: "Failed: init container migrate: CrashLoopBackOff (exit 1, 3 restarts)", waits: "deploy/init 0/1: po/init-x7 init container migrate: CrashLoopBackOff (exit 1, 3 restarts)"},
	{name: "a lost node", objects: deployment("node", placed), of: "pods", target: "deploy/node",
		status:  `{"phase":"Running","conditions":[{"type":"Ready","status":"False"},{"type":"ContainersReady","status":"True"}],"containerStatuses":[{"name":"web","image":"nginx:1.288","imageID":"","ready":true,"restartCount":0,"started":true,"state":{"running":{}}}]}`,
		warning: [2]string{"NodeNotReady", "Node is not ready"},
		shown:   "pods", state: "InProgress: not ready, though its containers are: its node may be gone", waits: "deploy/node 0/1: po/node-x7 not ready, though its containers are: its node may be gone; NodeNotReady: Node is not ready"},
	{name: "an evicted pod", target: "po/evicted", of: "pods",
		objects: "apiVersion: v1\nkind: Pod\nmetadata: {name: evicted, labels: {app: evicted}}\nspec: {" + placed + "}\n",
		status:  `{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory. "}`,
		shown:   "pods", state: "Failed: Evicted: The node was low on resource: memory.", waits: "po/evicted Failed: Evicted: The node was low on resource: memory."},
	{name: "a quota", target: "deploy/quota", of: "resourcequotas",
		objects: "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: few, labels: {app: quota}}\nspec: {hard: {pods: \"0\"}}\n",
		status:  `{"hard":{"pods":"0"},"used":{"pods":"0"}}`,
		shown:   "deployments", state: "InProgress: 0/1 pods created: FailedCreate: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0", waits: "deploy/quota InProgress: 0/1 pods created: FailedCreate: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0"},
	{name: "a webhook that denies", target: "deploy/denied",
		shown: "deployments", state: `InProgress: 0/1 pods created: FailedCreate: admission webhook "images.example.com" denied the request: nginx:1.288 is not signed`, waits: `deploy/denied InProgress: 0/1 pods created: FailedCreate: admission webhook "images.example.com" denied the request: nginx:1.288 is not signed`},
	{name: "a webhook that is down", target: "deploy/down",
		shown: "deployments", state: `InProgress: 0/1 pods created: FailedCreate: Internal error occurred: failed calling webhook "images.example.com": failed to call webhook: Post "https://127.0.0.1:1/?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused`, waits: `deploy/down InProgress: 0/1 pods created: FailedCreate: Internal error occurred: failed calling webhook "images.example.com": failed to call webhook: Post "https://127.0.0.1:1/?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused`},
	{name: "a limit below the LimitRange", target: "deploy/limits",
		objects: "apiVersion: v1\nkind: LimitRange\nmetadata: {name: least}\nspec: {limits: [{type: Container, min: {memory: 128Mi}}]}\n",
		shown:   "deployments", state: "InProgress: 0/1 pods created: FailedCreate: minimum memory usage per Container is 128Mi, but request is 64Mi", waits: "deploy/limits InProgress: 0/1 pods created: FailedCreate: minimum memory usage per Container is 128Mi, but request is 64Mi"},
	{name: "a PriorityClass that does not exist", target: "sts/db",
		objects: "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec: {priorityClassName: nosuch, containers: [{name: db, image: db}]}\n",
		shown:   "statefulsets", state: "InProgress: 0/1 pods created", cause: "FailedCreate: no PriorityClass with name nosuch was found", waits: "sts/db InProgress: 0/1 pods created; FailedCreate: no PriorityClass with name nosuch was found"},
	{name: "a Job past its backoff limit", target: "job/once",
		objects: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: once}\nspec:\n  backoffLimit: 0\n  template:\n    spec: {restartPolicy: Never, containers: [{name: once, image: once, command: [\"false\"]}]}\n",
		shown:   "jobs", cause: "Error (exit 1)", state: "Failed: BackoffLimitExceeded: Job has reached the specified backoff limit", waits: "job/once Failed: BackoffLimitExceeded: Job has reached the specified backoff limit"},
	{name: "a Job past its deadline", target: "job/late",
		objects: "apiVersion: batch/v1\nkind: Job\nmetadata: {name: late}\nspec:\n  activeDeadlineSeconds: 1\n  template:\n    spec: {restartPolicy: Never, nodeName: elsewhere, containers: [{name: late, image: late}]}\n",
		shown:   "jobs", state: "Failed: DeadlineExceeded: Job was active longer than specified deadline", waits: "job/late Failed: DeadlineExceeded: Job was active longer than specified deadline"},
	{name: "a claim without a StorageClass", target: "pvc/none",
		objects: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: none, labels: {app: none}}\nspec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
		shown:   "persistentvolumeclaims", state: "InProgress: Pending, without a StorageClass", waits: "pvc/none InProgress: Pending, without a StorageClass"},
	{name: "a claim with a StorageClass that does not exist", target: "pvc/fast", of: "persistentvolumeclaims",
		objects: "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: fast, labels: {app: fast}}\nspec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\n",
		warning: [2]string{"ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`},
		shown:   "persistentvolumeclaims", state: "InProgress: Pending, StorageClass fast", waits: `pvc/fast InProgress: Pending, StorageClass fast; ProvisioningFailed: storageclass.storage.k8s.io "fast" not found`},
	{name: "an autoscaler without metrics", target: "hpa/scale",
		objects: deployment("scale", `containers: [{name: web, image: web, resources: {requests: {cpu: 100m}}}]`) + "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: scale}\nspec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: scale}, minReplicas: 1, maxReplicas: 3}\n",
		shown:   "horizontalpodautoscalers", state: "InProgress: FailedGetResourceMetric: ", waits: "hpa/scale InProgress: FailedGetResourceMetric: "},
	{name: "a finalizer", target: "cm/held",
		objects: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: held, finalizers: [example.com/hold]}\n",
		shown:   "configmaps", listed: listedLate, state: "Terminating: waits for example.com/hold", waits: "cm/held Terminating: waits for example.com/hold"},
	{name: "a custom resource with a Ready condition", target: "gauges.reasons.example.com/boiler", of: "gauges.reasons.example.com",
		objects: "apiVersion: reasons.example.com/v1\nkind: Gauge\nmetadata: {name: boiler, labels: {app: boiler}}\n",
		status:  `{"conditions":[{"type":"Ready","status":"False","reason":"PressureLow","message":"0.2 bar"}]}`,
		shown:   "gauges.reasons.example.com", state: "InProgress: PressureLow: 0.2 bar", waits: "gauge/boiler InProgress: PressureLow: 0.2 bar"},
}

const gauges = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gauges.reasons.example.com}
spec:
  group: reasons.example.com
  scope: Namespaced
  names: {plural: gauges, singular: gauge, kind: Gauge}
  versions:
  - {name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// TestReasons checks that dwatch wait, the changes view, the live table and the page report the reason for each fault.
func TestReasons(t *testing.T) {
	t.Parallel()
	c := controllersBed(t)
	definition, err := newObjectsOn(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(definition.leave)
	applyText(t, definition, gauges)
	made := slices.Clone(faults)
	for n := range made {
		if made[n].in, err = newObjectsOn(c); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(made[n].in.leave)
	}
	denying := denyingServer(t) // it is needed until the end of the test
	t.Run("each", func(t *testing.T) {
		for n := range made {
			t.Run(made[n].name, func(t *testing.T) {
				t.Parallel()
				made[n].make(t, made[n].in, denying)
				made[n].checkCommands(t, c)
			})
		}
	})
	if t.Failed() {
		return
	}
	resources := "po,deploy,sts,jobs,pvc,hpa,cm,gauges.reasons.example.com"
	server := startPiped(t, c.Kubeconfig, "serve", resources, "-A")
	live := startTmux(t, 400, 40, c.Kubeconfig)
	live.live(resources + " -A")
	page := server.page(t, nil)
	problemsOn(t, page, made)
	live.shows(`● connected`)
	live.shows(`^ [✗◌] .*(\n.*){4}… and \d+ more`)
	for n := range made {
		made[n].checkPageAndLive(t, page, live)
	}
}

// checkCommands checks the outputs of dwatch wait and of the changes view.
func (f *fault) checkCommands(t *testing.T, c *testenv.Cluster) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := writeKubeconfigOf(c, kubeconfig, f.in.namespace); err != nil {
		t.Fatal(err)
	}
	args := []string{"wait", f.target, "--timeout", patience.String()}
	if strings.HasPrefix(f.target, "cm/") {
		args = append(args, "--for", "delete")
	}
	p := startPiped(t, kubeconfig, args...)
	pattern := strings.ReplaceAll(regexp.QuoteMeta(f.waits), "-x7 ", "-[0-9a-z-]+ ")
	outcome := strings.Replace(pattern, " Failed: ", " failed after \\S+: ", 1)
	p.says(t, "^(waiting for "+pattern+"|error: (.*: )?"+outcome+")")
	p.signal(syscall.SIGINT)
	p.says(t, "^error: (.*: )?"+outcome)
	startPiped(t, kubeconfig, f.shown, "-o", "changes", "--initial").reads(t, f.state)
}

// checkPageAndLive checks the state on the page, and in the live table for the selected object.
func (f *fault) checkPageAndLive(t *testing.T, page *page, live *tmux) {
	t.Helper()
	resource, _, _ := strings.Cut(f.shown, ".")
	var rows string
	live.until(func() bool {
		rows = page.get(t, "/api/objects?namespace="+f.in.namespace)
		return strings.Contains(rows, stateOnPage(t, f.state))
	}, func() string { return "the page does not show " + f.state + ": " + rows })
	live.press("Escape", "/")
	live.types(resource + " " + f.in.namespace)
	live.press("Enter")
	live.shows(`^ ?` + resource + `/` + f.called() + `\S*  .*` + regexp.QuoteMeta(f.state))
}

// called returns the name of the object that dwatch wait waits for.
func (f *fault) called() string { return f.target[strings.IndexByte(f.target, '/')+1:] }

// why returns the state of a fault without its first word.
func (f *fault) why() string {
	for _, word := range []string{"InProgress: ", "Failed: ", "Terminating: "} {
		if why, is := strings.CutPrefix(f.state, word); is {
			return why
		}
	}
	return f.state
}

// stateOnPage returns the beginning of the JSON member with the message of a state.
func stateOnPage(t *testing.T, state string) string {
	t.Helper()
	f := fault{state: state}
	text, err := json.Marshal(f.why())
	if err != nil {
		t.Fatal(err)
	}
	return `"message":` + strings.TrimSuffix(string(text), `"`) // the message may be longer
}

// problemsOn waits until the page lists each fault with its reason, except those that are listed late or never.
func problemsOn(t *testing.T, page *page, all []fault) {
	t.Helper()
	v := page.view(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for missing, said := "", ""; ; {
		_, text, err := v.conn.Read(ctx)
		if err != nil {
			t.Fatalf("%v, the list of problems lacks\n%sand is %s", err, missing, said)
		}
		var m struct {
			Type  string
			Items []struct{ Namespace, Why string }
		}
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		if m.Type != "problems" {
			continue
		}
		missing, said = "", string(text)
		for n := range all {
			f := &all[n]
			is := slices.ContainsFunc(m.Items, func(one struct{ Namespace, Why string }) bool {
				return one.Namespace == f.in.namespace && strings.HasPrefix(one.Why, cmp.Or(f.cause, f.why()))
			})
			switch {
			case !is && f.listed == alwaysListed:
				missing += fmt.Sprintf("%s, in %s: %s\n", f.name, f.in.namespace, cmp.Or(f.cause, f.why()))
			case is && f.listed == neverListed:
				t.Errorf("%s is listed as a problem, but docs/reference/reasons.md denies that", f.name)
			}
		}
		if missing == "" {
			return
		}
	}
}

func (f *fault) make(t *testing.T, o *objects, denying *httptest.Server) {
	t.Helper()
	name := f.called()
	switch name {
	case "denied":
		f.objects = denyingWebhook(denying, o.namespace)
	case "down":
		f.objects = webhook("https://127.0.0.1:1/", "", o.namespace)
	}
	applyText(t, o, f.objects)
	if f.of != "" {
		f.report(t, o, name)
	}
	switch name {
	case "quota", "denied", "down", "limits":
		applyDeployment(t, o, name)
	case "held":
		client := configMapsOf(o)
		if err := client.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// applyDeployment creates a Deployment whose pods the API server rejects. First it waits until a dry run of a pod is
// rejected, because the API server calls a new webhook only after some time.
func applyDeployment(t *testing.T, o *objects, name string) {
	t.Helper()
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "try", "namespace": o.namespace},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a", "resources": map[string]any{"limits": map[string]any{"memory": "64Mi"}}}}},
	}}
	pods := o.client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(o.namespace)
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	applyText(t, o, deployment(name, placed))
}

// report writes the status of the object that the fault is about, and an Event, in place of missing components.
func (f *fault) report(t *testing.T, o *objects, name string) {
	t.Helper()
	client, err := o.resource(t.Context(), f.of, "")
	if err != nil {
		t.Fatal(err)
	}
	var about *unstructured.Unstructured
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		list, err := client.List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil || len(list.Items) == 0 {
			return false, err
		}
		about = &list.Items[0]
		return true, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if f.status != "" {
		patch := []byte(`{"status":` + f.status + `}`)
		if _, err := client.Patch(t.Context(), about.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "kubelet"}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	if f.warning[0] != "" {
		if err := o.warn(f.of+"/"+about.GetName(), f.warning[0], f.warning[1]); err != nil {
			t.Fatal(err)
		}
	}
}

// denyingServer is an admission webhook that denies all pods.
func denyingServer(t *testing.T) *httptest.Server {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review struct {
			APIVersion, Kind string
			Request          struct{ UID string }
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"apiVersion":%q,"kind":%q,"response":{"uid":%q,"allowed":false,"status":{"message":"nginx:1.288 is not signed"}}}`, review.APIVersion, review.Kind, review.Request.UID)
	}))
	t.Cleanup(server.Close)
	return server
}

// denyingWebhook returns its configuration for the pods of a namespace.
func denyingWebhook(server *httptest.Server, namespace string) string {
	bundle := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return webhook(server.URL, bundle, namespace)
}

// webhook returns the configuration of a webhook for the pods of a namespace.
func webhook(url, bundle, namespace string) string {
	return fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: images-%[1]s}
webhooks:
- name: images.example.com
  clientConfig: {url: %[2]q, caBundle: %[3]q}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  admissionReviewVersions: [v1]
  sideEffects: None
`, namespace, url, bundle)
}

// TestReasonsPage checks that the table in docs/reference/reasons.md has the faults of this test.
func TestReasonsPage(t *testing.T) {
	var table strings.Builder
	table.WriteString("| Fault | State | `dwatch wait` | Listed as a problem |\n|---|---|---|---|\n")
	for _, f := range faults {
		listed := cmp.Or(f.listed, "yes")
		if f.cause != "" {
			listed += ": `" + f.cause + "`"
		}
		fmt.Fprintf(&table, "| %s | `%s` | `%s` | %s |\n", f.name, strings.TrimSpace(f.state), strings.TrimSpace(f.waits), listed)
	}
	path := readme.Path(t, "docs/reference/reasons.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const head = "| Fault |"
	begin := strings.Index(string(text), head)
	end := begin + strings.Index(string(text)[begin:], "\n\n") + 1
	want := string(text)[:begin] + table.String() + string(text)[end:]
	if want == string(text) {
		return
	}
	if os.Getenv("UPDATE_README") == "" {
		t.Fatal("docs/reference/reasons.md differs from the faults of this test: UPDATE_README=1 updates it")
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
