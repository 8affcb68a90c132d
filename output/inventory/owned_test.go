package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/owner"
)

// looping is the status of a pod that runs again between two crashes. The run before lasted from 8:59:50 to 9:00:00, and
// the present one began at 9:00:05, so that the loop ends at 9:00:25.
const looping = `,"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"app","restartCount":3,"ready":true,` +
	`"state":{"running":{"startedAt":"2026-01-31T09:00:05Z"}},"lastState":{"terminated":{"reason":"Error","exitCode":1,"startedAt":"2026-01-31T08:59:50Z","finishedAt":"2026-01-31T09:00:00Z"}}}]}`

// TestWithOwned checks what objects inherit from the objects that they own, and that a crash loop ends by time.
func TestWithOwned(t *testing.T) {
	deploys, sets, jobs, kafkas, nodes, gauges := target("apps", "deployments", "Deployment"), target("apps", "replicasets", "ReplicaSet"), target("batch", "jobs", "Job"), target("kafka.strimzi.io", "kafkas", "Kafka"), target("", "nodes", "Node"), target("example.com", "gauges", "Gauge")
	const (
		available = `,"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"readyReplicas":1,"updatedReplicas":1,"availableReplicas":1,"conditions":[{"type":"Available","status":"True"}]}`
		starting  = `,"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,"conditions":[{"type":"Available","status":"False"}]}`
		started   = `,"spec":{"replicas":1},"status":{"observedGeneration":1,"replicas":1,"readyReplicas":1,"fullyLabeledReplicas":1,"availableReplicas":1}`
		complete  = `,"spec":{},"status":{"conditions":[{"type":"Complete","status":"True"}],"startTime":"2026-01-31T09:00:00Z"}`
		running   = `,"spec":{},"status":{"active":1,"startTime":"2026-01-31T09:00:00Z"}`
		exited    = `,"status":{"phase":"Failed","containerStatuses":[{"name":"app","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]}`
		ready     = `,"status":{"conditions":[{"type":"Ready","status":"True"}]}`
		unready   = `,"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"2026-01-31T09:00:00Z"}]}`
		failed    = `,"status":{"conditions":[{"type":"Failed","status":"True","reason":"BackoffLimitExceeded"}],"startTime":"2026-01-31T09:00:00Z"}`
	)
	version := 0
	// object returns an object that an object of another kind owns. rest begins with a comma, revision may be empty.
	object := func(on event.Target, name, ownedBy, revision, rest string) (event.Target, event.Object) {
		version++
		kind := on.Mapping.GroupVersionKind
		meta := `"generation":1,"creationTimestamp":"2026-01-31T08:55:00Z"`
		if revision != "" {
			meta += fmt.Sprintf(`,"annotations":{"deployment.kubernetes.io/revision":%q}`, revision)
		}
		if ownerKind, ownerName, is := strings.Cut(ownedBy, "/"); is {
			api := map[string]string{"Job": "batch/v1", "Kafka": "kafka.strimzi.io/v1", "Node": "v1"}[ownerKind]
			if api == "" {
				api = "apps/v1"
			}
			meta += fmt.Sprintf(`,"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":%[3]q,"controller":true}]`, api, ownerKind, ownerName)
		}
		o := part(kind.Kind, name, "", version, rest, "m", "status", `{"f:status":{}}`)
		id := *o.Identity
		id.APIVersion = kind.GroupVersion().String()
		raw := strings.Replace(o.Raw(), `"apiVersion":"apps/v1","kind":"`+kind.Kind, `"apiVersion":"`+id.APIVersion+`","kind":"`+kind.Kind, 1)
		return on, event.NewObject(&id, strings.Replace(raw, `"metadata":{`, `"metadata":{`+meta+`,`, 1))
	}
	type step struct {
		second int
		make   func() (event.Target, event.Object) // nil: time passes
		want   string                              // the states of all objects without owned ones
	}
	of := func(on event.Target, name, ownedBy, revision, rest string) func() (event.Target, event.Object) {
		return func() (event.Target, event.Object) { return object(on, name, ownedBy, revision, rest) }
	}
	for name, steps := range map[string][]step{
		"a crash loop fails its workload, until it ends by time": {
			{6, of(deploys, "web", "", "2", available), "web Current"},
			{6, of(sets, "rs", "Deployment/web", "2", started), "rs Current; web Current"},
			{7, of(pods, "p", "ReplicaSet/rs", "", looping), "p Failed: CrashLoopBackOff (exit 1, 3 restarts); rs Failed: po/p CrashLoopBackOff (exit 1, 3 restarts); web Failed: po/p CrashLoopBackOff (exit 1, 3 restarts)"},
			{24, nil, "p Failed: CrashLoopBackOff (exit 1, 3 restarts); rs Failed: po/p CrashLoopBackOff (exit 1, 3 restarts); web Failed: po/p CrashLoopBackOff (exit 1, 3 restarts)"},
			{25, nil, "p Current; rs Current; web Current"},
		},
		"the pod is known before its owners": {
			{6, of(pods, "p", "ReplicaSet/rs", "", looping), "p Failed: CrashLoopBackOff (exit 1, 3 restarts)"},
			{7, of(sets, "rs", "Deployment/web", "2", started), "p Failed: CrashLoopBackOff (exit 1, 3 restarts); rs Failed: po/p CrashLoopBackOff (exit 1, 3 restarts)"},
			{8, of(deploys, "web", "", "2", available), "p Failed: CrashLoopBackOff (exit 1, 3 restarts); rs Failed: po/p CrashLoopBackOff (exit 1, 3 restarts); web Failed: po/p CrashLoopBackOff (exit 1, 3 restarts)"},
		},
		"a pod of the old template does not fail the deployment": {
			{6, of(deploys, "web", "", "2", available), "web Current"},
			{6, of(sets, "old", "Deployment/web", "1", started), "old Current; web Current"},
			{7, of(pods, "p", "ReplicaSet/old", "", looping), "old Failed: po/p CrashLoopBackOff (exit 1, 3 restarts); p Failed: CrashLoopBackOff (exit 1, 3 restarts); web Current"},
		},
		"a pod in progress is the reason of its workload": {
			{6, of(deploys, "web", "", "", starting), "web InProgress: 0/1 pods available"},
			{7, of(pods, "p", "Deployment/web", "", unpulled), `p InProgress: ImagePullBackOff; web InProgress: 0/1 pods available: po/p ImagePullBackOff`},
			{8, of(pods, "p", "Deployment/web", "", working), "p Current; web InProgress: 0/1 pods available"},
		},
		"a pod that another one replaces does not fail its workload": {
			{6, of(sets, "rs", "", "", started), "rs Current"},
			{7, of(pods, "p", "ReplicaSet/rs", "", exited), "p Failed: Error (exit 1); rs Current"},
		},
		"a failed pod of a job is only its reason": {
			{6, of(jobs, "job", "", "", running), "job InProgress: 0/1 pods succeeded"},
			{7, of(pods, "p", "Job/job", "", exited), "job InProgress: 0/1 pods succeeded: po/p Error (exit 1); p Failed: Error (exit 1)"},
			{8, of(jobs, "job", "", "", complete), "job Current; p Failed: Error (exit 1)"},
		},
		"a failed job does not fail a custom resource that is ready, and a crash loop does": {
			{6, of(kafkas, "k", "", "", ready), "k Current"},
			{7, of(jobs, "job", "Kafka/k", "", failed), "job Failed: BackoffLimitExceeded; k Current"},
			{8, of(pods, "p", "Kafka/k", "", looping), "job Failed: BackoffLimitExceeded; k Failed: po/p CrashLoopBackOff (exit 1, 3 restarts); p Failed: CrashLoopBackOff (exit 1, 3 restarts)"},
		},
		"a condition has been False for an hour": {
			{6, of(gauges, "g", "", "", unready), "g InProgress: Ready is False"},
			{3599, nil, "g InProgress: Ready is False"},
			{3600, nil, "g Failed: Ready is False, for more than an hour"},
			{3700, of(gauges, "g", "", "", ready), "g Current"},
		},
		"a node works without its static pods": {
			{6, of(nodes, "n", "", "", ready), "n Current"},
			{7, of(pods, "p", "Node/n", "", looping), "n Current; p Failed: CrashLoopBackOff (exit 1, 3 restarts)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, options := range []Options{{}, {FullHistory: true}} {
				s, known := newSeen(t, options), map[string]event.Object{}
				shown := map[string]string{} // what a view shows that takes the changes and the results of Refresh
				show := func(one *State) {
					shown[one.Entry.Name] = strings.TrimSuffix(one.Entry.Name+" "+one.Status.String()+": "+one.Message, ": ")
				}
				for _, step := range steps {
					now := start.Add(time.Duration(step.second) * time.Second)
					if step.make != nil {
						on, o := step.make()
						e := event.Event{Type: event.Added, Time: now, Target: on, Object: o, Old: known[o.Name]}
						if !e.Old.IsZero() {
							e.Type = event.Modified
						}
						known[o.Name] = o
						for _, c := range s.deliver(e) {
							show(s.WithOwned(c.State, now))
						}
					}
					for _, one := range s.Refresh(now) {
						show(one)
					}
					s.inheritance.took = 0 // otherwise a slow machine delays the next one
					var got []string
					for _, text := range shown {
						got = append(got, text)
					}
					slices.Sort(got)
					if name == "a condition has been False for an hour" && step.second >= 3600 {
						failed := 0
						for _, p := range s.Problems(now, 0, change.Options{}) {
							if p.Failed && p.RecoveredAt.IsZero() {
								failed++
							}
						}
						if want := map[int]int{3600: 1}[step.second]; failed != want {
							t.Errorf("second %d: %d problems, want %d", step.second, failed, want)
						}
					}
					if got := strings.Join(got, "; "); got != step.want {
						t.Errorf("second %d:\n%s\nwant\n%s", step.second, got, step.want)
					}
				}
			}
		})
	}
}

