package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/fail"
	"dwatch/mapper"
	"dwatch/watcher/event"
)

// Planner makes plans for one request. It is safe for concurrent use. Blocking calls return when their
// context ends.
type Planner struct {
	request Request
	mapper  *mapper.Mapper

	mu    sync.Mutex                     // not held during requests
	taken map[string]string              // name of a single resource to the qualified name of its first result
	found map[string][]*meta.RESTMapping // latest result of each name
}

// New returns a Planner that resolves names with m. It makes no request.
func New(r Request, m *mapper.Mapper) *Planner {
	if r.WithTimeout == nil {
		r.WithTimeout = context.WithCancel
	}
	return &Planner{request: r, mapper: m, taken: map[string]string{}, found: map[string][]*meta.RESTMapping{}}
}

var errNothingLeft = errors.New("nothing is left to watch: all resources are excluded with --exclude, or they are cluster-scoped and need -A")

// InitialPlan returns the plan for the start. Mistakes in the command line are usage errors, see [fail.Usage]. An unknown
// resource is an error of package mapper, or with WaitForResources a note. Other errors are failed requests.
func (p *Planner) InitialPlan(ctx context.Context) (*Plan, error) {
	ctx, cancel := p.request.WithTimeout(ctx)
	defer cancel()
	d, err := p.plan(ctx, func(err error) bool { return p.request.WaitForResources && mapper.IsUnknown(err) })
	switch {
	case err != nil:
		return nil, err
	case d.firstMistake != nil:
		return nil, fail.Usage(d.firstMistake)
	case len(d.Targets) == 0 && !p.request.WaitForResources && d.Namespaces == nil:
		return nil, fail.Usage(errNothingLeft)
	}
	return &d.Plan, nil
}

// Resolve queries the server for the current targets. Resources that the server does not have are left out.
func (p *Planner) Resolve(ctx context.Context) (event.Resolution, error) {
	ctx, cancel := p.request.WithTimeout(ctx)
	defer cancel()
	p.mapper.Invalidate()
	d, err := p.plan(ctx, mapper.IsNotWatchable)
	if err != nil {
		return event.Resolution{}, err
	}
	return event.Resolution{Targets: d.Targets, FailedGroups: d.failedGroups, Namespaces: d.Namespaces}, nil
}

// plan resolves the arguments to targets for each resource and namespace, without duplicates. Arguments whose error is tolerable
// are left out and listed as missing.
func (p *Planner) plan(ctx context.Context, isTolerable func(error) bool) (*draft, error) {
	d := &draft{Plan: Plan{DynamicResources: p.request.WaitForResources}, named: map[schema.GroupResource]*meta.RESTMapping{}}
	where, err := p.request.selectNamespaces(ctx)
	if err != nil {
		return nil, err
	}
	d.namespaces, d.Namespaces = where.namespaces, where.all
	excluded, err := p.excluded(ctx, d)
	if err != nil {
		return nil, err
	}
	for _, a := range p.request.Arguments {
		answer, err := p.resolve(ctx, a.Resource, p.request.use(a.Name))
		d.failedGroups = append(d.failedGroups, answer.FailedGroups...)
		switch {
		case err != nil && isTolerable(err):
			d.Missing = append(d.Missing, Missing{a.String(), func(t event.Target) bool { return p.matchesTarget(a, t) }})
			d.note("the server doesn't have a resource type " + strconv.Quote(a.Resource) + " yet; waiting for it" + suggestion(err))
		case err != nil:
			return nil, err
		case answer.Multiple:
			d.DynamicResources = true
		default:
			d.name(answer.Mappings[0])
		}
		d.checkName(a.Name, answer.Mappings)
		d.resources = append(d.resources, selectedResource(a, answer, p.request.WaitForResources))
		d.noteAlternatives(a.Resource, answer)
		for _, mapping := range answer.Mappings {
			if excluded[mapping.Resource.GroupResource()] {
				continue
			}
			for _, namespace := range p.namespacesOf(a.Resource, mapping, d.namespaces) {
				d.Targets = append(d.Targets, event.Target{Mapping: mapping, Namespace: namespace, Name: a.Name})
			}
		}
	}
	if err := p.addExtraResources(ctx, d, excluded); err != nil {
		return nil, err
	}
	d.finish(p.request)
	return d, nil
}

