package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/cli/access"
	"dwatch/cli/cluster"
	"dwatch/cli/fail"
	"dwatch/cli/lookup"
	"dwatch/cli/plan"
	"dwatch/cli/report"
	"dwatch/mapper"
	"dwatch/output"
	"dwatch/watcher"
	"dwatch/watcher/event"
	"dwatch/watcher/object/change"
	"dwatch/watcher/object/kubeevent"
	"dwatch/watcher/source"
	"dwatch/watcher/subject"
)

// session is a command at a cluster that has answered: what the names it was given stand for there.
type session struct {
	*console
	*cluster.Cluster
	scope     plan.Request // what was asked for, and where
	mapper    *mapper.Mapper
	planner   *plan.Planner
	plan      *plan.Plan
	questions *lookup.Client // which help people, and nothing depends on
	rights    *access.Checker
	about     *about           // nil: Events about anything
	whole     *subject.Subject // all that belongs to the object of --for; nil: that is not asked for
	fleet     *fleet           // nil: it is one cluster
	others    []*mapper.Mapper // those of clusters that are compared with it, which may have what it lacks
}

func (c *console) open(ctx context.Context, k *cluster.Cluster, of selection) (*session, error) {
	r := of.request
	r.DefaultNamespace, r.WithTimeout = k.Namespace, k.WithTimeout
	s := &session{console: c, Cluster: k, scope: r}
	if err := k.Login(ctx); err != nil {
		return nil, fail.FromServer(k.Host, err)
	}
	d, err := k.NewDiscoveryClient()
	if err != nil {
		return nil, err
	}
	s.mapper = mapper.New(d)
	if s.questions, err = lookup.New(k, s.mapper); err != nil {
		return nil, err
	}
	if !of.anywhere {
		r.ListNamespaces = s.namespaces()
	}
	if err := s.findSubject(ctx, of, &r); err != nil {
		return nil, err
	}
	s.planner = plan.New(r, s.mapper)
	s.plan, err = s.planner.InitialPlan(ctx)
	if unseen, ok := errors.AsType[*plan.NamespacesError](err); ok && apierrors.IsForbidden(err) {
		return nil, unseen
	}
	if err != nil {
		return nil, fail.FromServer(k.Host, err)
	}
	for _, note := range s.plan.Notes {
		s.say(note)
	}
	if s.about, err = s.findAbout(ctx, of.object); err != nil {
		return nil, err
	}
	s.rights, err = access.New(k, access.Options{
		LabelSelector: r.LabelSelector,
		FieldSelector: r.FieldSelector,
		Namespaces:    r.Namespaces,
		ManyTargets:   len(s.plan.Targets) > 1,
	})
	return s, err
}

// namespaces returns what asks the server for them. That it no longer answers is said once, until it
// does: what comes to be chosen is missing then.
func (s *session) namespaces() func(context.Context) ([]plan.Namespace, error) {
	var known, said atomic.Bool
	return func(ctx context.Context) ([]plan.Namespace, error) {
		there, err := s.ListNamespaces(ctx)
		switch {
		case err == nil:
			known.Store(true)
			said.Store(false)
		case known.Load() && apierrors.IsForbidden(err) && !said.Swap(true):
			s.warn("which namespaces match is not known any more, trying again: " + fail.ExplainDisconnect(err))
		}
		var all []plan.Namespace
		for _, n := range there {
			all = append(all, plan.Namespace{Name: n.Name, UID: n.UID, Labels: n.Labels})
		}
		return all, err
	}
}

// orWait adds --wait to an error of a resource that the server may have later.
func orWait(err error) error {
	unknown, ok := errors.AsType[*mapper.UnknownError](err)
	if !ok || unknown.Hint != "" {
		return err
	}
	return fmt.Errorf("%w (--wait waits until there is one)", err)
}

// several reports whether objects may be in different namespaces, so that these are shown.
func (s *session) several() bool {
	return s.fleet.showsNamespaces(s.scope) || s.scope.AllNamespaces || s.scope.SelectsNamespaces() || len(s.scope.Namespaces) > 1
}

