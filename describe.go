package main

import (
	"fmt"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// few is how many targets are told of one by one.
const few = 10

// describe names a target: deployments.apps/web in namespace default.
func describe(t event.Target) string {
	what := t.Resource().GroupResource().String()
	if t.Name != "" {
		what += "/" + t.Name
	}
	switch {
	case !t.Namespaced():
		return what
	case t.Namespace == "":
		return what + " in all namespaces"
	default:
		return what + " in namespace " + t.Namespace
	}
}

// describeAll says in one line what is watched where.
func describeAll(targets []event.Target) string {
	var wheres []string
	whats := map[string][]string{}
	for _, t := range targets {
		what, where, _ := strings.Cut(describe(t), " ")
		if !slices.Contains(wheres, where) {
			wheres = append(wheres, where)
		}
		whats[where] = append(whats[where], what)
	}
	var parts []string
	for i := 0; i < len(wheres); i++ {
		where := wheres[i]
		what := summarise(whats[where], where)
		// Namespaces in which the same is watched are named together.
		for j := i + 1; j < len(wheres); j++ {
			if slices.Equal(whats[wheres[j]], whats[wheres[i]]) && where != "" && wheres[j] != "" {
				where = strings.Replace(where, "in namespace ", "in namespaces ", 1) + ", " + strings.TrimPrefix(wheres[j], "in namespace ")
				wheres = slices.Delete(wheres, j, j+1)
				j--
			}
		}
		parts = append(parts, strings.TrimSpace(what+" "+where))
	}
	return strings.Join(parts, "; ")
}

// summarise names what is watched, or counts it.
func summarise(whats []string, where string) string {
	if len(whats) <= few {
		return strings.Join(whats, ", ")
	}
	text := fmt.Sprintf("%d resources", len(whats))
	if where == "" {
		text = fmt.Sprintf("%d cluster-scoped resources", len(whats))
	}
	_, name, named := strings.Cut(whats[0], "/")
	others := func(what string) bool { return !strings.HasSuffix(what, "/"+name) }
	if named && !slices.ContainsFunc(whats, others) {
		text += " named " + quoted(name)
	}
	return text
}
