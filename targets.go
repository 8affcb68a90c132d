package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/mapper"
	"dwatch/watcher"
)

// plan is what is to be watched, and what is to be said about it.
type plan struct {
	targets []watcher.Target
	// asked are the arguments, each always written in the same way.
	asked []string
	notes []string
	// live: what the arguments name may come and go.
	live bool
}

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
func (p *planner) Resolve(ctx context.Context) (watcher.Found, error) {
	ctx, cancel := p.ask(ctx)
	defer cancel()
	p.mapper.Reset()
	plan, err := p.plan(ctx, true)
	if err != nil {
		return watcher.Found{}, err
	}
	return watcher.Found{Targets: plan.targets, Unsure: p.mapper.Failed()}, nil
}

// first is the plan for the start. A resource that the server does not have is an
// error, or with --wait a note.
func (p *planner) first(ctx context.Context) (*plan, error) {
	ctx, cancel := p.ask(ctx)
	defer cancel()
	plan, err := p.plan(ctx, p.wait)
	if err != nil {
		return nil, serverError{p.host, err}
	}
	if len(plan.targets) == 0 && !p.wait {
		return nil, usageError{errNothingLeft}
	}
	return plan, nil
}

var errNothingLeft = errors.New("nothing is left to watch: --exclude names all of it, or without -A there is nothing in a namespace")

// plan resolves the arguments: each resource in each namespace, by name where one
// was given, and nothing twice. patient leaves out what the server does not have.
func (p *planner) plan(ctx context.Context, patient bool) (*plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	result := &plan{live: p.wait}
	p.prepare()
	excluded, err := p.excluded(ctx, result)
	if err != nil {
		return nil, err
	}
	for _, a := range p.arguments {
		mappings, err := p.resolve(ctx, a.Resource)
		var unknown *mapper.UnknownError
		switch {
		case patient && errors.As(err, &unknown):
			result.asked = append(result.asked, p.asked(ctx, a, nil))
			result.note("the server doesn't have a resource type " + quoted(a.Resource) + " yet; waiting for it")
			continue
		case err != nil:
			return nil, err
		}
		result.asked = append(result.asked, p.asked(ctx, a, mappings))
		result.live = result.live || p.mapper.IsSet(ctx, a.Resource)
		result.noteAlternatives(a.Resource, mappings, p.mapper.Alternatives(ctx, a.Resource))
		for _, mapping := range mappings {
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

// prepare tells the mapper what it will be asked for.
func (p *planner) prepare() {
	names := slices.Clone(p.exclude)
	for _, a := range p.arguments {
		names = append(names, a.Resource)
	}
	p.mapper.Prepare(names)
}

// resolve returns what name names, and remembers what a single resource's was
// taken for.
func (p *planner) resolve(ctx context.Context, name string) ([]*meta.RESTMapping, error) {
	mappings, err := p.mapper.Resolve(ctx, cmp.Or(p.taken[name], name))
	if err == nil && !p.mapper.IsSet(ctx, name) {
		p.taken[name] = qualified(mappings[0].Resource)
	}
	return mappings, err
}

// qualified is the name that nothing else answers to.
func qualified(r schema.GroupVersionResource) string {
	if r.Group == "" {
		return r.Resource + "." + r.Version + "."
	}
	return r.GroupResource().String()
}

// excluded returns what --exclude names.
func (p *planner) excluded(ctx context.Context, result *plan) (map[schema.GroupResource]bool, error) {
	excluded := map[schema.GroupResource]bool{}
	for _, name := range p.exclude {
		mappings, err := p.mapper.Resolve(ctx, name)
		var unknown *mapper.UnknownError
		var unwatchable *mapper.UnwatchableError
		switch {
		case errors.As(err, &unknown):
			result.note("--exclude " + name + ": the server doesn't have such a resource yet")
		case err != nil && !errors.As(err, &unwatchable):
			return nil, err
		}
		for _, m := range mappings {
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
func (p *planner) asked(ctx context.Context, a mapper.Argument, mappings []*meta.RESTMapping) string {
	what := strings.ToLower(a.Resource)
	if len(mappings) == 1 && !p.wait && !p.mapper.IsSet(ctx, a.Resource) {
		what = mappings[0].Resource.GroupResource().String()
	}
	if a.Name != "" {
		what += "/" + a.Name
	}
	return what
}

func (p *plan) add(mapping *meta.RESTMapping, namespaces []string, name string) {
	for _, n := range namespaces {
		p.targets = append(p.targets, watcher.Target{Mapping: mapping, Namespace: n, Name: name})
	}
}

func (p *plan) note(note string) {
	if !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
}

// merge drops what another target watches too.
func (p *plan) merge() {
	var merged []watcher.Target
	for i, t := range p.targets {
		covered := func(other watcher.Target) bool {
			return other.Resource() == t.Resource() && other.Namespace == t.Namespace &&
				(other.Name == t.Name || other.Name == "")
		}
		wider := func(other watcher.Target) bool { return covered(other) && other.Name != t.Name }
		if !slices.ContainsFunc(p.targets[:i], covered) && !slices.ContainsFunc(p.targets[i+1:], wider) {
			merged = append(merged, t)
		}
	}
	p.targets = merged
}

// noteAlternatives says which resource an ambiguous name was taken for.
func (p *plan) noteAlternatives(name string, taken, others []*meta.RESTMapping) {
	if len(others) == 0 || len(taken) != 1 {
		return
	}
	var names []string
	for _, o := range others {
		names = append(names, o.Resource.GroupResource().String())
	}
	p.note(quoted(name) + " is taken for " + taken[0].Resource.GroupResource().String() + "; it could also be " + strings.Join(names, ", "))
}

func (p *plan) noteClusterScoped() {
	var names []string
	for _, t := range p.targets {
		if name := t.Resource().GroupResource().String(); !t.Namespaced() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	switch len(names) {
	case 0:
	case 1:
		p.notes = append(p.notes, names[0]+" is cluster-scoped: -n does not apply to it")
	default:
		p.notes = append(p.notes, strings.Join(names, ", ")+" are cluster-scoped: -n does not apply to them")
	}
}
