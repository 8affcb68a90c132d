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
	// Failed are the group versions whose server did not answer: the name may
	// be one of theirs.
	Failed []schema.GroupVersion
	// Verb says that Name is what kubectl calls a command, such as "get".
	Verb bool
}

func (e *UnknownError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the server doesn't have a resource type %q", e.Name)
	if len(e.Suggestions) > 0 {
		fmt.Fprintf(&b, "; did you mean %s?", enumerate(e.Suggestions, "or"))
	}
	if len(e.Failed) > 0 {
		failed := make([]string, len(e.Failed))
		for i, gv := range e.Failed {
			failed[i] = gv.String()
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

// IsAbsent reports whether err says that nothing of a name can be watched: that the server
// does not have it, or not to be watched.
func IsAbsent(err error) bool {
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
	unknown := &UnknownError{Name: name, Failed: s.failed, Verb: isVerb(name)}
	if !unknown.Verb { // "did you mean jobs" would lead away from "logs"
		unknown.Suggestions = s.watchable.suggest(name)
	}
	return unknown
}

// isVerb reports whether kubectl has a command of this name.
func isVerb(name string) bool {
	return slices.Contains([]string{
		"annotate", "api-resources", "apply", "attach", "auth", "autoscale", "cordon", "cp", "create", "debug",
		"delete", "describe", "diff", "drain", "edit", "events", "exec", "explain", "expose", "get", "label",
		"list", "logs", "patch", "port-forward", "proxy", "replace", "rollout", "run", "scale", "set", "taint",
		"top", "uncordon", "version", "wait", "watch",
	}, name)
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
