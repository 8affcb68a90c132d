package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/mapper"
	"dwatch/watcher/event"
)

// planner turns a request into plans: one at the start, and another whenever the
// server may serve something else.
type planner struct {
	*request
	*cluster
	mapper *mapper.Mapper

	mu sync.Mutex
	// taken is what the name of a single resource was taken for when it was first
	// found: it stays that, whatever comes under the same name later.
	taken map[string]string
}

func newPlanner(r *request, c *cluster, m *mapper.Mapper) *planner {
	return &planner{request: r, cluster: c, mapper: m, taken: map[string]string{}}
}

// Resolve implements watcher.Resolver. What the server does not have now is left
// out.
func (p *planner) Resolve(ctx context.Context) (event.Found, error) {
	ctx, cancel := p.ask(ctx)
	defer cancel()
	p.mapper.Reset()
	plan, err := p.plan(ctx, isAbsent)
	if err != nil {
		return event.Found{}, err
	}
	return event.Found{Targets: plan.targets, Unsure: plan.unsure}, nil
}

// first is the plan for the start. A resource that the server does not have is an
// error, or with --wait a note.
func (p *planner) first(ctx context.Context) (*plan, error) {
	ctx, cancel := p.ask(ctx)
	defer cancel()
	plan, err := p.plan(ctx, func(err error) bool { return p.wait && isUnknown(err) })
	switch {
	case err != nil:
		return nil, serverError{p.host, err}
	case plan.twice != "":
		return nil, usageError{fmt.Errorf("%s is asked for in two versions, which show the same objects: ask for one", plan.twice)}
	case len(plan.targets) == 0 && !p.wait:
		return nil, usageError{errNothingLeft}
	}
	return plan, nil
}

var errNothingLeft = errors.New("nothing is left to watch: --exclude names all of it, or without -A there is nothing in a namespace")

func isUnknown(err error) bool {
	var unknown *mapper.UnknownError
	return errors.As(err, &unknown)
}

// suggestion is what err says that may have been meant.
func suggestion(err error) string {
	var unknown *mapper.UnknownError
	if !errors.As(err, &unknown) || len(unknown.Suggestions) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(unknown.Suggestions, " or ") + "?)"
}

// isAbsent: the server does not have what a name means, or not to be watched.
func isAbsent(err error) bool {
	var unwatchable *mapper.UnwatchableError
	return isUnknown(err) || errors.As(err, &unwatchable)
}

// plan resolves the arguments: each resource in each namespace, by name where one
// was given, and nothing twice. An argument with an error that is passable is left
// out.
func (p *planner) plan(ctx context.Context, passable func(error) bool) (*plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	result := newPlan(p.wait)
	excluded, err := p.excluded(ctx, result)
	if err != nil {
		return nil, err
	}
	for _, a := range p.arguments {
		answer, err := p.resolve(ctx, a.Resource)
		result.unsure = append(result.unsure, answer.Unsure...)
		switch {
		case err != nil && passable(err):
			result.note("the server doesn't have a resource type " + quoted(a.Resource) + " yet; waiting for it" + suggestion(err))
		case err != nil:
			return nil, err
		case answer.Set:
			result.live = true
		default:
			result.name(answer.Mappings[0])
		}
		result.asked = append(result.asked, p.asked(a, answer))
		result.noteAlternatives(a.Resource, answer)
		for _, mapping := range answer.Mappings {
			if !excluded[mapping.Resource.GroupResource()] {
				result.add(mapping, p.where(a.Resource, mapping), a.Name)
			}
		}
	}
	result.merge()
	if len(p.namespaces) > 0 && !p.allNamespaces {
		result.noteClusterScoped()
	}
	return result, nil
}

// resolve returns what name names, and remembers what a single resource's was
// taken for.
func (p *planner) resolve(ctx context.Context, name string) (mapper.Answer, error) {
	answer, err := p.mapper.Resolve(ctx, cmp.Or(p.taken[name], name))
	if err == nil && !answer.Set {
		p.taken[name] = qualified(name, answer.Mappings[0].Resource)
	}
	return answer, err
}

// qualified is a name for r that nothing else answers to. If name says which
// version is meant, it does so, too.
func qualified(name string, r schema.GroupVersionResource) string {
	asked, _ := schema.ParseResourceArg(name)
	if r.Group == "" || asked != nil && asked.GroupVersion() == r.GroupVersion() {
		return r.Resource + "." + r.Version + "." + r.Group
	}
	return r.GroupResource().String()
}

// excluded returns what --exclude names.
func (p *planner) excluded(ctx context.Context, result *plan) (map[schema.GroupResource]bool, error) {
	excluded := map[schema.GroupResource]bool{}
	for _, name := range p.exclude {
		answer, err := p.mapper.Resolve(ctx, name)
		switch {
		case err != nil && isUnknown(err):
			result.note("--exclude " + name + ": the server doesn't have such a resource yet")
		case err != nil && !isAbsent(err):
			return nil, err
		}
		for _, m := range answer.Mappings {
			excluded[m.Resource.GroupResource()] = true
		}
	}
	return excluded, nil
}

// where returns the namespaces to watch a resource in: one that is empty for all
// of them, and none if it is not to be watched.
func (p *planner) where(name string, mapping *meta.RESTMapping) []string {
	switch {
	case mapping.Scope.Name() == meta.RESTScopeNameRoot:
		if name == mapper.Everything && !p.allNamespaces {
			return nil // everything in the namespace is meant
		}
		return []string{""}
	default:
		return p.everywhere(p.namespace)
	}
}

// everywhere returns the namespaces that are asked for: one that is empty for all
// of them. ours is the context's.
func (r *request) everywhere(ours string) []string {
	switch {
	case r.allNamespaces:
		return []string{""}
	case len(r.namespaces) == 0:
		return []string{ours}
	default:
		return r.namespaces
	}
}

// asked writes a the same for all names of one resource. What a category stands
// for may change, and with --wait what a name stands for may not be known.
func (p *planner) asked(a mapper.Argument, answer mapper.Answer) string {
	what := strings.ToLower(a.Resource)
	if len(answer.Mappings) == 1 && !p.wait && !answer.Set {
		what = answer.Mappings[0].Resource.GroupResource().String()
	}
	if a.Name != "" {
		what += "/" + a.Name
	}
	return what
}
