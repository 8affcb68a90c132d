package mapper

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// UnknownError is the error for a name that is neither a resource nor a category of the server.
type UnknownError struct {
	Name string
	// Suggestions are the most similar resources that allow the use, such as "deployments (apps/v1)", the most similar first.
	Suggestions []string
	// FailedGroups are the group versions whose server did not answer. The name may be one of their resources.
	FailedGroups []schema.GroupVersion
	// Hint is set if the name is a verb, such as a common command of kubectl. It says what to type instead, or that only
	// kubectl has the command.
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
		fmt.Fprintf(&b, "; did you mean %s?", joinList(e.Suggestions, "or"))
	}
	if len(e.FailedGroups) > 0 {
		var failed []string
		for _, gv := range e.FailedGroups {
			failed = append(failed, gv.String())
		}
		if left := len(failed) - maxFailedGroups; left > 0 {
			failed = append(failed[:maxFailedGroups], fmt.Sprintf("%d more", left))
		}
		fmt.Fprintf(&b, "; it could not list the resources in %s", joinList(failed, "and"))
	}
	return b.String()
}

// UnwatchableError is the error for a name that only refers to resources that do not allow the use.
type UnwatchableError struct {
	Name string
	Use  Use
	// Resource is zero if the name is a category.
	Resource schema.GroupVersionResource
	// Verbs are the verbs that the resource allows.
	Verbs []string
}

func (e *UnwatchableError) Error() string {
	use := e.Use.participle()
	switch {
	case e.Resource.Empty():
		return fmt.Sprintf("no resource in the category %q can be %s", e.Name, use)
	case len(e.Verbs) == 0:
		return fmt.Sprintf("%q (%s) can't be %s: it allows no verbs", e.Name, e.Resource.GroupVersion(), use)
	}
	text := fmt.Sprintf("%q (%s) can't be %s: it allows only %s", e.Name, e.Resource.GroupVersion(), use, joinList(e.Verbs, "and"))
	if e.Use == Watch && slices.Contains(e.Verbs, "list") {
		text += "; 'dwatch list " + e.Name + "' prints what exists"
	}
	return text
}

// IsUnknown reports whether err wraps an *UnknownError.
func IsUnknown(err error) bool {
	_, ok := errors.AsType[*UnknownError](err)
	return ok
}

// IsNotWatchable reports whether err wraps an *UnknownError or an *UnwatchableError.
func IsNotWatchable(err error) bool {
	_, ok := errors.AsType[*UnwatchableError](err)
	return ok || IsUnknown(err)
}

// explain returns the error for a name that resolves to no resource that allows a use.
func (s *snapshot) explain(name string, use Use) error {
	if len(s.all.category(name)) > 0 {
		return &UnwatchableError{Name: name, Use: use}
	}
	if r, ok := s.all.findOne(name); ok {
		return &UnwatchableError{Name: name, Use: use, Resource: r.gvr(), Verbs: r.Verbs}
	}
	unknown := &UnknownError{Name: name, FailedGroups: s.failed, Hint: kubectlHint(name)}
	if unknown.Hint == "" { // "did you mean jobs?" would not help a user who typed "logs"
		unknown.Suggestions = s.catalog(use).suggest(name)
	}
	return unknown
}

// kubectlHint returns what to type instead of a verb, such as a command of kubectl, where a resource is expected. It is
// empty for other words, and for some commands of kubectl.
func kubectlHint(verb string) string {
	switch verb {
	case "get":
		return "dwatch RESOURCE... watches, and dwatch list RESOURCE... prints what exists"
	case "watch":
		return "dwatch always watches: leave it out"
	case "describe":
		return "dwatch live RESOURCE... shows an object with its Events"
	case "explain":
		return "dwatch explain-readiness TYPE/NAME explains why an object is ready or not; only kubectl explains fields"
	case "rollout":
		return "dwatch wait TYPE/NAME waits for a rollout"
	case "version":
		return "--version prints the version of dwatch"
	case "diff", "list", "top", "wait":
		return "dwatch " + verb + " is a command: write it first"
	case "annotate", "api-resources", "apply", "attach", "auth", "autoscale", "cluster-info", "config", "cordon",
		"cp", "create", "debug", "delete", "drain", "edit", "exec", "expose", "label", "logs",
		"patch", "port-forward", "proxy", "replace", "run", "scale", "set", "taint", "uncordon":
		return "only kubectl has this command"
	}
	return ""
}

// joinList returns "a", "a or b" or "a, b or c" if the conjunction is "or".
func joinList(items []string, conjunction string) string {
	last := len(items) - 1
	if last < 1 {
		return strings.Join(items, "")
	}
	return strings.Join(items[:last], ", ") + " " + conjunction + " " + items[last]
}

// isPrintable reports whether all strings consist of printable characters.
func isPrintable(strs ...string) bool {
	return !slices.ContainsFunc(strs, func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	})
}
