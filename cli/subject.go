package cli

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/lookup"
	"dwatch/cli/plan"
	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/subject"
)

// fronting are the resources of which it is looked what stands in front of the pods of a subject, or
// looks after them.
var fronting = []string{"services", "ingresses.networking.k8s.io", "horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy"}

// ownedBy returns the resources of what an object of a kind may own. What a custom resource owns is not
// known beforehand: these are the most likely.
func ownedBy(kind schema.GroupKind) []string {
	switch kind.String() {
	case "Deployment.apps":
		return []string{"replicasets.apps", "pods"}
	case "CronJob.batch":
		return []string{"jobs.batch", "pods"}
	case "Service":
		return []string{"endpointslices.discovery.k8s.io"}
	}
	switch {
	case !owner.MayOwnPods(kind):
		return nil
	case kind.Group == "apps" || kind.Group == "batch" || kind.Group == "":
		return []string{"pods"}
	}
	return []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps", "jobs.batch", "cronjobs.batch", "pods"}
}

// findSubject finds out what belongs to the object of --for, if that is not only about Events, and has the
// plan follow it.
func (s *session) findSubject(ctx context.Context, of selection, r *plan.Request) error {
	if of.object == nil || !of.ofObject && s.areEvents(ctx, r.Arguments) {
		return nil
	}
	mapping, err := s.mappingOf(ctx, of.object)
	if err != nil {
		return err
	}
	target := event.Target{Mapping: mapping, Name: of.object.Name}
	if target.Namespaced() {
		target.Namespace = r.WatchedNamespaces()[0]
	}
	s.whole = subject.NewSubject(owner.Ref{GroupVersionKind: mapping.GroupVersionKind, Namespace: target.Namespace, Name: target.Name})
	asking, cancel := context.WithTimeout(ctx, lookup.Timeout)
	defer cancel()
	known, beside := s.questions.NewCauseFinder(nil).RelatedObjects(asking, target)
	for _, u := range known {
		s.whole.Learn(u)
	}
	for _, u := range beside {
		s.whole.IsTargetOf(u)
	}
	if of.ofObject {
		home := r.WatchedNamespaces()[0]
		r.ExtraResources = func() []plan.ExtraResource { return alsoOf(target, home, s.whole) }
	}
	return nil
}

// areEvents reports whether nothing but Events was asked for.
func (s *session) areEvents(ctx context.Context, arguments []mapper.Argument) bool {
	ctx, cancel := s.WithTimeout(ctx)
	defer cancel()
	return !slices.ContainsFunc(arguments, func(a mapper.Argument) bool {
		answer, err := s.mapper.Resolve(ctx, a.Resource)
		return err == nil && (answer.Multiple || !event.IsEvent(answer.Mappings[0].GroupVersionKind.GroupKind()))
	})
}

// alsoOf is what is watched for the subject of a target, as far as that is known, in the namespace home. Events
// about what is in no namespace, such as Nodes, are in one of their own.
func alsoOf(of event.Target, home string, s *subject.Subject) (also []plan.ExtraResource) {
	add := func(resource, name, namespace string) {
		also = append(also, plan.ExtraResource{Argument: mapper.Argument{Resource: resource, Name: name}, Namespace: namespace})
	}
	for _, resource := range slices.Concat(ownedBy(of.Mapping.GroupVersionKind.GroupKind()), fronting, []string{"events"}) {
		add(resource, "", "")
	}
	isBeside := !of.Namespaced()
	for _, r := range s.Refs() {
		add(r.Kind+"."+r.Version+"."+r.Group, r.Name, "")
		isBeside = isBeside || subject.IsNode(r)
	}
	if isBeside && home != metav1.NamespaceDefault {
		add("events", "", metav1.NamespaceDefault)
	}
	return also
}

// look has a signal when more belongs to the subject.
func (s *session) look() <-chan struct{} {
	if s.whole == nil {
		return nil
	}
	return s.whole.RefsAdded()
}
