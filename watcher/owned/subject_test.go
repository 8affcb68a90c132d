package owned

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
)

// object is one of a kind and name, with the rest of its content.
func object(version, kind, name, rest string) event.Object {
	id := &event.Identity{APIVersion: version, Kind: kind, Namespace: "shop", Name: name, UID: types.UID(kind + name)}
	return event.NewObject(id, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"shop","name":%q,%s}`, version, kind, name, rest))
}

// TestSubject: what belongs to an object passes, in whatever order it comes, and nothing else.
func TestSubject(t *testing.T) {
	const (
		ofWeb    = `"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u"}],"labels":{"app":"web"}}`
		template = `"x":1},"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{"serviceAccountName":"web","containers":[{"envFrom":[{"configMapRef":{"name":"conf"}}]}]}}}`
		none     = `"x":1}`
	)
	stage := New(nil, web, func(_ context.Context, o owner.Ref) ([]owner.Owner, error) {
		if o.Name == "web-1" {
			return []owner.Owner{{Ref: web}}, nil
		}
		return nil, nil
	})
	stage.Subject = NewSubject(web)
	for _, c := range []struct {
		what event.Object
		want bool
	}{
		{object("v1", "ConfigMap", "conf", none), false}, // nothing is known yet
		{object("v1", "Service", "web", none+`,"spec":{"selector":{"app":"web"}}`), false},
		{object("apps/v1", "Deployment", "other", template), false},
		{object("apps/v1", "Deployment", "web", template), true},
		{object("v1", "ConfigMap", "conf", none), true},
		{object("v1", "Secret", "conf", none), false},
		{object("v1", "ServiceAccount", "web", none), true},
		{object("v1", "Pod", "web-1-a", ofWeb+`,"spec":{"nodeName":"n1","volumes":[{"persistentVolumeClaim":{"claimName":"data"}}]}`), true},
		{object("v1", "PersistentVolumeClaim", "data", none), true},
		{object("v1", "Pod", "stray", none), false},
		{object("networking.k8s.io/v1", "Ingress", "web", none+`,"spec":{"rules":[{"http":{"paths":[{"backend":{"service":{"name":"web"}}}]}}]}`), false},
		{object("v1", "Service", "web", none+`,"spec":{"selector":{"app":"web"}}`), true},
		{object("v1", "Service", "all", none+`,"spec":{}`), false},
		{object("v1", "Service", "odd", none+`,"spec":{"selector":[]}`), false},
		{object("networking.k8s.io/v1", "Ingress", "web", none+`,"spec":{"rules":[{"http":{"paths":[{"backend":{"service":{"name":"web"}}}]}}]}`), true},
		{object("networking.k8s.io/v1", "Ingress", "other", none+`,"spec":{"defaultBackend":{"service":{"name":"other"}}}`), false},
		{object("policy/v1", "PodDisruptionBudget", "web", none+`,"spec":{"selector":{"matchLabels":{"app":"web"}}}`), true},
		{object("policy/v1", "PodDisruptionBudget", "none", none+`,"spec":{"selector":{}}`), false},
		{object("autoscaling/v2", "HorizontalPodAutoscaler", "web", none+`,"spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"}}`), true},
		{object("autoscaling/v2", "HorizontalPodAutoscaler", "db", none+`,"spec":{"scaleTargetRef":{"kind":"StatefulSet","name":"web"}}`), false},
		{object("v1", "Event", "a", none+`,"involvedObject":{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"conf"}`), true},
		{object("v1", "Event", "c", none+`,"involvedObject":{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","namespace":"shop","name":"web"}`), true},
		{object("v1", "Event", "d", none+`,"involvedObject":{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","namespace":"shop","name":"db"}`), false},
		{object("v1", "Event", "b", none+`,"involvedObject":{"apiVersion":"v1","kind":"ConfigMap","namespace":"shop","name":"other"}`), false},
	} {
		got, err := stage.Has(t.Context(), c.what)
		if err != nil {
			t.Fatal(err)
		}
		if got != c.want {
			t.Errorf("%s %s: %v", c.what.Kind, c.what.Name, got)
		}
	}
	var refs []string
	for _, r := range stage.Subject.Refs() {
		refs = append(refs, r.Kind+" "+r.Name)
	}
	slices.Sort(refs)
	if want := []string{"ConfigMap conf", "Node n1", "PersistentVolumeClaim data", "ServiceAccount web"}; !slices.Equal(refs, want) {
		t.Errorf("%q, want %q", refs, want)
	}
	select {
	case <-stage.Subject.Grown():
	default:
		t.Error("nobody says that there is more")
	}
}