// subject names an object as kubectl takes it, after its namespace where there are several.
func (s *session) subject(t event.Target, o event.Object) string {
	name, namespace := t.Name, t.Namespace
	if !o.IsZero() {
		name, namespace = o.Name, o.Namespace
	}
	subject := s.shortName(t.Resource())
	if name != "" {
		subject += "/" + name
	}
	if namespace != "" && s.several() {
		subject = namespace + " " + subject
	}
	return within(t.Cluster, subject)
}

// within puts a cluster before what is there, in a run of several.
func within(cluster, what string) string {
	if cluster == "" {
		return what
	}
	return cluster + " " + what
}

// shortName is the shortest name of a resource.
func (s *session) shortName(r schema.GroupVersionResource) string {
	if s.fleet != nil {
		return s.fleet.shortName(r)
	}
	short, whole := s.mapper.ShortName(r), r.GroupResource().String()
	for n := 0; n < len(s.others) && short == whole; n++ {
		short = s.others[n].ShortName(r)
	}
	return short
}

// asks returns what asks a cluster for what helps people.
func (s *session) asks(cluster string) *lookup.Client {
	if s.fleet != nil {
		return s.fleet.asks(cluster)
	}
	return s.questions
}

// clusters returns which there are, for who shows them; nil: it is one.
func (s *session) clusters() func() []event.Cluster {
	if s.fleet == nil {
		return nil
	}
	return s.fleet.standing
}

// title says what is shown, of one cluster with its name.
func (s *session) title() string {
	if s.fleet != nil {
		return s.typed()
	}
	return s.DisplayName() + ": " + report.DescribeTargets(s.plan.Targets)
}

// eventsAbout returns what asks the cluster of an object for the Events about it.
func (s *session) eventsAbout(masks *change.Masks) func(context.Context, string, event.Object) ([]kubeevent.Event, error) {
	return func(ctx context.Context, cluster string, o event.Object) ([]kubeevent.Event, error) {
		asks := s.asks(cluster)
		if asks == nil {
			return nil, fmt.Errorf("%s has not answered", cluster)
		}
		return asks.Events(ctx, o, masks)
	}
}

// namesake returns the resource that is called name, too. The events wait
// meanwhile, so the server is not asked.
func (s *session) namesake(name string) string {
	mappings := s.mapper.ResolveCached(name)
	if len(mappings) == 0 {
		return ""
	}
	return mappings[0].Resource.Resource
}

func (s *session) typed() string {
	r := s.scope
	var words []string
	for _, a := range r.Arguments {
		words = append(words, a.String())
	}
	switch {
	case r.AllNamespaces:
		words = append(words, "-A")
	case r.NamespaceSelector != "":
		words = append(words, r.NamespaceFlag())
	case len(r.Namespaces)+len(r.NamespacePatterns) > 0:
		words = append(words, "-n "+strings.Join(r.WatchedNamespaces(), ","))
	}
	if r.LabelSelector != "" {
		words = append(words, "-l "+r.LabelSelector)
	}
	return strings.Join(words, " ")
}

// fillTable says what a table needs to show of the targets beside their columns.
func (s *session) fillTable(t *output.TableOptions) {
	kinds := map[schema.GroupVersionKind]bool{}
	for _, target := range s.plan.Targets {
		kinds[target.Mapping.GroupVersionKind] = true
	}
	t.ShowNamespaces = s.several()
	t.ShowKind = t.ShowKind || len(kinds) > 1 || s.plan.DynamicResources || s.fleet != nil && len(s.scope.Arguments) > 1
}

// watched are the options of a watcher that come with what was asked for.
func (s *session) watched() watcher.Options {
	return watcher.Options{
		Config:   s.Config,
		HTTP:     s.HTTP,
		Resolver: s.planner,
		Targets:  s.plan.Targets,
		Follow:   s.plan.IsDynamic(), Namespaces: s.plan.Namespaces,
		ResolveAgain: s.look(),
		Request: source.Request{
			LabelSelector: s.scope.LabelSelector, FieldSelector: s.scope.FieldSelector, Shard: s.scope.Shard,
			RequestTimeout: s.RequestTimeout,
		},
	}
}

// serves reports whether the server has a resource.
func (s *session) serves(ctx context.Context, name string) (bool, error) {
	_, err := s.mapper.Resolve(ctx, name)
	if mapper.IsUnknown(err) {
		return false, nil
	}
	return err == nil, err
}
