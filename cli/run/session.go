package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/flags"
	"dwatch/cli/lookup"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/source"
	"dwatch/watcher/subject"
)

// Session is a connected cluster: the names of a command line resolved there, and the rights of the user. A recorded cluster has
// one, too, without Cluster, Lookup and Rights.
type Session struct {
	Console *console.Console
	Cluster *cluster.Cluster
	Request plan.Request // the requested resources and namespaces
	Mapper  *mapper.Mapper
	Planner *plan.Planner
	Plan    *plan.Plan
	// Lookup reads objects besides the watch: causes, owners, Events and former templates. Answers that only help people may fail.
	// --until ready (crash loops), --for and --since depend on their answers.
	Lookup *lookup.Client
	Rights *access.Checker

	subject *forObject       // what --for names, or nil
	related *subject.Subject // the objects that belong to the object of --for, or nil if only Events are requested
}

// OpenSession logs in to a cluster and resolves the names of a selection.
func OpenSession(ctx context.Context, c *console.Console, k *cluster.Cluster, of Selection) (*Session, error) {
	r := of.Request
	r.DefaultNamespace, r.WithTimeout = k.Namespace, k.WithTimeout
	s := &Session{Console: c, Cluster: k, Request: r}
	if err := k.Login(ctx); err != nil {
		return nil, fail.FromServer(k.Host, err)
	}
	d, err := k.NewDiscoveryClient()
	if err != nil {
		return nil, err
	}
	s.Mapper = mapper.New(d)
	if s.Lookup, err = lookup.New(k, s.Mapper); err != nil {
		return nil, err
	}
	if !of.AnyNamespace {
		r.ListNamespaces = s.listNamespaces()
	}
	if err := s.findRelated(ctx, of, &r); err != nil {
		return nil, err
	}
	s.Planner = plan.New(r, s.Mapper)
	s.Plan, err = s.Planner.InitialPlan(ctx)
	if denied, ok := errors.AsType[*plan.NamespacesError](err); ok && apierrors.IsForbidden(err) {
		return nil, denied
	}
	if err != nil {
		return nil, fail.FromServer(k.Host, err)
	}
	for _, note := range s.Plan.Notes {
		c.Say(note)
	}
	if s.subject, err = s.findSubject(ctx, of.Object); err != nil {
		return nil, err
	}
	s.Rights, err = access.New(k, s.accessOptions())
	return s, err
}

func (s *Session) accessOptions() access.Options {
	r := s.Request
	return access.Options{
		LabelSelector: r.LabelSelector,
		FieldSelector: r.FieldSelector,
		Sharded:       !r.Shard.IsAll(),
		ListOnly:      r.ListOnly,
		Namespaces:    r.Namespaces,
		ManyTargets:   len(s.Plan.Targets) > 1,
	}
}

// OpenOfflineSession resolves the names of a selection without a server. k may be unreachable. It returns false if a server has to be
// asked, because of --for, or because a name is not that of a built-in resource or stands for several. Nothing may be watched with the
// session.
func OpenOfflineSession(ctx context.Context, c *console.Console, k *cluster.Cluster, of Selection) (*Session, bool) {
	r := of.Request
	r.DefaultNamespace = k.Namespace
	if of.Object != nil {
		return nil, false
	}
	s := &Session{Console: c, Cluster: k, Request: r, Mapper: mapper.NewBuiltin()}
	s.Planner = plan.New(r, s.Mapper)
	var err error
	if s.Plan, err = s.Planner.InitialPlan(ctx); err != nil || s.Plan.DynamicResources {
		return nil, false
	}
	s.Rights = access.NewOffline(s.accessOptions())
	return s, true
}

