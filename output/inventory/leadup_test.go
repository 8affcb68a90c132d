package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
)

// TestLeadUp lists the intentional changes in the ten minutes before a pod crashed, related ones first.
func TestLeadUp(t *testing.T) {
	maps, deploys, sets := target("", "configmaps", "ConfigMap"), target("apps", "deployments", "Deployment"), target("apps", "replicasets", "ReplicaSet")
	const image, data, none = `{"f:spec":{"f:image":{}}}`, `{"f:data":{}}`, `{"f:status":{}}`
	compare := &change.Options{Noise: change.DefaultNoise()}
	s := newSeen(t, Options{Compare: compare, MaxDeleted: 1})
	olds, version := map[string]event.Object{}, 0
	deliver := func(kind event.Type, on *event.Target, second int, initial bool, o event.Object) {
		e := of(kind, o, second)
		if on != nil {
			e.Target = *on
		}
		e.Initial = initial
		if kind == event.Modified {
			e.Old = olds[string(o.UID)]
		}
		olds[string(o.UID)] = o
		s.deliver(e)
	}
	with := func(kind, uid, owner, rest, manager, fields string) event.Object {
		version++
		return part(kind, uid, owner, version, rest, manager, "", fields)
	}
	web := func(n int) event.Object {
		return with("Deployment", "web", "", fmt.Sprintf(`,"spec":{"image":"web:%d"}`, n), "kubectl", image)
	}
	settings := func(name string, n int) event.Object {
		return with("ConfigMap", name, "", fmt.Sprintf(`,"data":{"n":"%d"}`, n), "argo", data)
	}
	const names = `,"spec":{"volumes":[{"name":"a","configMap":{"name":"named"}}]}`
	deliver(event.Added, &deploys, 0, true, web(1))
	deliver(event.Added, &maps, 0, true, settings("named", 1))
	deliver(event.Added, &maps, 0, true, settings("other", 1))
	deliver(event.Added, &maps, 0, true, settings("gone", 1))
	deliver(event.Added, &sets, 0, true, with("ReplicaSet", "rs", "web", "", "kube-controller-manager", none))
	deliver(event.Added, nil, 0, true, with("Pod", "web-1", "rs", names+working, "kubelet", none))
	deliver(event.Modified, &maps, 10, false, settings("other", 2)) // too early
	deliver(event.Modified, &maps, 100, false, settings("named", 2))
	deliver(event.Modified, &deploys, 200, false, web(2))
	deliver(event.Modified, &maps, 300, false, settings("other", 3))
	deliver(event.Deleted, &maps, 400, false, olds["gone"])
	deliver(event.Modified, nil, 650, false, with("Pod", "web-1", "rs", names+crashing, "kubelet", none))
	deliver(event.Modified, &maps, 700, false, settings("named", 3)) // too late
	past, _ := s.History("pods/web-1")
	pod := past.Entry
	found, err := FindLeadUp(t.Context(), s.Inventory, pod, start.Add(650*time.Second), 10*time.Minute, *compare)
	var got []string
	for _, c := range found.Changes {
		got = append(got, fmt.Sprint(c.Proximity, " ", c.Entry.Name, " ", c.Manager, ": ", c.Summary))
	}
	want := []string{"0 web kubectl: image web:1 → web:2", "0 named argo: n 1 → 2", "1 gone : it was deleted", "1 other argo: n 2 → 3"}
	if err != nil || !slices.Equal(got, want) || found.IncompleteObjects > 0 || !found.ForgottenUntil.IsZero() {
		t.Errorf("%q and %+v", got, found)
	}
	// Evicted states are counted.
	deliver(event.Deleted, &maps, 710, false, olds["other"])
	found, err = FindLeadUp(t.Context(), s.Inventory, pod, start.Add(650*time.Second), 10*time.Minute, *compare)
	if err != nil || len(found.Changes) != 3 || !found.ForgottenUntil.Equal(start.Add(400*time.Second)) {
		t.Errorf("%+v", found)
	}
	// A canceled context ends the search.
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := FindLeadUp(gone, s.Inventory, pod, start.Add(650*time.Second), 10*time.Minute, *compare); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
