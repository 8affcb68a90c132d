package flags

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/clientcmd"

	"dwatch/cli/plan"
	"dwatch/mapper"
	"dwatch/watcher/until"
)

// Targets holds the flags that select the objects to watch or list.
type Targets struct {
	resources  []string
	namespaces []string
	excluded   []string // namespaces and patterns to exclude
	request    plan.Request
}

func (t *Targets) AddTo(f *pflag.FlagSet) {
	r := &t.request
	f.StringArrayVarP(&t.resources, "resource", "r", nil, "Select `RESOURCE` or RESOURCE/NAME (repeatable, comma-separated); '*' means all resources that can be watched, '*.GROUP' all in an API group")
	f.StringSliceVar(&r.Exclude, "exclude", nil, "Exclude `RESOURCE` from '*' or a category (repeatable, comma-separated)")
	f.StringSliceVarP(&t.namespaces, "namespace", "n", nil, "Select `NAMESPACE`: a,b or 'team-*'; '!kube-*' excludes namespaces (repeatable); default: the namespace of the context")
	f.StringSliceVar(&t.excluded, "exclude-namespace", nil, "Exclude `NAMESPACE`, or a pattern such as 'kube-*' (repeatable, comma-separated)")
	f.StringVar(&r.NamespaceSelector, "namespace-selector", "", "Select all namespaces whose labels match `SELECTOR`, e.g. team=shop, including later ones")
	f.BoolVarP(&r.AllNamespaces, "all-namespaces", "A", false, "Select all namespaces, even with -n")
	f.StringVarP(&r.LabelSelector, "selector", "l", "", "Label `SELECTOR`, e.g. app=web,tier!=cache")
	f.StringVar(&r.FieldSelector, "field-selector", "", "Field `SELECTOR`, e.g. status.phase=Running; the server supports only a few fields per type")
	notEmpty(f, "exclude", "namespace", "exclude-namespace", "namespace-selector")
}

// AddWait adds --wait.
func (t *Targets) AddWait(f *pflag.FlagSet) {
	f.BoolVar(&t.request.WaitForResources, "wait", false, "Wait for a resource that the server does not have yet")
}

// Parse returns the request for the resources of -r and of args.
func (t *Targets) Parse(args []string) (plan.Request, error) {
	arguments, err := mapper.ParseArguments(t.resources, args)
	if err != nil {
		return plan.Request{}, err
	}
	r, err := t.BuildRequest(arguments)
	if err != nil {
		return r, err
	}
	if slices.ContainsFunc(r.Exclude, func(name string) bool { return name == "" || strings.Contains(name, "/") }) {
		return r, fmt.Errorf("invalid --exclude %q: it takes resources", strings.Join(r.Exclude, ","))
	}
	return r, cmp.Or(checkSelectors(r), t.checkNamespaceSelector())
}

// HasResources reports whether -r or args name a resource.
func (t *Targets) HasResources(args []string) bool { return len(t.resources)+len(args) > 0 }

// BuildRequest returns a request for arguments with the other flags of t, such as namespaces and selectors.
func (t *Targets) BuildRequest(arguments []mapper.Argument) (plan.Request, error) {
	r := t.request
	r.Arguments = arguments
	excluded := t.excluded
	for _, n := range t.namespaces {
		if n, isExcluded := strings.CutPrefix(strings.TrimSpace(n), "!"); isExcluded {
			excluded = append(slices.Clip(excluded), n)
			continue
		}
		n, err := clientcmd.RemoveNamespacesPrefix(strings.TrimSpace(n))
		if err != nil {
			return r, err
		}
		if isPattern(n) {
			if err := checkPattern(n); err != nil {
				return r, err
			}
			r.NamespacePatterns = append(r.NamespacePatterns, n)
			continue
		}
		if wrong := validation.IsDNS1123Label(n); len(wrong) > 0 {
			return r, fmt.Errorf("invalid namespace %q: %s", n, wrong[0])
		}
		if !slices.Contains(r.Namespaces, n) {
			r.Namespaces = append(r.Namespaces, n)
		}
	}
	return r, excludeNamespaces(&r, excluded)
}

