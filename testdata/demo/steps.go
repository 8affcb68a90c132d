package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// step is a change and the events that dwatch must report before the next step.
type step struct {
	title  string
	change change      // nil means that the step only waits
	seen   []condition // each must hold for some event
}

// condition reports whether an event is one that the demo waits for.
type condition func(event) bool

var steps = []step{{
	title: "the existing objects are counted",
	seen:  []condition{rolledOut("nginx:1.27", 2), initial("nightly")},
}, {
	title:  "a new image is rolled out: nginx:1.28",
	change: patch(deployments, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:1.28"}]}}}}`),
	seen:   []condition{rolledOut("nginx:1.28", 2)},
}, {
	title:  "the deployment is scaled from 2 to 3",
	change: patch(deployments, "web", `{"spec":{"replicas":3}}`, "scale"),
	seen:   []condition{rolledOut("nginx:1.28", 3)},
}, {
	title:  "a custom resource is changed",
	change: patch(cronTabs, "nightly", `{"spec":{"schedule":"0 4 * * *","image":"backup:2"}}`),
	seen:   []condition{modified("nightly", "backup:2", "spec", "image")},
}, {
	title:  "and deleted",
	change: remove(cronTabs, "nightly"),
	seen:   []condition{deleted("nightly")},
}}

// liveSteps are the steps that the live table shows.
var liveSteps = []step{{
	change: patch(deployments, "web", `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:1.29"}]}}}}`),
	seen:   []condition{rolledOut("nginx:1.29", 3)},
}, {
	change: patch(deployments, "web", `{"spec":{"replicas":1}}`, "scale"),
	seen:   []condition{rolledOut("nginx:1.29", 1)},
}}

// play carries out the steps in order, and leaves each on the screen for a moment.
func (c *cluster) play(ctx context.Context, w *watch, steps []step, s *screen) error {
	for _, step := range steps {
		if step.title != "" {
			s.say(step.title)
		}
		if err := c.take(ctx, step, w); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(s.pace()):
		}
	}
	return nil
}

func (c *cluster) take(ctx context.Context, s step, w *watch) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if s.change != nil {
		if err := s.change(ctx, c); err != nil {
			return err
		}
	}
	return w.await(ctx, s.seen)
}

// rolledOut holds when all replicas of a deployment are available with the image.
func rolledOut(image string, replicas int32) condition {
	return func(e event) bool {
		var d appsv1.Deployment
		if e.Object.GetKind() != "Deployment" ||
			runtime.DefaultUnstructuredConverter.FromUnstructured(e.Object.Object, &d) != nil {
			return false
		}
		return d.Spec.Template.Spec.Containers[0].Image == image &&
			d.Status.ObservedGeneration == d.Generation && d.Status.Replicas == replicas &&
			d.Status.UpdatedReplicas == replicas && d.Status.AvailableReplicas == replicas
	}
}

func initial(name string) condition {
	return func(e event) bool { return e.Initial && e.Object.GetName() == name }
}

// modified holds for a MODIFIED event of the named object in which the field at path has the value.
func modified(name, value string, path ...string) condition {
	return func(e event) bool {
		got, _, _ := unstructured.NestedString(e.Object.Object, path...)
		return e.Type == "MODIFIED" && e.Object.GetName() == name && got == value
	}
}

func deleted(name string) condition {
	return func(e event) bool { return e.Type == "DELETED" && e.Object.GetName() == name }
}
