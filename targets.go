package main

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"dwatch/mapper"
	"dwatch/watcher"
)

// plan is what is to be watched, and what is to be said about it.
type plan struct {
	targets []watcher.Target
	notes   []string
}

// resolve turns the arguments into targets: each resource in each namespace,
// by name where one was given, and nothing twice.
func resolve(ctx context.Context, m *mapper.Mapper, r *request, contextNamespace string) (*plan, error) {
	namespaces := r.namespaces
	switch {
	case r.allNamespaces:
		namespaces = []string{""}
	case len(namespaces) == 0:
		namespaces = []string{contextNamespace}
	}
	names := make([]string, len(r.arguments))
	for i, a := range r.arguments {
		names[i] = a.Resource
	}
	m.Prepare(names)
	p := &plan{}
	for _, a := range r.arguments {
		mappings, err := m.Resolve(ctx, a.Resource)
		if err != nil {
			return nil, err
		}
		p.noteAlternatives(a.Resource, mappings, m.Alternatives(ctx, a.Resource))
		for _, mapping := range mappings {
			p.add(mapping, namespaces, a.Name)
		}
	}
	p.merge()
	if len(r.namespaces) > 0 && !r.allNamespaces {
		p.noteClusterScoped()
	}
	return p, nil
}

func (p *plan) add(mapping *meta.RESTMapping, namespaces []string, name string) {
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		namespaces = []string{""}
	}
	for _, n := range namespaces {
		p.targets = append(p.targets, watcher.Target{Mapping: mapping, Namespace: n, Name: name})
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
	note := quoted(name) + " is taken for " + taken[0].Resource.GroupResource().String() + "; it could also be " + strings.Join(names, ", ")
	if !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
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