// listNamespaces returns a function that lists the namespaces of the server. When the list is denied later, it says so once:
// new namespaces are not found.
func (s *Session) listNamespaces() func(context.Context) ([]plan.Namespace, error) {
	var listed, warned atomic.Bool
	return func(ctx context.Context) ([]plan.Namespace, error) {
		there, err := s.Cluster.ListNamespaces(ctx)
		switch {
		case err == nil:
			listed.Store(true)
			warned.Store(false)
		case listed.Load() && apierrors.IsForbidden(err) && !warned.Swap(true):
			s.Console.Warn("cannot list namespaces any more, trying again: " + fail.ExplainDisconnect(err))
		}
		var all []plan.Namespace
		for _, n := range there {
			all = append(all, plan.Namespace{Name: n.Name, UID: n.UID, Labels: n.Labels})
		}
		return all, err
	}
}

// SuggestWait adds --wait to an error about a resource that the server may get later.
func SuggestWait(err error) error {
	unknown, ok := errors.AsType[*mapper.UnknownError](err)
	if !ok || unknown.Hint != "" {
		return err
	}
	return fmt.Errorf("%w (--wait waits until there is one)", err)
}

// ShowsNamespaces reports whether the objects may be in different namespaces.
func (s *Session) ShowsNamespaces() bool {
	return s.Request.AllNamespaces || s.Request.SelectsNamespaces() || len(s.Request.Namespaces) > 1
}

// Scope describes a run about this session alone.
func (s *Session) Scope() *Scope {
	scope := &Scope{
		Console: s.Console, Request: s.Request, Targets: s.Plan.Targets, Mixed: s.Plan.DynamicResources, ShowNamespaces: s.ShowsNamespaces(),
		ShortName:   s.Mapper.ShortName,
		Lookup:      func(string) *lookup.Client { return s.Lookup },
		Unreachable: func(string) string { return "" },
		Awaited:     s.missing,
		Status:      func() string { return "" },
	}
	if s.Cluster != nil {
		scope.Cluster, scope.Server = s.Cluster.DisplayName(), s.Cluster.Host
		scope.Origin = func(ctx context.Context, _ string) (string, error) {
			uid, err := s.Cluster.Identity(ctx)
			if err != nil {
				return "", fail.FromServer(s.Cluster.Host, err)
			}
			return CloudEventSource(uid, s.Cluster.Host), nil
		}
	}
	return scope
}

// Title is the name of the cluster and a description of the targets.
func (s *Scope) Title() string {
	if s.Cluster == "" {
		return s.CommandLine()
	}
	return s.Cluster + ": " + report.DescribeTargets(s.Targets)
}

// CommandLine is the request as it may be typed.
func (s *Scope) CommandLine() string {
	r := s.Request
	var words []string
	for _, a := range r.Arguments {
		words = append(words, a.String())
	}
	switch {
	case r.AllNamespaces:
		words = append(words, "-A")
	case r.SelectsNamespaces() && len(r.Namespaces) == 0:
		words = append(words, r.NamespaceFlag())
	case len(r.Namespaces)+len(r.NamespacePatterns) > 0:
		words = append(words, "-n "+strings.Join(r.WatchedNamespaces(), ","))
	}
	if r.LabelSelector != "" {
		words = append(words, "-l "+r.LabelSelector)
	}
	return strings.Join(words, " ")
}

// namesake returns the resource that an object's name also stands for, or "". It uses the cache, since events are waiting.
func (s *Session) namesake(name string) string {
	mappings := s.Mapper.ResolveCached(name)
	if len(mappings) == 0 {
		return ""
	}
	return mappings[0].Resource.Resource
}

// WatchOptions are the options of a watcher for this session.
func (s *Session) WatchOptions() watcher.Options {
	return watcher.Options{
		Config:   s.Cluster.Config,
		HTTP:     s.Cluster.HTTP,
		Resolver: s.Planner,
		Targets:  s.Plan.Targets,
		Follow:   s.Plan.IsDynamic(), Namespaces: s.Plan.Namespaces,
		ResolveAgain: s.relatedAdded(),
		Request: source.Request{
			LabelSelector: s.Request.LabelSelector, FieldSelector: s.Request.FieldSelector, Shard: s.Request.Shard,
			RequestTimeout: s.Cluster.RequestTimeout,
		},
	}
}