// addExtraResources adds targets for ExtraResources.
func (p *Planner) addExtraResources(ctx context.Context, d *draft, excluded map[schema.GroupResource]bool) error {
	if p.request.ExtraResources == nil {
		return nil
	}
	d.DynamicResources = true
	for _, a := range p.request.ExtraResources() {
		answer, err := p.resolve(ctx, a.Resource, p.request.use(a.Name))
		switch {
		case mapper.IsNotWatchable(err), err == nil && answer.Multiple:
			continue
		case err != nil:
			return err
		}
		mapping := answer.Mappings[0]
		if excluded[mapping.Resource.GroupResource()] {
			continue
		}
		where := d.namespaces
		if a.Namespace != "" {
			where = []string{a.Namespace}
		}
		for _, namespace := range p.namespacesOf(a.Resource, mapping, where) {
			d.Targets = append(d.Targets, event.Target{Mapping: mapping, Namespace: namespace, Name: a.Name})
		}
	}
	return nil
}

// resolve resolves a name for a use. The name of a single resource keeps its first meaning.
func (p *Planner) resolve(ctx context.Context, name string, use mapper.Use) (mapper.Result, error) {
	p.mu.Lock()
	taken := p.taken[name]
	p.mu.Unlock()
	answer, err := p.mapper.ResolveFor(ctx, cmp.Or(taken, name), use)
	if err != nil {
		return answer, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found[name] = answer.Mappings
	if !answer.Multiple && taken == "" {
		p.taken[name] = cmp.Or(p.taken[name], qualified(name, answer.Mappings[0].Resource))
	}
	return answer, nil
}

// matchesTarget reports whether an argument, as resolved last, names a target.
func (p *Planner) matchesTarget(a mapper.Argument, t event.Target) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return a.Name == t.Name && slices.ContainsFunc(p.found[a.Resource], func(m *meta.RESTMapping) bool {
		return m.Resource.GroupResource() == t.Resource().GroupResource()
	})
}

// qualified returns an unambiguous name for r. It includes the version if name does.
func qualified(name string, r schema.GroupVersionResource) string {
	parsed, _ := schema.ParseResourceArg(name)
	if r.Group == "" || parsed != nil && parsed.GroupVersion() == r.GroupVersion() {
		return r.Resource + "." + r.Version + "." + r.Group
	}
	return r.GroupResource().String()
}

func (p *Planner) excluded(ctx context.Context, d *draft) (map[schema.GroupResource]bool, error) {
	excluded := map[schema.GroupResource]bool{}
	for _, name := range p.request.Exclude {
		answer, err := p.mapper.ResolveFor(ctx, name, p.request.use(""))
		switch {
		case err != nil && mapper.IsUnknown(err) && p.mapper.IsFixed(): // a recording without this resource
		case err != nil && mapper.IsUnknown(err):
			d.note("--exclude " + name + ": the server doesn't have such a resource yet")
		case err != nil && !mapper.IsNotWatchable(err):
			return nil, err
		}
		for _, m := range answer.Mappings {
			excluded[m.Resource.GroupResource()] = true
		}
	}
	return excluded, nil
}

// namespacesOf returns the namespaces in which to watch a resource, or nil if it is not watched.
func (p *Planner) namespacesOf(name string, mapping *meta.RESTMapping, namespaces []string) []string {
	if mapping.Scope.Name() != meta.RESTScopeNameRoot {
		return namespaces
	}
	if name == mapper.AllResources && !p.request.AllNamespaces && !slices.Contains(p.request.NamespacePatterns, AllNamespacesPattern) {
		return nil // "*" in a namespace excludes cluster-scoped resources
	}
	return []string{""}
}

// suggestion returns the suggestions of err in parentheses, or an empty string.
func suggestion(err error) string {
	unknown, ok := errors.AsType[*mapper.UnknownError](err)
	if !ok || len(unknown.Suggestions) == 0 {
		return ""
	}
	return " (did you mean " + strings.Join(unknown.Suggestions, " or ") + "?)"
}