// TestLabels: those of many pods are known, however often each of them changes.
func TestLabels(t *testing.T) {
	labelled := func(name string) string { return `"labels":{"pod":"` + name + `"}}` }
	s := NewSubject(web)
	learn := func(name string) {
		u, err := object("v1", "Pod", name, labelled(name)).Open()
		if err != nil {
			t.Fatal(err)
		}
		s.Learn(u)
	}
	for range maxLabels + 1 {
		learn("web-0")
	}
	learn("web-1")
	learn("web-0")
	for _, name := range []string{"web-0", "web-1"} {
		u, err := object("v1", "Service", name, `"x":1},"spec":{"selector":{"pod":"`+name+`"}}`).Open()
		if err != nil || !s.Fronts(u) {
			t.Errorf("the Service of %s does not belong to it: %v", name, err)
		}
	}
}

// TestLater: a Service, and what leads to it, passes when the pods behind it are known, in its last state and as
// new; so does what comes to belong to the subject by a change.
func TestLater(t *testing.T) {
	const (
		template = `"x":1},"spec":{"template":{"metadata":{"labels":{"app":"web"}}}}`
		ofWeb    = `"x":1},"spec":{"selector":{"app":"web"}}`
		ofOther  = `"x":1},"spec":{"selector":{"app":"other"}}`
		toWeb    = `"x":1},"spec":{"defaultBackend":{"service":{"name":"web"}}}`
	)
	var got []string
	stage := New(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			got = append(got, fmt.Sprint(e.Type, " ", e.Object.Kind, " ", e.Object.Name, " ", e.Initial, " ", e.Old.IsZero()))
		}
		return nil
	}), web, func(context.Context, owner.Ref) ([]owner.Owner, error) { return nil, nil })
	stage.Subject = NewSubject(web)
	target := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Version: "v1", Resource: "services"}, "Service", true), Namespace: "shop"}
	of := func(what event.Type, version, kind, name, rest string) event.Event {
		e := event.Event{Type: what, Target: target, Object: object(version, kind, name, rest)}
		if what == event.Modified {
			e.Old = e.Object
		}
		return e
	}
	initial := of(event.Added, "v1", "Service", "old", ofWeb)
	initial.Initial = true
	for _, batch := range [][]event.Event{
		{of(event.Added, "networking.k8s.io/v1", "Ingress", "web", toWeb), of(event.Added, "v1", "Service", "other", ofWeb), of(event.Added, "v1", "Service", "late", ofOther)},
		{initial, of(event.Added, "v1", "Service", "web", ofOther), of(event.Modified, "v1", "Service", "web", ofWeb), of(event.Added, "v1", "Service", "gone", ofWeb)},
		{of(event.Deleted, "v1", "Service", "gone", ofWeb), of(event.Modified, "v1", "Service", "other", ofOther)},
		{of(event.Added, "apps/v1", "Deployment", "web", template), of(event.Modified, "v1", "Service", "web", ofWeb)},
		{of(event.Modified, "v1", "Service", "late", ofWeb), of(event.Modified, "v1", "Service", "late", ofWeb), of(event.Deleted, "v1", "Service", "old", ofWeb)},
	} {
		if err := stage.Deliver(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"ADDED Deployment web false true", "ADDED Service old true true", "ADDED Service web false true", "ADDED Ingress web false true",
		"MODIFIED Service web false false", "ADDED Service late false true", "MODIFIED Service late false false", "DELETED Service old false true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
