package plan

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"dwatch/cli/fail"
	"dwatch/mapper"
	"dwatch/watcher/event"
)

func keys(targets []event.Target) []string {
	var texts []string
	for _, t := range targets {
		texts = append(texts, fmt.Sprintf("%s %s %s", t.Resource().GroupVersion().WithResource(t.Resource().Resource), t.Namespace, t.Name))
	}
	return texts
}

func TestInitialPlan(t *testing.T) {
	ab := func(r Request) Request {
		r.Namespaces = []string{"a", "b"}
		return r
	}
	const (
		pods = "/v1, Resource=pods"
		jobs = "batch/v1, Resource=jobs"
		hpa1 = "autoscaling/v1, Resource=horizontalpodautoscalers"
	)
	for name, test := range map[string]struct {
		request Request
		targets []string
		notes   []string
		dynamic bool
	}{
		"home":             {request: of("pods"), targets: []string{pods + " home "}},
		"each namespace":   {request: ab(of("pods", "jobs")), targets: []string{pods + " a ", pods + " b ", jobs + " a ", jobs + " b "}},
		"all namespaces":   {request: everywhere(ab(of("pods"))), targets: []string{pods + "  "}},
		"wider, narrower":  {request: of("pods", "po/web"), targets: []string{pods + " home "}},
		"narrower, wider":  {request: of("pods/web", "po"), targets: []string{pods + " home "}},
		"twice":            {request: of("pods/web", "po/web", "pods/db"), targets: []string{pods + " home web", pods + " home db"}},
		"excluded":         {request: without(of("pods", "jobs"), "po"), targets: []string{jobs + " home "}},
		"excluded set":     {request: without(of("pods", "secrets"), "all"), targets: []string{"/v1, Resource=secrets home "}},
		"no such":          {request: without(of("pods"), "nope"), targets: []string{pods + " home "}, notes: []string{"--exclude nope: the server doesn't have such a resource yet"}},
		"cluster-scoped":   {request: ab(of("nodes")), targets: []string{"/v1, Resource=nodes  "}, notes: []string{"nodes is cluster-scoped: -n does not apply to it"}},
		"a set":            {request: without(of("all"), "rc", "svc", "ds", "deploy", "rs", "sts", "cj", "jobs", "hpa"), targets: []string{pods + " home "}, dynamic: true},
		"in a set, named":  {request: without(of("hpa.v1.autoscaling", "all"), "po", "rc", "svc", "ds", "deploy", "rs", "sts", "cj", "jobs"), targets: []string{hpa1 + " home "}, dynamic: true},
		"waited for":       {request: waiting(of("podz", "pods")), targets: []string{pods + " home "}, dynamic: true, notes: []string{`the server doesn't have a resource type "podz" yet; waiting for it (did you mean pods (v1)?)`}},
		"only waited for":  {request: waiting(of("nonesuch")), dynamic: true, notes: []string{`the server doesn't have a resource type "nonesuch" yet; waiting for it`}},
		"RBAC has any":     {request: of("clusterroles/system:some node", "roles/A_b"), targets: []string{"rbac.authorization.k8s.io/v1, Resource=clusterroles  system:some node", "rbac.authorization.k8s.io/v1, Resource=roles home A_b"}},
		"an IPv6 address":  {request: of("ipaddresses/fd00::1"), targets: []string{"networking.k8s.io/v1, Resource=ipaddresses  fd00::1"}},
		"the core service": {request: of("apiservices/v1."), targets: []string{"apiregistration.k8s.io/v1, Resource=apiservices  v1."}},
	} {
		t.Run(name, func(t *testing.T) {
			p := first(t, test.request)
			if diff := cmp.Diff(test.targets, keys(p.Targets)); diff != "" {
				t.Errorf("targets: -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(test.notes, p.Notes); diff != "" {
				t.Errorf("notes: -want +got:\n%s", diff)
			}
			if p.DynamicResources != test.dynamic {
				t.Errorf("DynamicResources is %v, want %v", p.DynamicResources, test.dynamic)
			}
		})
	}
}

// TestEverything checks that "*" selects cluster-scoped resources only together with all namespaces.
func TestEverything(t *testing.T) {
	clusterScoped := func(targets []event.Target) bool {
		return slices.ContainsFunc(targets, func(t event.Target) bool { return !t.Namespaced() })
	}
	here, all := first(t, of("*")).Targets, first(t, everywhere(of("*"))).Targets
	if clusterScoped(here) || !clusterScoped(all) || len(here) < 20 {
		t.Errorf("got %v for one namespace, %v for all", keys(here), keys(all))
	}
}

func TestMistakes(t *testing.T) {
	const subdomain = "a lowercase RFC 1123 subdomain must consist of "
	for _, test := range []struct {
		request Request
		want    string
	}{
		{without(of("pods"), "pods"), "nothing is left to watch"},
		{of("hpa.v1.autoscaling", "hpa.v2.autoscaling"), "horizontalpodautoscalers.autoscaling is requested in two versions"},
		{awaited(of("pods/web", "jobs", "po")), "pods/web is one of the pods, and dwatch waits for all of them"},
		{awaited(of("all", "deploy/web")), "deployments.apps/web is one of the deployments.apps, and dwatch waits for all of them"},
		{of("pods/a b"), `invalid name "a b" for pods: ` + subdomain},
		{of("deploy/Web"), `invalid name "Web" for deployments.apps: ` + subdomain},
		{of("cm/a\x1b[2J"), `invalid name "a\x1b[2J" for configmaps: ` + subdomain},
		{waiting(of("crd/crontabs_x")), `invalid name "crontabs_x" for customresourcedefinitions.apiextensions.k8s.io: ` + subdomain},
		{of("all/a:b"), `invalid name "a:b" for pods: ` + subdomain},
		{of("pods/" + strings.Repeat("a", 254)), `invalid name "` + strings.Repeat("a", 254) + `" for pods: must be no more than 253 `},
	} {
		p, err := planner(t, test.request).InitialPlan(t.Context())
		if err == nil {
			t.Errorf("%+v: got targets %v, want an error", test.request, keys(p.Targets))
			continue
		}
		if fail.ExitCode(err) != fail.ExitUsage || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("got a %T (%v), want a usage error %s", err, err, test.want)
		}
	}
}

