package reason

import (
	"reflect"
	"strings"
	"testing"

	"dwatch/testdata/object"
	"dwatch/watcher/object/kubeevent"
)

// TestOf finds the reason of objects that are not ready. A text that ends with … may be explained by Events.
func TestOf(t *testing.T) {
	const (
		pod        = `"apiVersion":"v1","kind":"Pod"`
		claim      = `"apiVersion":"v1","kind":"PersistentVolumeClaim"`
		set        = `"apiVersion":"apps/v1","kind":"ReplicaSet"`
		job        = `"apiVersion":"batch/v1","kind":"Job"`
		node       = `"apiVersion":"v1","kind":"Node"`
		gauge      = `"apiVersion":"example.com/v1","kind":"Gauge"`
		autoscaler = `"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler"`
		oom        = `{"exitCode":137,"reason":"OOMKilled"}`
		limit      = `"spec":{"containers":[{"name":"other"},{"name":"web","resources":{"limits":{"memory":"64Mi"}}}]},`
		probes     = `"spec":{"containers":[{"name":"other"},{"name":"web","readinessProbe":{"httpGet":{}},"startupProbe":{"httpGet":{}}}]},`
	)
	running := func(containers string) string {
		return `"status":{"phase":"Running","containerStatuses":[` + containers + `]}`
	}
	waits := func(rest string) string {
		return `"status":{"phase":"Pending","containerStatuses":[{"name":"web","image":"nginx:1.288","state":{"waiting":{` + rest + `}}}]}`
	}
	for _, c := range []struct{ name, kind, rest, want string }{
		{"OOMKilled repeatedly", pod, limit + running(`{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":`+oom+`}}`), "OOMKilled (exit 137, 4 restarts), limit 64Mi"},
		{"the limit that the kubelet reports", pod, limit + running(`{"name":"web","restartCount":1,"resources":{"limits":{"memory":"96Mi"}},"state":{"terminated":`+oom+`}}`), "OOMKilled (exit 137, 1 restart), limit 96Mi"},
		{"the limit of the pod", pod, `"spec":{"resources":{"limits":{"memory":"1Gi"}}},` + running(`{"name":"web","state":{"terminated":`+oom+`}}`), "OOMKilled (exit 137), limit 1Gi"},
		{"without a limit", pod, running(`{"name":"web","state":{"terminated":` + oom + `}}`), "OOMKilled (exit 137)"},
		{"running again", pod, limit + running(`{"name":"web","restartCount":2,"state":{"running":{}},"lastState":{"terminated":`+oom+`}}`), "runs again after OOMKilled (exit 137, 2 restarts), limit 64Mi …"},
		{"a crash loop", pod, running(`{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error","message":"a\nno such file: /etc/shop\n"}}}`), "CrashLoopBackOff (exit 1, 4 restarts): no such file: /etc/shop"},
		{"a loop with exit code 0", pod, running(`{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":0,"reason":"Completed"}}}`), "CrashLoopBackOff: Completed (exit 0, 4 restarts)"},
		{"a loop without details", pod, running(`{"name":"web","state":{"waiting":{"reason":"CrashLoopBackOff"}}}`), "CrashLoopBackOff"},
		{"a start error", pod, running(`{"name":"web","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":128,"reason":"StartError","message":"exec: \"shop\": not found in $PATH"}}}`), `StartError (exit 128, 2 restarts): exec: "shop": not found in $PATH`},
		{"killed for an unknown reason", pod, running(`{"name":"web","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"Error"}}}`), "CrashLoopBackOff (exit 137, 2 restarts) …"},
		{"no image", pod, waits(`"reason":"ImagePullBackOff","message":"Back-off pulling image \"nginx:1.288\": ErrImagePull: rpc error: code = NotFound desc = failed to resolve reference \"docker.io/library/nginx:1.288\": docker.io/library/nginx:1.288: not found"`), "ImagePullBackOff nginx:1.288: not found"},
		{"no image, an old kubelet", pod, waits(`"reason":"ImagePullBackOff","message":"Back-off pulling image \"nginx:1.288\""`), "ImagePullBackOff nginx:1.288"},
		{"no local image", pod, waits(`"reason":"ErrImageNeverPull","message":"Container image \"nginx:1.288\" is not present with pull policy of Never"`), `ErrImageNeverPull nginx:1.288: Container image "nginx:1.288" is not present with pull policy of Never`},
		{"a missing key", pod, waits(`"reason":"CreateContainerConfigError","message":"couldn't find key colour in ConfigMap shop/web"`), "CreateContainerConfigError: couldn't find key colour in ConfigMap shop/web"},
		{"starting", pod, waits(`"reason":"ContainerCreating"`), ""},
		{"not ready for an unknown reason", pod, running(`{"name":"web","started":true,"state":{"running":{}}}`), "runs, but is not ready …"},
		{"not started for an unknown reason", pod, running(`{"name":"web","started":false,"state":{"running":{}}}`), "runs, but is not ready …"},
		{"without a probe", pod, limit + running(`{"name":"web","started":true,"state":{"running":{}}}`), "runs, but is not ready …"},
		{"a readiness probe", pod, probes + running(`{"name":"web","started":true,"state":{"running":{}}}`), "its readiness probe does not succeed …"},
		{"a readiness probe, an old kubelet", pod, probes + running(`{"name":"web","state":{"running":{}}}`), "its readiness probe does not succeed …"},
		{"a probe of another container", pod, probes + running(`{"name":"other","started":true,"state":{"running":{}}}`), "runs, but is not ready …"},
		{"a startup probe", pod, probes + running(`{"name":"web","started":false,"state":{"running":{}}}`), "its startup probe does not succeed …"},
		{"a probe of one of several containers", pod, probes + running(`{"name":"web","started":true,"state":{"running":{}}},{"name":"other","ready":true,"state":{"running":{}}}`), "container web: its readiness probe does not succeed …"},
		{"the container that says why", pod, running(`{"name":"web","started":true,"state":{"running":{}}},{"name":"log","state":{"terminated":{"exitCode":2,"reason":"Error"}}}`), "container log: Error (exit 2)"},
		{"the first container that says why", pod, running(`{"name":"web","state":{"terminated":{"exitCode":3}}},{"name":"log","state":{"terminated":{"exitCode":2,"reason":"Error"}}}`), "container web: Error (exit 3)"},
		{"an init container", pod, `"status":{"phase":"Pending","initContainerStatuses":[{"name":"ok","ready":true,"state":{"terminated":{"exitCode":0}}},{"name":"migrate","restartCount":3,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":1,"reason":"Error"}}}],"containerStatuses":[{"name":"web","state":{"waiting":{"reason":"PodInitializing"}}}]}`, "init container migrate: CrashLoopBackOff (exit 1, 3 restarts)"},
		{"a running init container", pod, `"status":{"phase":"Pending","initContainerStatuses":[{"name":"migrate","state":{"running":{}}}]}`, "init container migrate: runs …"},
		{"unschedulable", pod, `"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."}]}`, "Unschedulable: 0/3 nodes: insufficient memory"},
		{"unschedulable for several reasons", pod, `"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu."}]}`, "Unschedulable: 0/3 nodes: 1 node(s) had untolerated taint(s), 2 insufficient cpu"},
		{"no volume", pod, `"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found"}]}`, "Unschedulable: 0/2 nodes: pod has unbound immediate PersistentVolumeClaims. not found"},
		{"gated", pod, `"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"SchedulingGated","message":"Scheduling is blocked due to non-empty scheduling gates"}]}`, "SchedulingGated: Scheduling is blocked due to non-empty scheduling gates"},
		{"evicted", pod, `"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource:\nmemory. "}`, "Evicted: The node was low on resource: memory."},
		{"its node is gone", pod, `"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"},{"type":"ContainersReady","status":"True"}],"containerStatuses":[{"name":"web","ready":true,"state":{"running":{}}}]}`, "not ready, though its containers are: its node may be gone …"},
		{"a readiness gate", pod, `"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","reason":"ReadinessGatesNotReady","message":"no"},{"type":"ContainersReady","status":"True"}]}`, "ReadinessGatesNotReady: no"},
		{"a running pod", pod, `"status":{"phase":"Running"}`, ""},
		{"odd", pod, `"spec":3,"status":{"phase":"Running","conditions":{},"initContainerStatuses":[3],"containerStatuses":[null,{"name":3,"state":{"waiting":[]},"lastState":3,"ready":"x"}]}`, ""},
		{"odder", pod, `"status":[]`, ""},

		{"no class", claim, `"status":{"phase":"Pending"}`, "Pending, without a StorageClass …"},
		{"a class", claim, `"spec":{"storageClassName":"fast"},"status":{"phase":"Pending"}`, "Pending, StorageClass fast …"},
		{"a volume", claim, `"spec":{"storageClassName":"fast","volumeName":"pv-1"},"status":{"phase":"Lost"}`, "Lost: its volume pv-1 is gone …"},
		{"a volume that waits", claim, `"spec":{"storageClassName":"fast","volumeName":"pv-1"},"status":{"phase":"Pending"}`, "Pending, waits for volume pv-1 …"},
		{"bound", claim, `"spec":{"volumeName":"pv-1"},"status":{"phase":"Bound"}`, ""},
		{"a quota", set, `"status":{"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"pods \"web-x\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0"}]}`, "FailedCreate: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0"},
		{"a webhook", set, `"status":{"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"admission webhook \"images.example.com\" denied the request: unsigned"}]}`, `FailedCreate: admission webhook "images.example.com" denied the request: unsigned`},
		{"a job over its backoff limit", job, `"status":{"conditions":[{"type":"FailureTarget","status":"True","reason":"BackoffLimitExceeded","message":"too often"}]}`, "BackoffLimitExceeded: too often"},
		{"a node", node, `"status":{"conditions":[{"type":"Ready","status":"Unknown","reason":"NodeStatusUnknown","message":"Kubelet stopped posting node status."}]}`, "NodeStatusUnknown: Kubelet stopped posting node status."},
		{"no metrics", autoscaler, `"status":{"conditions":[{"type":"ScalingActive","status":"False","reason":"FailedGetResourceMetric","message":"unable"}]}`, "FailedGetResourceMetric: unable"},
		{"a missing target", autoscaler, `"status":{"conditions":[{"type":"AbleToScale","status":"False","reason":"FailedGetScale","message":"not found"}]}`, "FailedGetScale: not found"},
		{"a target without replicas", autoscaler, `"status":{"conditions":[{"type":"ScalingActive","status":"False","reason":"ScalingDisabled"}]}`, ""},
		{"not ready", gauge, `"status":{"conditions":[{"type":"Ready","status":"False","reason":"Low","message":"pressure is low"}]}`, "Low: pressure is low"},
		{"stalled", gauge, `"status":{"conditions":[{"type":"Stalled","status":"True","reason":"Stuck"},{"type":"Ready","status":"False","reason":"Low"}]}`, "Stuck"},
		{"ready", gauge, `"status":{"conditions":[{"type":"Ready","status":"True"}]}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			check(t, `{`+c.kind+`,"metadata":{"name":"a"},`+c.rest+`}`, c.want)
		})
	}
}

// TestDeletion checks what the deletion of an object waits for.
func TestDeletion(t *testing.T) {
	for meta, want := range map[string]string{
		`"finalizers":["example.com/hold","b"]`: "waits for example.com/hold, b",
		`"deletionGracePeriodSeconds":30`:       "30 s of grace",
		`"name":"a"`:                            "",
	} {
		check(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"deletionTimestamp":"2026-01-31T09:00:00Z",`+meta+`}}`, want)
	}
	check(t, `{"apiVersion":"v1","kind":"Namespace","metadata":{"deletionTimestamp":"2026-01-31T09:00:00Z"},"status":{"conditions":[
		{"type":"NamespaceContentRemaining","status":"True","reason":"SomeResourcesRemain","message":"cm has 1 resource instances"},
		{"type":"NamespaceFinalizersRemaining","status":"True","reason":"SomeFinalizersRemain","message":"example.com/hold in 1 resource instances"}]}}`,
		"SomeFinalizersRemain: example.com/hold in 1 resource instances")
}

