package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/fail"
	"dwatch/cli/lookup"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/subject"
)

// forObject is the object of --for at one cluster.
type forObject struct {
	object     string       // as it was typed
	target     event.Target // its resource
	hasRelated bool         // more than Events is watched for it
	stage      func(next event.Sink) *subject.Stage
}

// findSubject resolves the object of --for. It returns nil if object is nil.
func (s *Session) findSubject(ctx context.Context, object *mapper.Argument) (*forObject, error) {
	if object == nil {
		return nil, nil
	}
	mapping, err := s.mappingOf(ctx, object)
	if err != nil {
		return nil, err
	}
	root := owner.Ref{GroupVersionKind: mapping.GroupVersionKind, Name: object.Name}
	target := event.Target{Mapping: mapping}
	if s.related == nil && !target.Namespaced() && !s.Request.AllNamespaces && !slices.Contains(s.Request.WatchedNamespaces(), metav1.NamespaceDefault) {
		s.Console.Say(fmt.Sprintf("%s is cluster-scoped: its Events are in namespace default, for -n default or -A", object))
	}
	lookup := s.Lookup.NewOwnerLookup(func(resource string, err error) {
		s.Console.Warn(fmt.Sprintf("Events about %s, which may belong to %s, are left out: %s", resource, object, fail.ExplainDisconnect(err)))
	})
	return &forObject{object.String(), target, s.related != nil, func(next event.Sink) *subject.Stage {
		stage := subject.New(next, root, lookup.Lookup)
		stage.Subject = s.related
		return stage
	}}, nil
}

// mappingOf resolves the resource of an object.
func (s *Session) mappingOf(ctx context.Context, object *mapper.Argument) (*meta.RESTMapping, error) {
	ctx, cancel := s.Cluster.WithTimeout(ctx)
	defer cancel()
	answer, err := s.Mapper.Resolve(ctx, object.Resource)
	if err != nil {
		return nil, fail.FromServer(s.Cluster.Host, err)
	}
	if answer.Multiple {
		return nil, fail.Usage(fmt.Errorf("invalid --for %q: %s is several resources", object, object.Resource))
	}
	return answer.Mappings[0], nil
}

// note describes the subject for the message at the start of a run.
func (s *forObject) note() string {
	switch {
	case s == nil:
		return ""
	case s.hasRelated:
		return ", of " + s.object + " and related objects"
	}
	return ", about " + s.object + " and objects that it owns"
}

// check reports in the background that the object does not exist and which one may have been meant.
func (s *forObject) check(ctx context.Context, session *Session, of Selection, r *report.Reporter) {
	if s == nil || of.Object == nil || of.WithRelated {
		return
	}
	t := s.target
	t.Name = of.Object.Name
	namespaces := []string{""}
	if t.Namespaced() && !session.Request.AllNamespaces {
		namespaces = session.Request.WatchedNamespaces()
	}
	var targets []event.Target
	for _, t.Namespace = range namespaces {
		targets = append(targets, t)
	}
	r.ReportMissingObject(ctx, s.object, targets)
}

// filter returns a Sink that passes on to next what belongs to the subject.
func (s *forObject) filter(next event.Sink) event.Sink {
	if s == nil {
		return next
	}
	return s.stage(next)
}

func (s *forObject) among(ctx context.Context, objects []event.Object) ([]event.Object, error) {
	if s == nil {
		return objects, nil
	}
	stage := s.stage(nil)
	var failed error
	chosen := slices.DeleteFunc(objects, func(o event.Object) bool {
		has, err := stage.Includes(ctx, o)
		failed = cmp.Or(failed, err)
		return !has
	})
	return chosen, failed
}

// frontResources are searched for objects that route to the pods of a subject, scale it, or limit its disruption.
var frontResources = []string{"services", "ingresses.networking.k8s.io", "horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy"}

// ownedResources returns the resources of the objects that an object of a kind may own. For a custom resource they are a guess.
func ownedResources(kind schema.GroupKind) []string {
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

// findRelated finds what belongs to the object of --for, unless only Events are asked for, and extends the request r by it.
func (s *Session) findRelated(ctx context.Context, of Selection, r *plan.Request) error {
	if of.Object == nil || !of.WithRelated && s.namesOnlyEvents(ctx, r.Arguments) {
		return nil
	}
	mapping, err := s.mappingOf(ctx, of.Object)
	if err != nil {
		return err
	}
	target := event.Target{Mapping: mapping, Name: of.Object.Name}
	if target.Namespaced() {
		target.Namespace = r.WatchedNamespaces()[0]
	}
	s.related = subject.NewSubject(owner.Ref{GroupVersionKind: mapping.GroupVersionKind, Namespace: target.Namespace, Name: target.Name})
	asking, cancel := context.WithTimeout(ctx, lookup.Timeout)
	defer cancel()
	known, fronts := s.Lookup.NewCauseFinder(nil).RelatedObjects(asking, target)
	for _, u := range known {
		s.related.Learn(u)
	}
	for _, u := range fronts {
		s.related.IsTargetOf(u)
	}
	if of.WithRelated {
		home := r.WatchedNamespaces()[0]
		r.ExtraResources = func() []plan.ExtraResource { return relatedRequests(target, home, s.related) }
	}
	return nil
}

// namesOnlyEvents reports whether all arguments are Events.
func (s *Session) namesOnlyEvents(ctx context.Context, arguments []mapper.Argument) bool {
	ctx, cancel := s.Cluster.WithTimeout(ctx)
	defer cancel()
	return !slices.ContainsFunc(arguments, func(a mapper.Argument) bool {
		answer, err := s.Mapper.Resolve(ctx, a.Resource)
		return err == nil && (answer.Multiple || !event.IsEvent(answer.Mappings[0].GroupVersionKind.GroupKind()))
	})
}

// relatedRequests lists the resources to watch for a subject in the namespace home. Events about objects
// without a namespace, such as Nodes, are in the namespace default.
func relatedRequests(of event.Target, home string, s *subject.Subject) (also []plan.ExtraResource) {
	add := func(resource, name, namespace string) {
		also = append(also, plan.ExtraResource{Argument: mapper.Argument{Resource: resource, Name: name}, Namespace: namespace})
	}
	for _, resource := range slices.Concat(ownedResources(of.Mapping.GroupVersionKind.GroupKind()), frontResources, []string{"events"}) {
		add(resource, "", "")
	}
	inDefault := !of.Namespaced()
	for _, r := range s.Refs() {
		add(r.Kind+"."+r.Version+"."+r.Group, r.Name, "")
		inDefault = inDefault || subject.IsNode(r)
	}
	if inDefault && home != metav1.NamespaceDefault {
		add("events", "", metav1.NamespaceDefault)
	}
	return also
}

// relatedAdded has a signal when more objects belong to the subject. It is nil if nothing is followed.
func (s *Session) relatedAdded() <-chan struct{} {
	if s.related == nil {
		return nil
	}
	return s.related.RefsAdded()
}
