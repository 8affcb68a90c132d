package main

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/mapper"
	"dwatch/watcher/event"
)

// plan is what is to be watched, and what is to be said about it.
type plan struct {
	targets []event.Target
	// asked are the arguments, each always written in the same way.
	asked []string
	notes []string
	// live: what the arguments name may come and go.
	live bool
	// named are the resources that were named one by one; twice is one that was
	// named in two versions.
	named map[schema.GroupResource]*meta.RESTMapping
	twice string
	// unsure are the group versions that could not be asked.
	unsure []schema.GroupVersion
}

func newPlan(live bool) *plan {
	return &plan{live: live, named: map[schema.GroupResource]*meta.RESTMapping{}}
}

// name notes that a resource was named, in this version.
func (p *plan) name(mapping *meta.RESTMapping) {
	r := mapping.Resource.GroupResource()
	if other := p.named[r]; other != nil && other.Resource != mapping.Resource {
		p.twice = r.String()
	}
	p.named[r] = mapping
}

func (p *plan) add(mapping *meta.RESTMapping, namespaces []string, name string) {
	for _, n := range namespaces {
		p.targets = append(p.targets, event.Target{Mapping: mapping, Namespace: n, Name: name})
	}
}

func (p *plan) note(note string) {
	if !slices.Contains(p.notes, note) {
		p.notes = append(p.notes, note)
	}
}

// merge drops what another target watches too. What is in a set is watched in the
// version in which it was named.
func (p *plan) merge() {
	var merged []event.Target
	for i, t := range p.targets {
		if named := p.named[t.Resource().GroupResource()]; named != nil {
			p.targets[i].Mapping = named
		}
	}
	for i, t := range p.targets {
		covered := func(other event.Target) bool {
			return other.Resource() == t.Resource() && other.Namespace == t.Namespace &&
				(other.Name == t.Name || other.Name == "")
		}
		wider := func(other event.Target) bool { return covered(other) && other.Name != t.Name }
		if !slices.ContainsFunc(p.targets[:i], covered) && !slices.ContainsFunc(p.targets[i+1:], wider) {
			merged = append(merged, t)
		}
	}
	p.targets = merged
}

// noteAlternatives says which resource an ambiguous name was taken for.
func (p *plan) noteAlternatives(name string, answer mapper.Answer) {
	if len(answer.Alternatives) == 0 {
		return
	}
	var names []string
	for _, o := range answer.Alternatives {
		names = append(names, o.Resource.GroupResource().String())
	}
	p.note(quoted(name) + " is taken for " + answer.Mappings[0].Resource.GroupResource().String() + "; it could also be " + strings.Join(names, ", "))
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