// check compares the reason of an object, with … at its end if Events may explain it.
func check(t *testing.T, content, want string) {
	t.Helper()
	u, err := object.Parse(t, content).Decode()
	if err != nil {
		t.Fatal(err)
	}
	before := u.DeepCopy()
	r := Of(u)
	if r.NeedsEvents {
		r.Text += " …"
	}
	if r.Text != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
	if !reflect.DeepEqual(before.Object, u.Object) {
		t.Error("Of changed the object")
	}
}

// TestEvent checks how the messages of Warnings are shortened.
func TestEvent(t *testing.T) {
	for _, c := range []struct{ reason, message, want string }{
		{"FailedCreate", `Error creating: pods "web-x" is forbidden: exceeded quota: few`, "FailedCreate: exceeded quota: few"},
		{"FailedCreate", `create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: no PriorityClass with name nosuch was found`, "FailedCreate: no PriorityClass with name nosuch was found"},
		{"FailedCreate", `Error creating: Internal error occurred: failed calling webhook "a": refused`, `FailedCreate: Internal error occurred: failed calling webhook "a": refused`},
		{"FailedMount", `MountVolume.SetUp failed for volume "config" : configmap "shop" not found`, `FailedMount: volume "config": configmap "shop" not found`},
		{"FailedMount", "Unable to attach\n or mount", "FailedMount: Unable to attach or mount"},
		{"FailedScheduling", "0/1 nodes are available: 1 Insufficient cpu.", "FailedScheduling: 0/1 nodes: insufficient cpu"},
		{"ProvisioningFailed", `storageclass.storage.k8s.io "fast" not found`, `ProvisioningFailed: storageclass.storage.k8s.io "fast" not found`},
		{"", "", ""},
	} {
		if got := Event(kubeevent.Event{Reason: c.reason, Message: c.message}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// TestLastLine checks that a long termination message is cut.
func TestLastLine(t *testing.T) {
	if got := lastLine(strings.Repeat("é", 200)); got != strings.Repeat("é", maxTermination)+"…" {
		t.Error(got)
	}
}
