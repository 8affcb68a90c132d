package subject

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
)

// object returns an object of this kind and name with more members.
func object(version, kind, name, rest string) event.Object {
	id := &event.Identity{APIVersion: version, Kind: kind, Namespace: "shop", Name: name, UID: types.UID(kind + name)}
	return event.NewObject(id, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"namespace":"shop","name":%q,%s}`, version, kind, name, rest))
}

// TestSubject checks which objects belong to the root, and that they pass in any order.
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
		{object("v1", "ConfigMap", "conf", none), false}, // no reference is known yet
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
		got, err := stage.Includes(t.Context(), c.what)
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
	case <-stage.Subject.RefsAdded():
	default:
		t.Error("no signal of RefsAdded")
	}
}

// TestNamespaces checks that objects of other namespaces do not target the pods, whatever their
// names and selectors are.
func TestNamespaces(t *testing.T) {
	there := func(version, kind, rest string) *unstructured.Unstructured {
		u, err := object(version, kind, "web", rest).Decode()
		if err != nil {
			t.Fatal(err)
		}
		u.SetNamespace("there")
		return u
	}
	root := web
	root.Namespace = "shop"
	s := NewSubject(root)
	for _, o := range []event.Object{
		object("apps/v1", "Deployment", "web", `"x":1},"spec":{"template":{"metadata":{"labels":{"app":"web"}}}}`),
		object("v1", "Pod", "web-1", `"labels":{"app":"web"}}`),
	} {
		u, err := o.Decode()
		if err != nil {
			t.Fatal(err)
		}
		s.Learn(u)
	}
	here, err := object("v1", "Service", "web", `"x":1},"spec":{"selector":{"app":"web"}}`).Decode()
	if err != nil || !s.IsTargetOf(here) {
		t.Errorf("the Service is not included: %v", err)
	}
	for _, u := range []*unstructured.Unstructured{
		there("v1", "Service", `"x":1},"spec":{"selector":{"app":"web"}}`),
		there("networking.k8s.io/v1", "Ingress", `"x":1},"spec":{"defaultBackend":{"service":{"name":"web"}}}`),
		there("policy/v1", "PodDisruptionBudget", `"x":1},"spec":{"selector":{"matchLabels":{"app":"web"}}}`),
		there("autoscaling/v2", "HorizontalPodAutoscaler", `"x":1},"spec":{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}`),
	} {
		if s.IsTargetOf(u) {
			t.Errorf("%s of another namespace is included", u.GetKind())
		}
	}
	scaled, err := object("autoscaling/v2", "HorizontalPodAutoscaler", "web", `"x":1},"spec":{"scaleTargetRef":{"apiVersion":"example.com/v1","kind":"Deployment","name":"web"}}`).Decode()
	if err != nil || s.IsTargetOf(scaled) {
		t.Errorf("an autoscaler of another kind with the root's name is included: %v", err)
	}
}

// TestNodes checks that Events about a Node of the pods are included although they are in another
// namespace, and that other Events of that namespace are not.
func TestNodes(t *testing.T) {
	root := web
	root.Namespace = "shop"
	stage := New(nil, root, func(context.Context, owner.Ref) ([]owner.Owner, error) {
		t.Error("unexpected lookup of an owner")
		return nil, nil
	})
	stage.Subject = NewSubject(root)
	pod, err := object("v1", "Pod", "web-1", `"x":1},"spec":{"nodeName":"n1"}`).Decode()
	if err != nil {
		t.Fatal(err)
	}
	stage.Subject.Learn(pod)
	for involved, want := range map[string]bool{
		`{"kind":"Node","name":"n1","uid":"n1"}`:                                               true,
		`{"apiVersion":"v1","kind":"Node","name":"n2"}`:                                        false,
		`{"apiVersion":"apps/v1","kind":"Deployment","namespace":"default","name":"web"}`:      false,
		`{"apiVersion":"apps/v1","kind":"ReplicaSet","namespace":"default","name":"web-86c5"}`: false,
	} {
		o := eventAbout("e", "", `{"metadata":{"namespace":"default"},"involvedObject":`+involved+`}`)
		o.Namespace = "default"
		if got, err := stage.Includes(t.Context(), o); err != nil || got != want {
			t.Errorf("%s: %v, %v", involved, got, err)
		}
	}
}

// TestNoUID checks that objects without UIDs are distinguished by name.
func TestNoUID(t *testing.T) {
	target := event.Target{Mapping: event.NewMapping(schema.GroupVersionResource{Group: "metrics.k8s.io", Version: "v1beta1", Resource: "pods"}, "PodMetrics", true), Namespace: "shop"}
	var got []string
	stage := New(event.SinkFunc(func(_ context.Context, batch []event.Event) error {
		for _, e := range batch {
			got = append(got, fmt.Sprint(e.Type, " ", e.Object.Name))
		}
		return nil
	}), web, func(context.Context, owner.Ref) ([]owner.Owner, error) { return nil, nil })
	stage.Subject = NewSubject(web)
	of := func(what event.Type, name, rest string) event.Event {
		o := object("metrics.k8s.io/v1beta1", "PodMetrics", name, rest)
		o.UID = ""
		return event.Event{Type: what, Target: target, Object: o}
	}
	const ofWeb = `"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u"}]}`
	batch := []event.Event{
		of(event.Added, "web-1", ofWeb), of(event.Added, "other", `"x":1}`),
		of(event.Deleted, "other", `"x":1}`), of(event.Modified, "web-1", ofWeb), of(event.Deleted, "web-1", ofWeb),
	}
	if err := stage.Deliver(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ADDED web-1", "MODIFIED web-1", "DELETED web-1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLabels checks that the labels of many pods are retained even if one pod changes often.
func TestLabels(t *testing.T) {
	labelled := func(name string) string { return `"labels":{"pod":"` + name + `"}}` }
	s := NewSubject(web)
	learn := func(name string) {
		u, err := object("v1", "Pod", name, labelled(name)).Decode()
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
		u, err := object("v1", "Service", name, `"x":1},"spec":{"selector":{"pod":"`+name+`"}}`).Decode()
		if err != nil || !s.IsTargetOf(u) {
			t.Errorf("the Service of %s is not included: %v", name, err)
		}
	}
}

// TestCandidates checks that a Service and an Ingress to it pass in their last states, as Added,
// when the pods become known, and that an object passes that comes to belong to the root by a
// change.
func TestCandidates(t *testing.T) {
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