// Need lists actions of a run that take rights, in addition to watching its targets.
type Need struct {
	Connection *cluster.Flags
	Selection
	Identity  bool // it has to know which cluster it is
	Past      bool // it reads Events and former templates
	Reasons   bool // it asks why objects are not ready
	Logs      bool
	Revisions bool // it asks for former templates of workloads
	Lease     flags.Lease
}

// Permissions are the rights that n takes at this cluster.
func (s *Session) Permissions(n Need) []access.Permission {
	var needs []access.Permission
	for _, t := range s.Plan.Targets {
		needs = append(needs, s.Rights.TargetPermission(t))
		if s.subject != nil {
			needs = append(needs, access.OwnerPermissions(s.subject.target, t.Namespace)...)
		}
	}
	for _, t := range s.Plan.Targets {
		if n.Reasons {
			needs = access.AddPermissions(needs, access.ReasonPermissions(t)...)
		}
		if n.Logs && t.Namespaced() {
			needs = access.AddPermissions(needs, access.LogsPermission(t))
		}
	}
	if n.Request.SelectsNamespaces() {
		needs = access.AddPermissions(needs, access.NamespacesPermission())
	}
	if n.Identity {
		needs = append(needs, access.IdentityPermission())
	}
	if n.Lease.IsSet() {
		needs = access.AddPermissions(needs, access.LeasePermissions(cmp.Or(n.Lease.Namespace, s.Cluster.Namespace), n.Lease.Name)...)
	}
	for _, w := range s.historySources() {
		if n.Revisions && w.resource.Group == "apps" {
			needs = access.AddPermissions(needs, access.ListPermission(w.resource, w.namespace))
		}
	}
	if n.Past {
		for _, w := range s.historySources() {
			needs = append(needs, access.ListPermission(w.resource, w.namespace))
		}
	}
	return needs
}

// SayMissingNamespaces names the requested namespaces that do not exist.
func (s *Session) SayMissingNamespaces(ctx context.Context) {
	if s.Console.IsQuiet() || s.Request.AllNamespaces || !slices.ContainsFunc(s.Plan.Targets, event.Target.Namespaced) {
		return
	}
	for _, n := range s.Request.Namespaces {
		missing, meant, err := s.Lookup.CheckNamespace(ctx, n)
		switch {
		case err != nil:
			return // the server will not answer for the others either
		case missing && meant != "":
			s.Console.Say(fmt.Sprintf("namespace %q does not exist; did you mean %s?", n, meant))
		case missing:
			s.Console.Say(fmt.Sprintf("namespace %q does not exist", n))
		}
	}
}

// NothingFound says that a list is empty, as kubectl does.
func (s *Session) NothingFound() string {
	if s.Plan.MatchesNoNamespace() {
		return "No resources found: no namespace matches " + s.Request.NamespaceFlag()
	}
	if shard := s.Request.Shard; !shard.IsAll() {
		return "No resources found in shard " + shard.String()
	}
	if s.Request.AllNamespaces || s.Request.SelectsNamespaces() || !slices.ContainsFunc(s.Plan.Targets, event.Target.Namespaced) {
		return "No resources found"
	}
	return "No resources found in " + strings.Join(s.Request.WatchedNamespaces(), ", ") + " namespace."
}

// SubjectIncludes returns the objects that belong to the object of --for. Without --for it returns all of them.
func (s *Session) SubjectIncludes(ctx context.Context, objects []event.Object) ([]event.Object, error) {
	return s.subject.among(ctx, objects)
}

// IsSubject reports whether o is the object of --for itself.
func (s *Session) IsSubject(o event.Object, named *mapper.Argument) bool {
	return s.subject != nil && o.Name == named.Name && s.subject.target.Mapping.GroupVersionKind.Kind == o.Kind
}

// HasSubject reports whether --for is given.
func (s *Session) HasSubject() bool { return s.subject != nil }
