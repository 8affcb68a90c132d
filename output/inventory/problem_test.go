package inventory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// Statuses of a pod.
const (
	crashing = `,"status":{"phase":"Running","containerStatuses":[{"name":"app","restartCount":3,"ready":false,"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"reason":"Error","exitCode":1}}}]}`
	working  = `,"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],"containerStatuses":[{"name":"app","ready":true,"state":{"running":{}}}]}`
	unpulled = `,"status":{"phase":"Pending","containerStatuses":[{"name":"app","ready":false,"state":{"waiting":{"reason":"ImagePullBackOff","message":"Back-off pulling image \"web:9\""}}}]}`
)

// TestProblems: what is wrong is one line for each root, since when it is, and after what.
func TestProblems(t *testing.T) {
	deploys, sets := target("apps", "deployments", "Deployment"), target("apps", "replicasets", "ReplicaSet")
	const image, none = `{"f:spec":{"f:image":{}}}`, `{"f:status":{}}`
	spec := func(n int) string { return fmt.Sprintf(`,"spec":{"image":"web:%d"}`, n) }
	made := func(o event.Object) event.Object { // kstatus asks when
		return event.NewObject(o.Identity, strings.Replace(o.Raw(), `"metadata":{`, `"metadata":{"creationTimestamp":"2026-01-31T08:55:00Z",`, 1))
	}
	for _, options := range []Options{{}, {Compare: &change.Options{Noise: change.DefaultNoise()}}} {
		s := newSeen(t, options)
		second := 0
		deliver := func(kind event.Type, on event.Target, initial bool, o event.Object) {
			e := of(kind, made(o), second)
			e.Target, e.Initial = on, initial
			s.deliver(e)
		}
		version := 0
		pod := func(name, owner, status string) event.Object {
			version++
			return part("Pod", name, owner, version, status, "kubelet", "status", none)
		}
		want := func(problems ...string) {
			t.Helper()
			var got []string
			for _, p := range s.Problems(start.Add(time.Duration(second)*time.Second), change.Options{Noise: change.DefaultNoise()}) {
				text := fmt.Sprintf("%s %s ×%d", p.Root.Name, firstWord(p.State.Why), p.Objects)
				if p.Failed {
					text += " failed"
				}
				if !p.Since.IsZero() {
					text += fmt.Sprint(" since ", p.Since.Sub(start).Seconds())
				}
				if !p.Over.IsZero() {
					text += fmt.Sprint(" over ", p.Over.Sub(start).Seconds())
				}
				if c := p.Cause; c != nil {
					text += " after " + strings.TrimPrefix(c.Who+": ", ": ") + c.What
				}
				got = append(got, text)
			}
			if g, w := strings.Join(got, "\n"), strings.Join(problems, "\n"); g != w {
				t.Errorf("second %d:\n%s\nwant\n%s", second, g, w)
			}
		}
		deliver(event.Added, deploys, true, part("Deployment", "d", "", 1, spec(1), "maker", "", image))
		deliver(event.Added, sets, true, part("ReplicaSet", "r", "d", 1, spec(1), "maker", "", image))
		for _, name := range []string{"p1", "p2"} {
			deliver(event.Added, pods, true, pod(name, "r", working))
		}
		deliver(event.Added, pods, true, pod("old", "", crashing))
		want("old CrashLoopBackOff ×1 failed")
		deliver(event.Deleted, pods, false, pod("old", "", crashing))
		want()
		second = 4
		deliver(event.Modified, deploys, false, part("Deployment", "d", "", 2, spec(2), "kubectl-set", "", image))
		second = 10
		deliver(event.Modified, pods, false, pod("p1", "r", crashing))
		want("d CrashLoopBackOff ×1 failed since 10 after kubectl-set: image web:1 → web:2")
		second = 12
		deliver(event.Modified, deploys, false, part("Deployment", "d", "", 3, spec(3), "kubectl-set", "", image))
		deliver(event.Modified, pods, false, pod("p2", "r", crashing))
		deliver(event.Added, pods, false, pod("new", "", unpulled))
		want("d CrashLoopBackOff ×2 failed since 10 after kubectl-set: image web:1 → web:2")
		second = 20
		deliver(event.Modified, pods, false, pod("p1", "r", working))
		want("d CrashLoopBackOff ×2 failed since 10 after kubectl-set: image web:1 → web:2")
		second = 22 // it has waited for long enough to be one
		want("d CrashLoopBackOff ×2 failed since 10 after kubectl-set: image web:1 → web:2",
			"new ImagePullBackOff ×1 since 12 after created")
		deliver(event.Modified, pods, false, pod("new", "", working))
		deliver(event.Modified, pods, false, pod("p2", "r", working))
		want("new ImagePullBackOff ×1 since 12 over 22 after created",
			"d CrashLoopBackOff ×2 failed since 10 over 22 after kubectl-set: image web:1 → web:2")
		second = 51 // p1 is no more one of them
		want("new ImagePullBackOff ×1 since 12 over 22 after created",
			"d CrashLoopBackOff ×1 failed since 12 over 22 after kubectl-set: image web:2 → web:3")
		second = 52
		want()
		second = 60 // it was never well
		deliver(event.Modified, pods, false, pod("p2", "r", crashing))
		want("d CrashLoopBackOff ×1 failed since 12 after kubectl-set: image web:2 → web:3")
		second = 70
		deliver(event.Modified, pods, false, pod("p2", "r", working))
		second = 70 + int(relapse/time.Second) + 1
		want()
		deliver(event.Modified, pods, false, pod("p2", "r", crashing))
		want(fmt.Sprintf("d CrashLoopBackOff ×1 failed since %d after kubectl-set: image web:2 → web:3", second))
		deliver(event.Deleted, pods, false, pod("p2", "r", crashing))
		want()
	}
}
