package status

import (
	"reflect"
	"testing"

	testobject "dwatch/testdata/object"
	"dwatch/watcher/event"
)

// TestOf covers the corrections to kstatus, the built-in kinds that it does not know, and fields of a wrong type.
func TestOf(t *testing.T) {
	const (
		deployment = `"apiVersion":"apps/v1","kind":"Deployment"`
		set        = `"apiVersion":"apps/v1","kind":"StatefulSet"`
		daemons    = `"apiVersion":"apps/v1","kind":"DaemonSet"`
		job        = `"apiVersion":"batch/v1","kind":"Job"`
		pod        = `"apiVersion":"v1","kind":"Pod"`
		autoscaler = `"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler"`
		cron       = `"apiVersion":"batch/v1","kind":"CronJob"`
		definition = `"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"`
		hooks      = `"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration"`
		custom     = `"apiVersion":"example.com/v1","kind":"Gauge"`
		available  = `{"type":"Available","status":"True"}`
		paused     = `{"type":"Progressing","status":"Unknown","reason":"DeploymentPaused"}`
		complete   = `{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}`
	)
	for _, c := range []struct{ name, kind, rest, want string }{
		{"a new deployment", deployment, `"spec":{"replicas":0},"status":{}`, "InProgress: Deployment not Available"},
		{"a deployment scaled to zero", deployment, `"spec":{"replicas":0,"progressDeadlineSeconds":600},"status":{"observedGeneration":2,"conditions":[` + available + `,` + complete + `]}`, "Current"},
		{"a deployment after a change", deployment, `"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[` + available + `,` + complete + `]}`, "InProgress: Deployment generation is 2, but latest observed generation is 1"},
		{"a paused deployment", deployment, `"spec":{"replicas":1,"paused":true,"progressDeadlineSeconds":600},"status":{"observedGeneration":2,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[` + available + `,` + paused + `]}`, "Current"},
		{"a paused deployment with a pending change", deployment, `"spec":{"replicas":1,"paused":true,"progressDeadlineSeconds":600},"status":{"observedGeneration":2,"replicas":1,"readyReplicas":1,"availableReplicas":1,"conditions":[` + available + `,` + paused + `]}`, "InProgress: paused; 0/1 pods updated"},
		{"a new paused deployment", deployment, `"spec":{"replicas":0,"paused":true},"status":{}`, "InProgress: paused; Deployment not Available"},

		{"a new set", set, `"spec":{"replicas":0},"status":{"replicas":0}`, "InProgress"},
		{"a set scaled to zero", set, `"spec":{"replicas":0},"status":{"observedGeneration":2,"replicas":0}`, "Current"},
		{"OnDelete, a pod is missing", set, `"spec":{"replicas":2,"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":2,"replicas":1,"readyReplicas":1}`, "InProgress: 1/2 pods created"},
		{"OnDelete, a pod is not ready", set, `"spec":{"replicas":2,"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":2,"replicas":2,"readyReplicas":1}`, "InProgress: 1/2 pods ready"},
		{"OnDelete, ready", set, `"spec":{"replicas":2,"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":2,"replicas":2,"readyReplicas":2,"currentRevision":"a","updateRevision":"b"}`, "Current"},
		{"OnDelete, new", set, `"spec":{"replicas":0,"updateStrategy":{"type":"OnDelete"}},"status":{}`, "InProgress"},
		{"a partition", set, `"spec":{"replicas":3,"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":2}}},"status":{"observedGeneration":2,"replicas":3,"readyReplicas":3,"updatedReplicas":0}`, "InProgress: 0/1 pods updated"},

		{"new daemons", daemons, `"spec":{},"status":{"desiredNumberScheduled":0}`, "InProgress"},
		{"daemons without nodes", daemons, `"spec":{},"status":{"observedGeneration":2,"desiredNumberScheduled":0}`, "Current"},
		{"daemons with OnDelete", daemons, `"spec":{"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":2,"desiredNumberScheduled":2,"currentNumberScheduled":2,"updatedNumberScheduled":1,"numberAvailable":2,"numberReady":2}`, "Current"},
		{"daemons with OnDelete, one is not ready", daemons, `"spec":{"updateStrategy":{"type":"OnDelete"}},"status":{"observedGeneration":2,"desiredNumberScheduled":2,"currentNumberScheduled":2,"updatedNumberScheduled":1,"numberAvailable":1,"numberReady":1}`, "InProgress: 1/2 pods available"},
		{"new daemons with OnDelete", daemons, `"spec":{"updateStrategy":{"type":"OnDelete"}},"status":{"desiredNumberScheduled":0}`, "InProgress"},

		{"a new replica set", `"apiVersion":"apps/v1","kind":"ReplicaSet"`, `"spec":{"replicas":0},"status":{"replicas":0}`, "InProgress"},
		{"a new budget", `"apiVersion":"policy/v1","kind":"PodDisruptionBudget"`, `"spec":{},"status":{"disruptionsAllowed":0}`, "InProgress"},
		{"a budget", `"apiVersion":"policy/v1","kind":"PodDisruptionBudget"`, `"spec":{},"status":{"observedGeneration":2}`, "Current"},

		{"a new job", job, `"spec":{},"status":{}`, "InProgress: Job not started"},
		{"a suspended job", job, `"spec":{"suspend":true},"status":{"conditions":[{"type":"Suspended","status":"True"}]}`, "InProgress: suspended"},
		{"a running job", job, `"spec":{"completions":3},"status":{"startTime":"2026-01-31T09:00:00Z","active":1,"succeeded":1,"failed":2}`, "InProgress: 1/3 pods succeeded, 2 failed"},
		{"a failing job", job, `"spec":{"parallelism":2},"status":{"startTime":"2026-01-31T09:00:00Z","active":1,"conditions":[{"type":"FailureTarget","status":"True"}]}`, "InProgress: 0/2 pods succeeded"},
		{"a failed job", job, `"spec":{},"status":{"startTime":"2026-01-31T09:00:00Z","failed":1,"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded","message":"Job has reached the specified backoff limit"}]}`, "Failed: BackoffLimitExceeded: Job has reached the specified backoff limit"},
		{"a complete job", job, `"spec":{},"status":{"startTime":"2026-01-31T09:00:00Z","succeeded":1,"conditions":[{"type":"Complete","status":"True"}]}`, "Current"},

		{"a pod that succeeded", pod, `"status":{"phase":"Succeeded"}`, "Current"},
		{"a pod that was evicted", pod, `"status":{"phase":"Failed","reason":"Evicted","message":"low on memory"}`, "Failed: Evicted: low on memory"},
		{"a pod that failed", pod, `"status":{"phase":"Failed","containerStatuses":[{"name":"log","state":{"terminated":{"exitCode":0}}},{"name":"web","state":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}`, "Failed: container web: OOMKilled (exit 137)"},
		{"a pod that failed before it began", pod, `"status":{"phase":"Failed","initContainerStatuses":["?",{"name":"init","state":{"terminated":{"exitCode":1}}}]}`, "Failed: init container init: Error (exit 1)"},
		{"a failed pod without details", pod, `"status":{"phase":"Failed"}`, "Failed: the pod failed"},

		{"a pod in CrashLoopBackOff", pod, `"status":{"phase":"Running","containerStatuses":[{"name":"web","restartCount":4,"resources":{"limits":{"memory":"64Mi"}},"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}`, "Failed: OOMKilled (exit 137, 4 restarts), limit 64Mi"},
		{"a pod killed at the limit in its spec", pod, `"spec":{"containers":[{"name":"web","resources":{"limits":{"memory":"64Mi"}}}]},"status":{"phase":"Running","containerStatuses":[{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]}`, "Failed: OOMKilled (exit 137, 4 restarts), limit 64Mi"},
		{"a pod with its status before its spec", pod, `"status":{"phase":"Running","containerStatuses":[{"name":"web","restartCount":4,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}]},"spec":{"containers":[{"name":"web","resources":{"limits":{"memory":"64Mi"}}}]}`, "Failed: OOMKilled (exit 137, 4 restarts), limit 64Mi"},
		{"a pod that is starting", pod, `"status":{"phase":"Pending","containerStatuses":[{"name":"web","state":{"waiting":{"reason":"ContainerCreating"}}}]}`, "InProgress: Pod is in the Pending phase"},
		{"a deployment that cannot create its pods", deployment, `"spec":{"replicas":2},"status":{"observedGeneration":2,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"pods \"web-x\" is forbidden: exceeded quota: q"}]}`, "InProgress: 0/2 pods created: FailedCreate: exceeded quota: q"},
		{"a deployment that cannot create its pods, before a change", deployment, `"spec":{"replicas":2},"status":{"observedGeneration":1,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate"}]}`, "InProgress: Deployment generation is 2, but latest observed generation is 1"},
		{"a replica set that cannot create its pods", `"apiVersion":"apps/v1","kind":"ReplicaSet"`, `"spec":{"replicas":2},"status":{"observedGeneration":2,"conditions":[{"type":"ReplicaFailure","status":"True","reason":"FailedCreate","message":"no"}]}`, "InProgress: FailedCreate: no"},
		{"an autoscaler", autoscaler, `"status":{"conditions":[{"type":"AbleToScale","status":"True"},{"type":"ScalingActive","status":"True"}]}`, "Current"},
		{"a new autoscaler", autoscaler, `"status":{}`, "InProgress"},
		{"an autoscaler with a target without replicas", autoscaler, `"status":{"conditions":[{"type":"AbleToScale","status":"True"},{"type":"ScalingActive","status":"False","reason":"ScalingDisabled","message":"0 replicas"}]}`, "Current"},
		{"an autoscaler without metrics", autoscaler, `"status":{"conditions":[{"type":"AbleToScale","status":"True"},{"type":"ScalingActive","status":"False","reason":"FailedGetResourceMetric","message":"none"}]}`, "InProgress: FailedGetResourceMetric: none"},

		{"a load balancer without an address", `"apiVersion":"v1","kind":"Service"`, `"spec":{"type":"LoadBalancer","clusterIP":"10.0.0.1"},"status":{"loadBalancer":{}}`, "InProgress: the load balancer has no address yet"},
		{"a load balancer", `"apiVersion":"v1","kind":"Service"`, `"spec":{"type":"LoadBalancer","clusterIP":"10.0.0.1"},"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}`, "Current"},
		{"a service in the cluster", `"apiVersion":"v1","kind":"Service"`, `"spec":{"type":"ClusterIP","clusterIP":"10.0.0.1"},"status":{"loadBalancer":{}}`, "Current"},
		{"an ingress without an address", `"apiVersion":"networking.k8s.io/v1","kind":"Ingress"`, `"status":{"loadBalancer":{}}`, "InProgress: no ingress controller has set an address yet"},
		{"an ingress", `"apiVersion":"networking.k8s.io/v1","kind":"Ingress"`, `"status":{"loadBalancer":{"ingress":[{"hostname":"example.com"}]}}`, "Current"},
		{"a cron job that waits", cron, `"status":{}`, "Current"},
		{"a cron job that succeeded", cron, `"status":{"lastScheduleTime":"2026-01-31T10:00:00Z","lastSuccessfulTime":"2026-01-31T10:00:05Z"}`, "Current"},
		{"a cron job that runs", cron, `"status":{"active":[{"name":"a"}],"lastScheduleTime":"2026-01-31T10:00:00Z","lastSuccessfulTime":"2026-01-31T09:00:05Z"}`, "Current"},
		{"a cron job whose last job failed", cron, `"status":{"lastScheduleTime":"2026-01-31T10:00:00Z","lastSuccessfulTime":"2026-01-31T09:00:05Z"}`, "Failed: the job scheduled at 2026-01-31T10:00:00Z did not succeed"},
		{"a definition", definition, `"status":{"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"True"}]}`, "Current"},
		{"a definition that is not established", definition, `"status":{"conditions":[{"type":"NamesAccepted","status":"True"},{"type":"Established","status":"False"}]}`, "InProgress: not established yet"},
		{"a definition without a structural schema", definition, `"status":{"conditions":[{"type":"Established","status":"True"},{"type":"NonStructuralSchema","status":"True","reason":"Violations","message":"spec.x: Required value"}]}`, "Failed: NonStructuralSchema is True: Violations: spec.x: Required value"},
		{"a definition whose names are taken", definition, `"status":{"conditions":[{"type":"NamesAccepted","status":"False","reason":"PluralConflict","message":"crontabs is already in use"}]}`, "Failed: NamesAccepted is False: PluralConflict: crontabs is already in use"},
		{"an API service", `"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService"`, `"status":{"conditions":[{"type":"Available","status":"True"}]}`, "Current"},
		{"an API service without a backend", `"apiVersion":"apiregistration.k8s.io/v1","kind":"APIService"`, `"status":{"conditions":[{"type":"Available","status":"False","reason":"ServiceNotFound","message":"service/a in \"b\" is not present"}]}`, `Failed: ServiceNotFound: service/a in "b" is not present`},
		{"webhooks", hooks, `"webhooks":[{"name":"a.example.com","clientConfig":{"service":{"name":"a"},"caBundle":"Cg=="}},{"name":"b","clientConfig":{"url":"https://b"}}]`, "Current"},
		{"webhooks without a CA", hooks, `"webhooks":[{"name":"a.example.com","clientConfig":{"service":{"name":"a"}}}]`, "InProgress: webhook a.example.com has no CA bundle"},
		{"a budget that cannot be computed", `"apiVersion":"policy/v1","kind":"PodDisruptionBudget"`, `"status":{"observedGeneration":2,"conditions":[{"type":"DisruptionAllowed","status":"False","reason":"SyncFailed","message":"found no controllers"}]}`, "Failed: SyncFailed: found no controllers"},

		{"without a status", custom, `"spec":{}`, "Unknown"},
		{"an empty status", custom, `"status":{}`, "Unknown"},
		{"a status without evidence", custom, `"status":{"pressure":3}`, "Unknown: nothing in its status says whether it is ready"},
		{"ready", custom, `"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":2}]}`, "Current"},
		{"ready, without a generation", custom, `"status":{"conditions":[{"type":"Ready","status":"True"}]}`, "Current"},
		{"ready for an older generation", custom, `"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":1}]}`, "InProgress: Gauge generation is 2, but condition Ready is of 1"},
		{"not ready", custom, `"status":{"conditions":[{"type":"Ready","status":"False","reason":"Low","message":"pressure is low"}]}`, "InProgress: Low: pressure is low"},
		{"a built-in kind without a status", `"apiVersion":"networking.k8s.io/v1","kind":"IngressClass"`, `"spec":{}`, "Current"},
		{"a job with odd conditions", job, `"spec":{"completions":"x","suspend":"x"},"status":{"startTime":"2026-01-31T09:00:00Z","succeeded":"x","conditions":[{"type":3},{}]}`, "InProgress: 0/1 pods succeeded"},
		{"a job without conditions", job, `"spec":[],"status":{"startTime":"2026-01-31T09:00:00Z"}`, "InProgress: 0/1 pods succeeded"},
		{"a failed pod with odd containers", pod, `"status":{"phase":"Failed","containerStatuses":[null,{"state":[]},{"state":{"terminated":{"exitCode":"x"}}}]}`, "Failed: the pod failed"},
		{"an odd set", set, `"spec":{"replicas":"x","updateStrategy":{"type":"OnDelete","rollingUpdate":3}},"status":3`, "InProgress: 0/1 pods created"},
		{"an odd deployment", deployment, `"spec":{"paused":"x"},"status":[]`, "InProgress: 0/1 pods created"},
		{"a running pod with odd containers", pod, `"status":{"phase":"Running","containerStatuses":[null,{"name":3,"state":[]},{"name":"web","state":{"waiting":3}}],"conditions":[{"type":"Ready","status":"True"}]}`, "Current"},
		{"an odd observed generation", deployment, `"status":{"observedGeneration":"x","replicas":1}`, "InProgress: 0/1 pods updated"},
		{"an odd generation", custom, `"status":{"conditions":[{"type":"Ready","status":"True","observedGeneration":"x"}]}`, "Current"},
		{"a status that is a word", custom, `"status":"fine"`, "Unknown: nothing in its status says whether it is ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := testobject.Parse(t, `{`+c.kind+`,"metadata":{"name":"a","generation":2,"creationTimestamp":"2026-01-31T09:00:00Z"},`+c.rest+`}`)
			for _, content := range []string{o.Raw(), TrimContent(o.APIVersion, o.Kind, o.Raw())} {
				u, err := event.NewObject(o.Identity, content).Decode()
				if err != nil {
					t.Fatal(err)
				}
				before := u.DeepCopy()
				s := Of(u)
				got := s.Word.String()
				if s.Message != "" {
					got += ": " + s.Message
				}
				if got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if got != "Current" && !MayNotBeCurrent(u.GroupVersionKind(), o.Raw()) {
					t.Errorf("MayNotBeCurrent is false for %q", got)
				}
				if !reflect.DeepEqual(before.Object, u.Object) {
					t.Error("Of changed the object")
				}
			}
		})
	}
}
