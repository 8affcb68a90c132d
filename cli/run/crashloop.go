package run

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/cli/lookup"
	"dwatch/watcher/event"
)

// crashLoops finds workloads that are ready only between two crashes of their pods. The workload itself does not show
// that. Its methods require conditionStage.mu to be held, or the stage to be stopped.
type crashLoops struct {
	run     *Run
	ctx     context.Context
	finders map[string]*lookup.CauseFinder // by cluster
	found   map[types.UID]string           // why a workload does not count as ready, by its UID
}

func newCrashLoops(ctx context.Context, r *Run) *crashLoops {
	return &crashLoops{run: r, ctx: ctx, finders: map[string]*lookup.CauseFinder{}, found: map[types.UID]string{}}
}

// workloads are the kinds in group apps whose pods are checked.
var workloads = map[string]bool{"Deployment": true, "StatefulSet": true, "DaemonSet": true, "ReplicaSet": true}

// confirm reports whether a workload that is ready has no pod in a crash loop. It only checks named workloads, with one
// list of pods each. If this user may not list pods, it confirms.
func (c *crashLoops) confirm(e *event.Event) bool {
	o := e.Object
	if e.Target.Name == "" || o.GroupVersionKind().Group != "apps" || !workloads[o.Kind] {
		return true
	}
	finder := c.finders[e.Target.Cluster]
	if finder == nil {
		finder = c.run.scope.Lookup(e.Target.Cluster).NewCauseFinder(c.run.cfg.Print.Compare.Masks)
		c.finders[e.Target.Cluster] = finder
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), lookup.Timeout) // the run may be ending
	defer cancel()
	pod, why, err := finder.FindCrashLoop(ctx, o)
	if err != nil && !apierrors.IsForbidden(err) {
		return c.found[o.UID] == "" // as before
	}
	if pod == "" {
		delete(c.found, o.UID)
		return true
	}
	c.found[o.UID] = pod + " " + why
	return false
}

// reason returns why a workload does not count as ready. It is empty if no pod crashes. A nil receiver knows none.
func (c *crashLoops) reason(o event.Object) string {
	if c == nil {
		return ""
	}
	return c.found[o.UID]
}
