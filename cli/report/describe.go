package report

import (
	"fmt"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// describe names a target: deployments.apps/web in namespace default.
func describe(t event.Target) string {
	return strings.TrimSpace(nameOf(t.Key()) + " " + placeOf(t).String())
}

// nameOf names the resource or object of a key, without its namespace.
func nameOf(k event.Key) string {
	if k.Name == "" {
		return k.Resource.String()
	}
	return k.Resource.String() + "/" + k.Name
}

// place lists the namespaces of targets. A single empty namespace means all namespaces. Empty means that the targets are
// cluster-scoped.
type place []string

func placeOf(t event.Target) place {
	if !t.Namespaced() {
		return nil
	}
	return place{t.Namespace}
}

func (p place) String() string {
	switch {
	case len(p) == 0:
		return ""
	case p[0] == "":
		return "in all namespaces"
	case len(p) == 1:
		return "in namespace " + p[0]
	case len(p) > maxListed:
		return fmt.Sprintf("in namespaces %s and %d others", strings.Join(p[:maxListed], ", "), len(p)-maxListed)
	default:
		return "in namespaces " + strings.Join(p, ", ")
	}
}

func (p place) isNamed() bool { return len(p) > 0 && p[0] != "" }

// group is a place and the keys that are watched there, without their namespace.
type group struct {
	place
	what []event.Key
}

// DescribeTargets describes targets in one line, grouped by namespace. Namespaces and targets keep their order.
func DescribeTargets(targets []event.Target) string {
	var places []group
	for _, t := range targets {
		where, what := placeOf(t), t.Key()
		what.Namespace = ""
		i := slices.IndexFunc(places, func(g group) bool { return slices.Equal(g.place, where) })
		if i < 0 {
			i = len(places)
			places = append(places, group{place: where})
		}
		places[i].what = append(places[i].what, what)
	}
	var parts []string
	for _, g := range mergeNamespaces(places) {
		parts = append(parts, strings.TrimSpace(g.summary()+" "+g.String()))
	}
	if left := len(parts) - maxListed; left > 0 {
		parts = append(parts[:maxListed], fmt.Sprintf("and %d more", left))
	}
	return strings.Join(parts, "; ")
}

// mergeNamespaces merges the groups of namespaces with the same keys.
func mergeNamespaces(groups []group) []group {
	var merged []group
	for _, g := range groups {
		i := slices.IndexFunc(merged, func(m group) bool { return m.isNamed() && g.isNamed() && slices.Equal(m.what, g.what) })
		if i < 0 {
			merged = append(merged, g)
		} else {
			merged[i].place = append(merged[i].place, g.place...)
		}
	}
	return merged
}

// summary names the keys, or counts them if there are too many.
func (g group) summary() string {
	if len(g.what) <= maxListed {
		var names []string
		for _, k := range g.what {
			names = append(names, nameOf(k))
		}
		return strings.Join(names, ", ")
	}
	text := fmt.Sprintf("%d resources", len(g.what))
	if g.place == nil {
		text = fmt.Sprintf("%d cluster-scoped resources", len(g.what))
	}
	name := g.what[0].Name
	if name != "" && !slices.ContainsFunc(g.what, func(k event.Key) bool { return k.Name != name }) {
		text += fmt.Sprintf(" named %q", name)
	}
	return text
}