// excludeNamespaces adds excluded namespaces and patterns to r. Exclusions from all namespaces become patterns.
func excludeNamespaces(r *plan.Request, excluded []string) error {
	if len(excluded) > 0 && r.AllNamespaces {
		r.AllNamespaces, r.Namespaces, r.NamespacePatterns = false, nil, []string{plan.AllNamespacesPattern}
	}
	for _, n := range excluded {
		n = strings.TrimSpace(n)
		if isPattern(n) {
			if err := checkPattern(n); err != nil {
				return err
			}
		} else if wrong := validation.IsDNS1123Label(n); len(wrong) > 0 {
			return fmt.Errorf("invalid namespace %q: %s", n, wrong[0])
		}
		for _, named := range r.Namespaces {
			if matches, _ := path.Match(n, named); matches {
				return fmt.Errorf("namespace %s is both named and excluded by %s", named, n)
			}
		}
		if without := "!" + n; !slices.Contains(r.NamespacePatterns, without) {
			r.NamespacePatterns = append(r.NamespacePatterns, without)
		}
	}
	return nil
}

func isPattern(namespace string) bool { return strings.ContainsAny(namespace, `*?[`) }

func checkPattern(pattern string) error {
	if strings.Trim(pattern, "*") == "" {
		return fmt.Errorf("invalid namespace %q: -A selects all namespaces", pattern)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("invalid namespace %q: in a pattern, * matches any characters, ? matches one, and [a-z] one of these", pattern)
	}
	return nil
}

func (t *Targets) checkNamespaceSelector() error {
	selector := t.request.NamespaceSelector
	if selector == "" {
		return nil
	}
	if _, err := labels.Parse(selector); err != nil {
		return fmt.Errorf("invalid --namespace-selector %q: %w", selector, err)
	}
	if t.request.AllNamespaces || len(t.namespaces) > 0 {
		return errors.New("--namespace-selector selects the namespaces: it cannot be combined with -n or -A")
	}
	return nil
}

func checkSelectors(r plan.Request) error {
	if _, _, err := r.NormalizedSelectors(); err != nil {
		return err
	}
	named := slices.ContainsFunc(r.Arguments, func(a mapper.Argument) bool { return a.Name != "" })
	if named && (r.LabelSelector != "" || r.FieldSelector != "") {
		return errors.New("name cannot be provided when a selector is specified")
	}
	return nil
}

// Subject adds --for, the object whose related objects and Events are selected. *to stays nil if the flag is not given.
func Subject(to **mapper.Argument) Adder {
	return func(f *pflag.FlagSet) {
		f.String("for", "", "Select only objects that belong to `TYPE/NAME`, e.g. deploy/web: objects that it owns, refers to or is reached by, and Events about any of them; see docs/reference/related-objects.md")
		describeBriefly(f, "for", "Select only objects that belong to `TYPE/NAME`")
		takes(f, "for", func(text string) (err error) {
			*to, err = parseSubject(text)
			return invalid("for", text, err)
		})
		notEmpty(f, "for")
	}
}

func parseSubject(text string) (*mapper.Argument, error) {
	if slices.Contains(until.Quantifiers, text) {
		return nil, fmt.Errorf("it takes an object TYPE/NAME, e.g. deploy/web; use --until-for %s to say how many objects must match --until", text)
	}
	if condition, _, is := strings.Cut(text, "="); is || condition == "delete" || condition == "create" {
		return nil, fmt.Errorf("it takes an object TYPE/NAME, e.g. deploy/web; to wait for that, use dwatch wait TYPE/NAME --for %s", text)
	}
	parsed, err := mapper.ParseArguments([]string{text}, nil)
	if err != nil {
		return nil, err
	}
	if len(parsed) != 1 || parsed[0].Name == "" {
		return nil, errors.New("it takes one object as TYPE/NAME, e.g. deploy/web")
	}
	return &parsed[0], nil
}
