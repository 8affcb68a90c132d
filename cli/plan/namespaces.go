package plan

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"dwatch/watcher/event"
)

// Namespace is an existing namespace.
type Namespace struct {
	Name   string
	UID    types.UID
	Labels map[string]string
}

// SelectsNamespaces reports whether patterns or labels select the namespaces, so that new ones may match later.
func (r Request) SelectsNamespaces() bool {
	return !r.AllNamespaces && (len(r.NamespacePatterns) > 0 || r.NamespaceSelector != "")
}

// selectedNamespaces contains the namespaces to watch in, and if namespaces are selected by patterns or labels, all existing ones.
type selectedNamespaces struct {
	namespaces []string
	all        map[string]event.Namespace
}

// selectNamespaces determines the namespaces to watch in. If they are selected by patterns or labels but ListNamespaces is nil, it
// returns all namespaces.
func (r Request) selectNamespaces(ctx context.Context) (selectedNamespaces, error) {
	switch {
	case !r.SelectsNamespaces():
		return selectedNamespaces{namespaces: r.WatchedNamespaces()}, nil
	case r.ListNamespaces == nil:
		return selectedNamespaces{namespaces: []string{""}}, nil
	}
	selector, err := labels.Parse(r.NamespaceSelector)
	if err != nil {
		return selectedNamespaces{}, err
	}
	all, err := r.ListNamespaces(ctx)
	if err != nil {
		return selectedNamespaces{}, &NamespacesError{r.NamespaceFlag(), err}
	}
	p := selectedNamespaces{namespaces: slices.Clone(r.Namespaces), all: map[string]event.Namespace{}}
	for _, n := range r.Namespaces {
		p.all[n] = event.Namespace{Selected: true}
	}
	for _, n := range all {
		named := p.all[n.Name].Selected
		chosen := named || r.matches(n, selector)
		p.all[n.Name] = event.Namespace{UID: n.UID, Selected: chosen}
		if chosen && !named {
			p.namespaces = append(p.namespaces, n.Name)
		}
	}
	return p, nil
}

// NamespacesError means that the namespaces could not be listed, which Flag needs.
type NamespacesError struct {
	Flag string
	Err  error
}

func (e *NamespacesError) Error() string { return "ask which namespaces there are: " + e.Err.Error() }
func (e *NamespacesError) Unwrap() error { return e.Err }

// Explain returns a message that says what to do about it.
func (e *NamespacesError) Explain() string {
	return fmt.Sprintf("%s needs permission to list namespaces: %v; dwatch rbac prints a role with it, -n NAMESPACE does not need it", e.Flag, e.Err)
}

func (r Request) matches(n Namespace, selector labels.Selector) bool {
	included, excluded := splitPatterns(r.NamespacePatterns)
	switch {
	case matchesAny(excluded, n.Name):
		return false
	case r.NamespaceSelector != "":
		return selector.Matches(labels.Set(n.Labels))
	case len(r.Namespaces)+len(included) == 0:
		return true // only exclusions are given
	}
	return matchesAny(included, n.Name)
}

// AllNamespacesPattern is the pattern for -A with exclusions.
const AllNamespacesPattern = "*"

// splitPatterns separates patterns that leave namespaces out, without their "!", from the others.
func splitPatterns(patterns []string) (included, excluded []string) {
	for _, p := range patterns {
		if left, is := strings.CutPrefix(p, "!"); is {
			excluded = append(excluded, left)
		} else {
			included = append(included, p)
		}
	}
	return included, excluded
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		matches, _ := path.Match(pattern, name)
		return matches
	})
}

// NamespaceFlag returns the flags that select the namespaces, for messages.
func (r Request) NamespaceFlag() string {
	var words []string
	included, excluded := splitPatterns(r.NamespacePatterns)
	if r.NamespaceSelector != "" {
		words = append(words, "--namespace-selector "+r.NamespaceSelector)
	} else if included = slices.DeleteFunc(included, func(p string) bool { return p == AllNamespacesPattern }); len(included) > 0 {
		words = append(words, "-n "+strings.Join(included, ","))
	}
	if len(excluded) > 0 {
		words = append(words, "--exclude-namespace "+strings.Join(excluded, ","))
	}
	return strings.Join(words, " ")
}

// MatchesNoNamespace reports whether namespaces are selected by patterns or labels, and none matches.
func (p *Plan) MatchesNoNamespace() bool {
	for _, n := range p.Namespaces {
		if n.Selected {
			return false
		}
	}
	return p.Namespaces != nil
}
