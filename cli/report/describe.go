package report

import (
	"fmt"
	"slices"
	"strings"

	"dwatch/watcher/event"
)

// describe names a target: deployments.apps/web in namespace default.
func describe(t event.Target) string {
	return join(nameOf(t.Key()), placeOf(t).String())
}

// nameOf names what is watched, wherever that is.
func nameOf(k event.Key) string {
	if k.Name == "" {
		return k.Resource.String()
	}
	return k.Resource.String() + "/" + k.Name
}

// place is where targets are watched. The zero place is the cluster, for what is
// in no namespace.
type place struct {
	everywhere bool // in all namespaces
	namespaces []string
}

func placeOf(t event.Target) place {
	switch {
	case !t.Namespaced():
		return place{}
	case t.Namespace == "":
		return place{everywhere: true}
	default:
		return place{namespaces: []string{t.Namespace}}
	}
}

func (p place) String() string {
	switch {
	case p.everywhere:
		return "in all namespaces"
	case len(p.namespaces) == 0:
		return ""
	case len(p.namespaces) == 1:
		return "in namespace " + p.namespaces[0]
	default:
		return "in namespaces " + strings.Join(p.namespaces, ", ")
	}
}

// group is what is watched in one place. The keys have no namespace.
type group struct {
	place
	what []event.Key
}

// describeAll says in one line what is watched where.
func describeAll(targets []event.Target) string {
	var parts []string
	for _, g := range mergeNamespaces(groupByPlace(targets)) {
		parts = append(parts, join(g.summary(), g.String()))
	}
	return strings.Join(parts, "; ")
}

// groupByPlace keeps the order in which places and targets come.
func groupByPlace(targets []event.Target) []group {
	var groups []group
	for _, t := range targets {
		where := placeOf(t)
		i := slices.IndexFunc(groups, func(g group) bool {
			return g.everywhere == where.everywhere && slices.Equal(g.namespaces, where.namespaces)
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{place: where})
		}
		what := t.Key()
		what.Namespace = ""
		groups[i].what = append(groups[i].what, what)
	}
	return groups
}

// mergeNamespaces puts namespaces together in which the same is watched.
func mergeNamespaces(groups []group) []group {
	var merged []group
	for _, g := range groups {
		i := slices.IndexFunc(merged, func(m group) bool {
			return len(m.namespaces) > 0 && len(g.namespaces) > 0 && slices.Equal(m.what, g.what)
		})
		if i < 0 {
			merged = append(merged, g)
		} else {
			merged[i].namespaces = append(merged[i].namespaces, g.namespaces...)
		}
	}
	return merged
}

// summary names what is watched, or counts it.
func (g group) summary() string {
	if len(g.what) <= maxListed {
		var names []string
		for _, k := range g.what {
			names = append(names, nameOf(k))
		}
		return strings.Join(names, ", ")
	}
	kind := "resources"
	if !g.everywhere && len(g.namespaces) == 0 {
		kind = "cluster-scoped resources"
	}
	text := fmt.Sprintf("%d %s", len(g.what), kind)
	name := g.what[0].Name
	if other := slices.ContainsFunc(g.what, func(k event.Key) bool { return k.Name != name }); name != "" && !other {
		text += fmt.Sprintf(" named %q", name)
	}
	return text
}

func join(what, where string) string { return strings.TrimSpace(what + " " + where) }