// TestMapperErrors checks that the errors of the mapper for unknown names are returned.
func TestMapperErrors(t *testing.T) {
	_, err := planner(t, of("nope")).InitialPlan(t.Context())
	if !mapper.IsUnknown(err) {
		t.Errorf("got a %T (%v), want an UnknownError", err, err)
	}
	_, err = planner(t, waiting(of("bindings"))).InitialPlan(t.Context())
	if !mapper.IsNotWatchable(err) || mapper.IsUnknown(err) {
		t.Errorf("got a %T (%v), want an UnwatchableError", err, err)
	}
}

// TestResolve checks that concurrent calls of Resolve return the existing resources and leave out unknown ones.
func TestResolve(t *testing.T) {
	p := planner(t, of("pods", "nope", "deploy"))
	want := []string{"/v1, Resource=pods home ", "apps/v1, Resource=deployments home "}
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() {
			found, err := p.Resolve(t.Context())
			if diff := cmp.Diff(want, keys(found.Targets)); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
	running.Wait()
	if diff := cmp.Diff(map[string]string{"pods": "pods.v1.", "deploy": "deployments.apps"}, p.taken); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMissing checks that a plan lists missing resources, and that Missing.Matches finds their targets later.
func TestMissing(t *testing.T) {
	p := planner(t, waiting(of("nonesuch/a", "pods")))
	first, err := p.InitialPlan(t.Context())
	if err != nil || len(first.Missing) != 1 || first.Missing[0].Name != "nonesuch/a" {
		t.Fatalf("%+v, %v", first, err)
	}
	matches := first.Missing[0].Matches
	target := first.Targets[0]
	target.Name = "a"
	if matches(target) {
		t.Error("a target matches before the resource was resolved")
	}
	p.found["nonesuch"] = []*meta.RESTMapping{target.Mapping}
	if !matches(target) || matches(first.Targets[0]) {
		t.Error("after the resource was resolved, not exactly the target with the name a matches")
	}
}

// stalledServer never answers.
type stalledServer struct{ requested chan struct{} }

func (s stalledServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requested <- struct{}{}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestResolveEnds checks that Resolve returns when its context ends or WithTimeout expires, even while
// another call is making requests.
func TestResolveEnds(t *testing.T) {
	server := stalledServer{make(chan struct{}, 10)}
	d, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: "http://127.0.0.1:1", Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	r := of("pods")
	var first sync.Once
	r.WithTimeout = func(ctx context.Context) (context.Context, context.CancelFunc) {
		timeout := time.Millisecond
		first.Do(func() { timeout = time.Hour })
		return context.WithTimeout(ctx, timeout)
	}
	p := New(r, mapper.New(d))
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := p.Resolve(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("first call: got error %v, want canceled", err)
		}
	})
	<-server.requested
	if _, err := p.Resolve(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second call: got error %v, want deadline exceeded", err)
	}
	cancel()
	group.Wait()
}

// TestShorten checks that a note lists a bounded number of names and counts the rest.
func TestShorten(t *testing.T) {
	var names []string
	for range maxNoted + 3 {
		names = append(names, "a")
	}
	if got, want := shorten(names), "a, a, a, a, a, a, a, a, a, a and 3 others"; got != want {
		t.Errorf("shorten returned %q, want %q", got, want)
	}
	if got, want := shorten(names[:2]), "a, a"; got != want {
		t.Errorf("shorten returned %q, want %q", got, want)
	}
}
