package mapper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

func resolve(t testing.TB, m *Mapper, name string) []string {
	t.Helper()
	return text(answer(t, m, name).Mappings)
}

func answer(t testing.TB, m *Mapper, name string) Result {
	t.Helper()
	found, err := m.Resolve(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func wantRequests(t testing.TB, count interface{ Load() int64 }, want int64) {
	t.Helper()
	if got := count.Load(); got != want {
		t.Errorf("got %d requests, want %d", got, want)
	}
}

func TestResolve(t *testing.T) {
	createCRDs(t,
		crd{
			group: "stable.forms.example.com", plural: "crontabs", singular: "crontab", kind: "CronTab",
			shortNames: []string{"ct"}, categories: []string{"forms"}, versions: []string{"v1", "v2beta1"},
		},
		crd{
			group: "stable.forms.example.com", plural: "zugvoegel", singular: "vogel", kind: "Bird",
			categories: []string{"forms"}, versions: []string{"v1"},
		},
		crd{group: "stable.forms.example.com", plural: "get", singular: "get", kind: "Get", versions: []string{"v1"}})
	const (
		deployments = "apps/v1/deployments Deployment"
		crontabs    = "stable.forms.example.com/v1/crontabs CronTab"
		birds       = "stable.forms.example.com/v1/zugvoegel Bird"
		events      = "v1/events Event"
	)
	tests := map[string]string{
		"po": "v1/pods Pod", "pods": "v1/pods Pod", "pod": "v1/pods Pod", "Pod": "v1/pods Pod", "PODS": "v1/pods Pod", "pods.v1.": "v1/pods Pod",
		"endpoints": "v1/endpoints Endpoints",
		"deploy":    deployments, "deployments": deployments, "deployment": deployments, "Deployment": deployments,
		"deployments.apps": deployments, "deployment.v1.apps": deployments, "deployments.v1.apps": deployments, "deploy.apps": deployments, "deploy.v1.apps": deployments,
		"Deployment.apps": deployments, "Deployment.v1.apps": deployments, "deployments.app": deployments,
		"storageclass.storage": "storage.k8s.io/v1/storageclasses StorageClass",
		"hpa.v1.autoscaling":   "autoscaling/v1/horizontalpodautoscalers HorizontalPodAutoscaler",
		"hpa":                  "autoscaling/v2/horizontalpodautoscalers HorizontalPodAutoscaler",
		"events":               events, "ev": events, "Event": events,
		"events.events.k8s.io": "events.k8s.io/v1/events Event",
		"ct":                   crontabs, "crontabs": crontabs, "crontab": crontabs, "CronTab": crontabs, "cronTABS": crontabs,
		"crontabs.stable": crontabs, "ct.stable": crontabs, "crontabs.stable.forms.example.com": crontabs,
		"CronTab.v1.stable.forms.example.com":       crontabs,
		"crontabs.v2beta1.stable.forms.example.com": "stable.forms.example.com/v2beta1/crontabs CronTab",
		"ct.v2beta1.stable.forms.example.com":       "stable.forms.example.com/v2beta1/crontabs CronTab",
		"Bird":                                      birds, "bird": birds, "vogel": birds, "zugvoegel": birds, "Bird.v1.stable.forms.example.com": birds,
		"get": "stable.forms.example.com/v1/get Get",
	}
	m, count := newCountingMapper(t)
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			found := answer(t, m, name)
			if diff := cmp.Diff([]string{want}, text(found.Mappings)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if len(found.Alternatives) > 0 {
				t.Errorf("got alternatives %v, want none", text(found.Alternatives))
			}
			if found.Multiple || found.FailedGroups != nil {
				t.Errorf("got Multiple %v, failed groups %v, want false and none", found.Multiple, found.FailedGroups)
			}
		})
	}
	if diff := cmp.Diff([]string{crontabs, birds}, resolve(t, m, "forms")); diff != "" {
		t.Errorf("category: -want +got:\n%s", diff)
	}
	wantRequests(t, count, 2)
}

