package mapper

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// UnknownError says that the server has no resource and no category of a name,
// as far as it could be asked.
type UnknownError struct {
	Name string
	// Suggestions are the nearest names of resources that can be watched, the
	// nearest first, as "deployments (apps/v1)".
	Suggestions []string
	// Failed are the group versions whose server did not answer: the name may be one of theirs.
	FailedGroups []schema.GroupVersion
	// Instead says what there is in place of a command of kubectl that has this name.
	Hint string
}

// maxFailedGroups is how many failed groups a message lists.
const maxFailedGroups = 5

func (e *UnknownError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the server doesn't have a resource type %q", e.Name)
	if e.Hint != "" {
		b.WriteString(": " + e.Hint)
	}
	if len(e.Suggestions) > 0 {
		fmt.Fprintf(&b, "; did you mean %s?", enumerate(e.Suggestions, "or"))
	}
	if len(e.FailedGroups) > 0 {
		var failed []string
		for _, gv := range e.FailedGroups {
			failed = append(failed, gv.String())
		}
		if left := len(failed) - maxFailedGroups; left > 0 {
			failed = append(failed[:maxFailedGroups], fmt.Sprintf("%d more", left))
		}
		fmt.Fprintf(&b, "; it could not say what is in %s", enumerate(failed, "and"))
	}
	return b.String()
}

// UnwatchableError says that a name means something that can't be watched.
type UnwatchableError struct {
	Name string
	// Resource is what the name means; zero if it is a category, in which then
	// nothing can be watched.
	Resource schema.GroupVersionResource
	// Verbs are what the resource allows.
	Verbs []string
}

func (e *UnwatchableError) Error() string {
	switch {
	case e.Resource.Empty():
		return fmt.Sprintf("nothing in the category %q can be watched", e.Name)
	case len(e.Verbs) == 0:
		return fmt.Sprintf("%q (%s) can't be watched: it allows nothing", e.Name, e.Resource.GroupVersion())
	}
	return fmt.Sprintf("%q (%s) can't be watched: it allows only %s",
		e.Name, e.Resource.GroupVersion(), enumerate(e.Verbs, "and"))
}

// IsUnknown reports whether err wraps an *UnknownError.
func IsUnknown(err error) bool {
	_, ok := errors.AsType[*UnknownError](err)
	return ok
}

// IsAbsent reports whether err wraps an *UnknownError or an *UnwatchableError.
func IsNotWatchable(err error) bool {
	_, ok := errors.AsType[*UnwatchableError](err)
	return ok || IsUnknown(err)
}

// explain says why name names nothing that can be watched.
func (s *snapshot) explain(name string) error {
	if len(s.all.category(name)) > 0 {
		return &UnwatchableError{Name: name}
	}
	if r, ok := s.all.one(name); ok {
		return &UnwatchableError{Name: name, Resource: r.gvr(), Verbs: r.Verbs}
	}
	unknown := &UnknownError{Name: name, FailedGroups: s.failed, Hint: instead(name)}
	if unknown.Hint == "" { // "did you mean jobs" would lead away from "logs"
		unknown.Suggestions = s.watchable.suggest(name)
	}
	return unknown
}

// instead says what there is in place of a command of kubectl; empty if it has none of that name.
func instead(verb string) string {
	switch verb {
	case "get":
		return "dwatch RESOURCE... watches, and dwatch list RESOURCE... prints what exists"
	case "watch":
		return "dwatch watches: leave it out"
	case "describe":
		return "dwatch live RESOURCE... shows an object with its Events"
	case "rollout":
		return "dwatch wait TYPE/NAME waits for a rollout"
	case "version":
		return "--version prints that of dwatch"
	case "list", "top", "wait":
		return "dwatch " + verb + " is a command: it comes first"
	case "annotate", "api-resources", "apply", "attach", "auth", "autoscale", "cluster-info", "config", "cordon",
		"cp", "create", "debug", "delete", "diff", "drain", "edit", "exec", "explain", "expose", "label", "logs",
		"patch", "port-forward", "proxy", "replace", "run", "scale", "set", "taint", "uncordon":
		return "dwatch has no such command, and kubectl has"
	}
	return ""
}

// enumerate writes "a", "a or b", "a, b or c".
func enumerate(items []string, conjunction string) string {
	last := len(items) - 1
	if last < 1 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:last], ", ") + " " + conjunction + " " + items[last]
}

func isPrintable(strs ...string) bool {
	return !slices.ContainsFunc(strs, func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	})
}
