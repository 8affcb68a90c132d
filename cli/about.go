package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"dwatch/cli/fail"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/watcher/event"
	"dwatch/watcher/object/owner"
	"dwatch/watcher/subject"
)

// about is the object that Events are to be about, with what it owns: --for.
type about struct {
	object string       // as it was typed
	target event.Target // its resource
	whole  bool         // more than Events is about it
	// stage returns what lets pass the Events about it.
	stage func(next event.Sink) *subject.Stage
}

// findAbout finds out what the Events that are planned are to be about; nil if nothing says so.
func (s *session) findAbout(ctx context.Context, object *mapper.Argument) (*about, error) {
	if object == nil {
		return nil, nil
	}
	mapping, err := s.mappingOf(ctx, object)
	if err != nil {
		return nil, err
	}
	root := owner.Ref{GroupVersionKind: mapping.GroupVersionKind, Name: object.Name}
	target := event.Target{Mapping: mapping}
	if s.whole == nil && !target.Namespaced() && !s.scope.AllNamespaces && !slices.Contains(s.scope.WatchedNamespaces(), "default") {
		s.say(fmt.Sprintf("%s is cluster-scoped: its Events are in namespace default, for -n default or -A", object))
	}
	lookup := s.questions.NewOwnerLookup(func(resource string, err error) {
		s.warn(fmt.Sprintf("Events about %s, which may belong to %s, are left out: %s", resource, object, fail.ExplainDisconnect(err)))
	})
	return &about{object.String(), target, s.whole != nil, func(next event.Sink) *subject.Stage {
		stage := subject.New(next, root, lookup.Lookup)
		stage.Subject = s.whole
		return stage
	}}, nil
}

// mappingOf is of what resource an object is.
func (s *session) mappingOf(ctx context.Context, object *mapper.Argument) (*meta.RESTMapping, error) {
	ctx, cancel := s.WithTimeout(ctx)
	defer cancel()
	answer, err := s.mapper.Resolve(ctx, object.Resource)
	if err != nil {
		return nil, fail.FromServer(s.Host, err)
	}
	if answer.Multiple {
		return nil, fail.Usage(fmt.Errorf("invalid --for %q: %s is several resources", object, object.Resource))
	}
	return answer.Mappings[0], nil
}

func (a *about) note() string {
	switch {
	case a == nil:
		return ""
	case a.whole:
		return ", of " + a.object + " and all that belongs to it"
	}
	return ", about " + a.object + " and what it owns"
}

// check reports, beside the events, that the object is not there, if another one may have been meant.
func (a *about) check(ctx context.Context, s *session, of selection, r *report.Reporter) {
	if a == nil || of.object == nil || of.ofObject {
		return
	}
	t := a.target
	t.Name = of.object.Name
	namespaces := []string{""}
	if t.Namespaced() && !s.scope.AllNamespaces {
		namespaces = s.scope.WatchedNamespaces()
	}
	var targets []event.Target
	for _, t.Namespace = range namespaces {
		targets = append(targets, t)
	}
	r.ReportMissingObject(ctx, a.object, targets)
}

// before returns a Sink before next that lets pass what is asked for.
func (a *about) before(next event.Sink) event.Sink {
	if a == nil {
		return next
	}
	return a.stage(next)
}

func (a *about) among(ctx context.Context, objects []event.Object) ([]event.Object, error) {
	if a == nil {
		return objects, nil
	}
	stage := a.stage(nil)
	var failed error
	chosen := slices.DeleteFunc(objects, func(o event.Object) bool {
		has, err := stage.Includes(ctx, o)
		failed = cmp.Or(failed, err)
		return !has
	})
	return chosen, failed
}