func TestScope(t *testing.T) {
	m, _ := newCountingMapper(t)
	for name, want := range map[string]meta.RESTScopeName{"pods": meta.RESTScopeNameNamespace, "nodes": meta.RESTScopeNameRoot} {
		found, err := m.Resolve(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if got := found.Mappings[0].Scope.Name(); got != want {
			t.Errorf("%s: got scope %s, want %s", name, got, want)
		}
	}
}

func TestCategoryAll(t *testing.T) {
	m, _ := newCountingMapper(t)
	want := []string{
		"v1/pods Pod", "v1/replicationcontrollers ReplicationController", "v1/services Service",
		"apps/v1/daemonsets DaemonSet", "apps/v1/deployments Deployment", "apps/v1/replicasets ReplicaSet",
		"apps/v1/statefulsets StatefulSet", "autoscaling/v2/horizontalpodautoscalers HorizontalPodAutoscaler",
		"batch/v1/cronjobs CronJob", "batch/v1/jobs Job",
	}
	if diff := cmp.Diff(want, resolve(t, m, "all")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestCategoryWinsOverResource(t *testing.T) {
	createCRDs(t, crd{group: "cat.example.com", plural: "all", singular: "all", kind: "All", versions: []string{"v1"}})
	m, _ := newCountingMapper(t)
	if found := resolve(t, m, "all"); len(found) < 5 {
		t.Errorf("got %v, want the resources of the category all", found)
	}
	all, err := m.Resources(t.Context(), Watch)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(all, func(r Resource) bool { return r.Name == "all.cat.example.com" }) {
		t.Error("Resources has no all.cat.example.com")
	}
}

// TestAmbiguous checks that a name in two groups always resolves to the same one.
func TestAmbiguous(t *testing.T) {
	twin := crd{plural: "twins", singular: "twin", kind: "Twin", shortNames: []string{"tw"}, versions: []string{"v1"}}
	a, b := twin, twin
	a.group, b.group = "a.twins.example.com", "b.twins.example.com"
	createCRDs(t, b, a)
	taken, other := []string{"a.twins.example.com/v1/twins Twin"}, []string{"b.twins.example.com/v1/twins Twin"}
	for range 50 {
		m, count := newCountingMapper(t)
		for _, name := range []string{"twins", "tw", "Twin", "twins."} {
			found := answer(t, m, name)
			if diff := cmp.Diff(taken, text(found.Mappings)); diff != "" {
				t.Fatalf("%s: -want +got:\n%s", name, diff)
			}
			if diff := cmp.Diff(other, text(found.Alternatives)); diff != "" {
				t.Fatalf("alternatives of %s: -want +got:\n%s", name, diff)
			}
		}
		for _, name := range []string{"tw.b.twins.example.com", "twins.b.twins.example.com", "Twin.v1.b.twins.example.com", "tw.b"} {
			found := answer(t, m, name)
			if diff := cmp.Diff(other, text(found.Mappings)); diff != "" {
				t.Fatalf("%s: -want +got:\n%s", name, diff)
			}
			if len(found.Alternatives) > 0 {
				t.Fatalf("%s: got alternatives %v, want none", name, text(found.Alternatives))
			}
		}
		wantRequests(t, count, 2)
	}
}

func TestCoreWinsSilently(t *testing.T) {
	createCRDs(t, crd{group: "a.example.com", plural: "services", singular: "service", kind: "Service", shortNames: []string{"svc"}, versions: []string{"v1"}})
	m, _ := newCountingMapper(t)
	for _, name := range []string{"services", "service", "svc", "Service", "services.v1."} {
		found := answer(t, m, name)
		if diff := cmp.Diff([]string{"v1/services Service"}, text(found.Mappings)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
		if len(found.Alternatives) > 0 {
			t.Errorf("%s: got alternatives %v, want none", name, text(found.Alternatives))
		}
	}
}

func TestCRDCreatedLater(t *testing.T) {
	m, count := newCountingMapper(t)
	resolve(t, m, "pods")
	wantRequests(t, count, 2)
	createCRDs(t, crd{group: "later.example.com", plural: "laters", singular: "later", kind: "Later", versions: []string{"v1"}})
	resolve(t, m, "laters")
	wantRequests(t, count, 4)
	resolve(t, m, "later")
	wantRequests(t, count, 4)
}

func TestUnknownNameIsDiscoveredOnce(t *testing.T) {
	m, count := newCountingMapper(t)
	for i := range int64(3) {
		if _, err := m.Resolve(t.Context(), "nonesuch"); !IsUnknown(err) {
			t.Fatal(err)
		}
		wantRequests(t, count, 2+2*i) // the first call does not repeat the discovery that it just made
	}
}

func TestInvalidate(t *testing.T) {
	gone := schema.GroupResource{Group: "gone.example.com", Resource: "gones"}
	m, count := newCountingMapper(t)
	t.Run("defined", func(t *testing.T) {
		createCRDs(t, crd{group: gone.Group, plural: gone.Resource, singular: "gone", kind: "Gone", versions: []string{"v1"}})
		resolve(t, m, "gones")
	})
	awaitServed(t, gone, false)
	resolve(t, m, "gones") // from the cache
	wantRequests(t, count, 2)
	m.Invalidate()
	if _, err := m.Resolve(t.Context(), "gones"); !IsUnknown(err) {
		t.Fatal(err)
	}
	wantRequests(t, count, 4)
}

func TestResolveCached(t *testing.T) {
	m, count := newCountingMapper(t)
	if found := m.ResolveCached("pods"); found != nil {
		t.Errorf("got %v before the first discovery, want nil", text(found))
	}
	wantRequests(t, count, 0)
	resolve(t, m, "deploy")
	m.Invalidate()
	if diff := cmp.Diff([]string{"v1/pods Pod"}, text(m.ResolveCached("po"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if found := m.ResolveCached("nonesuch"); found != nil {
		t.Errorf("got %v for an unknown name, want nil", text(found))
	}
	wantRequests(t, count, 2)
}

func TestConcurrent(t *testing.T) {
	m, count := newCountingMapper(t)
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			name := []string{"pods", "deploy", "all", "svc"}[i%4]
			if _, err := m.Resolve(t.Context(), name); err != nil {
				t.Error(err)
			}
			m.ResolveCached(name)
			if _, err := m.Resources(t.Context(), Watch); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	wantRequests(t, count, 2)
}

func TestUnwatchable(t *testing.T) {
	tests := map[string]string{
		"selfsubjectaccessreviews": `"selfsubjectaccessreviews" (authorization.k8s.io/v1) can't be watched: it allows only create`,
		"SelfSubjectAccessReview":  `"SelfSubjectAccessReview" (authorization.k8s.io/v1) can't be watched: it allows only create`,
		"componentstatuses":        `"componentstatuses" (v1) can't be watched: it allows only get and list; 'dwatch list componentstatuses' prints what exists`,
		"cs":                       `"cs" (v1) can't be watched: it allows only get and list; 'dwatch list cs' prints what exists`,
		"bindings":                 `"bindings" (v1) can't be watched: it allows only create`,
	}
	m, _ := newCountingMapper(t)
	for name, want := range tests {
		_, err := m.Resolve(t.Context(), name)
		if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if _, ok := errors.AsType[*UnwatchableError](err); !ok {
			t.Errorf("%s: got a %T, want an *UnwatchableError", name, err)
		}
	}
}

// TestUnwatchableResourceHidesNoOther checks that an unwatchable core resource does not hide a watchable resource with the
// same name.
func TestUnwatchableResourceHidesNoOther(t *testing.T) {
	createCRDs(t, crd{group: "hidden.example.com", plural: "bindings", singular: "binding", kind: "Binding", versions: []string{"v1"}})
	m, _ := newCountingMapper(t)
	for _, name := range []string{"bindings", "binding", "Binding"} {
		if diff := cmp.Diff([]string{"hidden.example.com/v1/bindings Binding"}, resolve(t, m, name)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

func TestUnknown(t *testing.T) {
	tests := []struct {
		name string
		verb bool
		want string
	}{
		{"replay", false, `the server doesn't have a resource type "replay"`}, // too different from deploy
		{"deploymets", false, `the server doesn't have a resource type "deploymets"; did you mean deployments (apps/v1)?`},
		{"Deploymets.apps", false, `the server doesn't have a resource type "Deploymets.apps"; did you mean deployments (apps/v1)?`},
		{"deployments.v1beta1.apps", false, `the server doesn't have a resource type "deployments.v1beta1.apps"; did you mean deployments (apps/v1)?`},
		{"statefullsets", false, `the server doesn't have a resource type "statefullsets"; did you mean statefulsets (apps/v1)?`},
		{"qqqqqqqq", false, `the server doesn't have a resource type "qqqqqqqq"`},
		{"logs", true, `the server doesn't have a resource type "logs": only kubectl has this command`},
		{"explain", true, `the server doesn't have a resource type "explain": dwatch explain-readiness TYPE/NAME explains why an object is ready or not; only kubectl explains fields`},
		{"version", true, `the server doesn't have a resource type "version": --version prints the version of dwatch`},
		{"describe", true, `the server doesn't have a resource type "describe": dwatch live RESOURCE... shows an object with its Events`},
		{"pods\x1b[2J", false, `the server doesn't have a resource type "pods\x1b[2J"`},
		{"podlists", false, `the server doesn't have a resource type "podlists"`},
	}
	m, _ := newCountingMapper(t)
	for _, test := range tests {
		_, err := m.Resolve(t.Context(), test.name)
		unknown, ok := errors.AsType[*UnknownError](err)
		if !ok {
			t.Errorf("%q: got a %T (%v), want an *UnknownError", test.name, err, err)
			continue
		}
		if diff := cmp.Diff(test.want, err.Error()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if (unknown.Hint != "") != test.verb {
			t.Errorf("%s: hint is %q", test.name, unknown.Hint)
		}
	}
}

// TestBrokenAggregatedAPI checks that an unreachable aggregated API server only hides its own resources.
func TestBrokenAggregatedAPI(t *testing.T) {
	create(t, apiServices, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]any{"name": "v1beta1.broken.example.com"},
		"spec": map[string]any{
			"group": "broken.example.com", "version": "v1beta1",
			"groupPriorityMinimum": int64(100), "versionPriority": int64(100), "insecureSkipTLSVerify": true,
			"service": map[string]any{"namespace": "default", "name": "nowhere"},
		},
	}})
	d := client(t, admin(t))
	broken := schema.GroupVersion{Group: "broken.example.com", Version: "v1beta1"}
	await(t, "the group in the failed groups", func() bool {
		_, _, failed, err := d.GroupsAndMaybeResourcesWithContext(t.Context())
		return err == nil && failed[broken] != nil
	})
	m, count := newCountingMapper(t)
	failedGroups := []schema.GroupVersion{broken}
	deploy := answer(t, m, "deploy")
	if diff := cmp.Diff([]string{"apps/v1/deployments Deployment"}, text(deploy.Mappings)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(failedGroups, deploy.FailedGroups); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	wantRequests(t, count, 2)
	if all, err := m.Resources(t.Context(), Watch); err != nil || len(all) == 0 {
		t.Errorf("got %d resources, %v, want some and no error", len(all), err)
	}
	// The Result of an unknown name contains the failed groups, for callers that wait for the name.
	unknown, err := m.Resolve(t.Context(), "whatever.broken.example.com")
	if diff := cmp.Diff(Result{FailedGroups: failedGroups}, unknown); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	const want = `the server doesn't have a resource type "whatever.broken.example.com"; it could not list the resources in broken.example.com/v1beta1`
	if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestDiscoveryErrors(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	wrongToken := rest.AnonymousClientConfig(admin(t))
	wrongToken.BearerToken = "wrong"
	tests := map[string]struct {
		config *rest.Config
		is     func(error) bool
	}{
		"connection refused": {&rest.Config{Host: closed.Addr().String()}, func(err error) bool {
			_, ok := errors.AsType[*net.OpError](err)
			return ok
		}},
		"unauthorized": {wrongToken, apierrors.IsUnauthorized},
		"forbidden":    {rest.AnonymousClientConfig(admin(t)), apierrors.IsForbidden},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := New(client(t, test.config))
			for _, name := range []string{"pods", "deployments.v1.apps"} {
				_, err := m.Resolve(t.Context(), name)
				if err == nil || !test.is(err) || !strings.HasPrefix(err.Error(), "discover the resources of the server: ") {
					t.Errorf("%s: got error %v", name, err)
				}
			}
			if found := m.ResolveCached("pods"); found != nil {
				t.Errorf("got %v from the cache, want nil", text(found))
			}
		})
	}
}

// TestErrorsAreNotLogged checks that errors that Resolve returns are only logged at a higher verbosity.
func TestErrorsAreNotLogged(t *testing.T) {
	m := New(client(t, &rest.Config{Host: "http://127.0.0.1:1"}))
	for verbosity, want := range map[int]bool{0: false, 2: true} {
		var logged bool
		logger := funcr.New(func(_, line string) {
			logged = logged || strings.Contains(line, "refused")
		}, funcr.Options{Verbosity: verbosity})
		if _, err := m.Resolve(klog.NewContext(t.Context(), logger), "pods"); err == nil {
			t.Fatal("got no error, but port 1 is expected to be closed")
		}
		if logged != want {
			t.Errorf("verbosity %d: logged is %v, want %v", verbosity, logged, want)
		}
	}
}

// stalledServer never answers.
type stalledServer struct{ requested chan struct{} }

func (s stalledServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requested <- struct{}{}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestContextEndsCall(t *testing.T) {
	server := stalledServer{make(chan struct{}, 10)}
	m := New(client(t, &rest.Config{Host: "http://127.0.0.1:1", Transport: server}))
	first, cancelFirst := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := m.Resolve(first, "pods"); !errors.Is(err, context.Canceled) {
			t.Errorf("first caller: got error %v, want canceled", err)
		}
	})
	<-server.requested
	// A second caller waits for the same discovery and has a shorter deadline.
	second, cancelSecond := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancelSecond()
	if _, err := m.Resolve(second, "pods"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("second caller: got error %v, want deadline exceeded", err)
	}
	cancelFirst()
	group.Wait()
}

func TestWatchableResources(t *testing.T) {
	m, count := newCountingMapper(t)
	all, err := m.Resources(t.Context(), Watch)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		want := text([]*meta.RESTMapping{r.Mapping})
		if diff := cmp.Diff(want, resolve(t, m, r.Name)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", r.Name, diff)
		}
	}
	for _, name := range []string{"pods", "deployments", "events", "events.events.k8s.io", "horizontalpodautoscalers"} {
		if !slices.ContainsFunc(all, func(r Resource) bool { return r.Name == name }) {
			t.Errorf("%s is missing", name)
		}
	}
	wantRequests(t, count, 2)
}