// TestInheritThroughLookup checks that an object inherits through an owner that is not watched, once that was looked up.
func TestInheritThroughLookup(t *testing.T) {
	known := false
	s := newSeen(t, Options{LookupOwners: func(_ string, o owner.Ref) ([]owner.Owner, bool) {
		if o.Kind != "ReplicaSet" || !known {
			return nil, known
		}
		return []owner.Owner{{Ref: owner.Ref{GroupVersionKind: o.GroupVersion().WithKind("Deployment"), Namespace: "shop", Name: "web", UID: "web"}, Controller: true}}, true
	}})
	made := func(o event.Object) event.Object {
		return event.NewObject(o.Identity, strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{"generation":1,"creationTimestamp":"2026-01-31T08:55:00Z",`, 1))
	}
	deploy := of(event.Added, made(part("Deployment", "web", "", 1, `,"spec":{"replicas":0},"status":{"observedGeneration":1,"conditions":[{"type":"Available","status":"True"}]}`, "m", "", "{}")), 6)
	deploy.Target = target("apps", "deployments", "Deployment")
	s.deliver(deploy, of(event.Added, made(part("Pod", "p", "rs", 2, looping, "m", "", "{}")), 7))
	for _, found := range []bool{false, true} {
		known = found
		turned := s.Refresh(start.Add(map[bool]time.Duration{false: 7, true: 9}[found] * time.Second))
		if got := len(turned); got != map[bool]int{true: 1}[found] {
			t.Errorf("lookup ended %t: %d objects turned", found, got)
		}
		for _, one := range turned {
			if got := one.Entry.Name + " " + one.Message; got != "web po/p CrashLoopBackOff (exit 1, 3 restarts)" {
				t.Error(got)
			}
		}
		s.inheritance.took = 0
	}
}

// TestInheritForeignOwner checks that an object does not inherit from an object of another namespace, whatever that refers to.
func TestInheritForeignOwner(t *testing.T) {
	s := newSeen(t, Options{})
	made := func(o event.Object) event.Object {
		return event.NewObject(o.Identity, strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{"generation":1,"creationTimestamp":"2026-01-31T08:55:00Z",`, 1))
	}
	set := of(event.Added, made(part("ReplicaSet", "rs", "", 1, `,"spec":{"replicas":0},"status":{"observedGeneration":1,"replicas":0}`, "m", "", "{}")), 6)
	set.Target = target("apps", "replicasets", "ReplicaSet")
	pod := made(part("Pod", "p", "rs", 2, looping, "m", "", "{}"))
	identity := *pod.Identity
	identity.Namespace = "other"
	s.deliver(set, of(event.Added, event.NewObject(&identity, pod.Raw()), 7))
	if turned := s.Refresh(start.Add(7 * time.Second)); len(turned) > 0 {
		t.Errorf("%s turned: %s", turned[0].Entry.Name, turned[0].Message)
	}
}
