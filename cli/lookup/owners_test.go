package lookup

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"dwatch/cli/cluster"
	"dwatch/mapper"
	"dwatch/watcher/object/owner"
)

// podOwners is a fake server for pods. The answer to each request can be set.
type podOwners struct {
	*OwnerLookup
	requests atomic.Int64 // for a pod
	reports  bytes.Buffer
}

// groups is the format of aggregated discovery.
const groups = `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[%s]}`

const pods = `{"metadata":{"name":""},"versions":[{"version":"v1","resources":[{"resource":"pods","singularResource":"pod","scope":"Namespaced",` +
	`"responseKind":{"group":"","version":"v1","kind":"Pod"},"verbs":["get","list","watch"]}]}]}`

func newPodOwners(t *testing.T, answer func(nth int64, w http.ResponseWriter)) *podOwners {
	t.Helper()
	p := &podOwners{}
	discovery := func(items string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			fmt.Fprintf(w, groups, items)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api", discovery(pods))
	mux.HandleFunc("/apis", discovery(""))
	mux.HandleFunc("/api/v1/namespaces/shop/pods/web", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(p.requests.Add(1), w)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	there := &cluster.Cluster{Config: &rest.Config{Host: server.URL}, HTTP: server.Client()}
	d, err := there.NewDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	client, err := New(there, mapper.New(d))
	if err != nil {
		t.Fatal(err)
	}
	p.OwnerLookup = client.NewOwnerLookup(func(resource string, err error) { fmt.Fprintf(&p.reports, "%s: %v\n", resource, err) })
	p.retry = time.Millisecond
	return p
}

func kindOf(kind, name string) owner.Ref {
	return owner.Ref{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: kind}, Namespace: "shop", Name: name}
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"no: %[1]s"}`, reason, code)
}

const webPod = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"web","namespace":"shop",` +
	`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"rs","uid":"1"}]}}`

// TestOwnersRetry checks that lookups are retried until the server answers, and that the answer is cached.
func TestOwnersRetry(t *testing.T) {
	p := newPodOwners(t, func(nth int64, w http.ResponseWriter) {
		switch nth {
		case 1:
			refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable")
		case 2:
			panic(http.ErrAbortHandler) // the connection breaks
		case 3:
			refuse(w, http.StatusInternalServerError, "InternalError")
		case 4:
			fmt.Fprint(w, webPod)
		default:
			refuse(w, http.StatusNotFound, "NotFound")
		}
	})
	rs := owner.Owner{Ref: owner.Ref{GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, Namespace: "shop", Name: "rs", UID: "1"}}
	for range 2 {
		got, err := p.Lookup(t.Context(), kindOf("Pod", "web"))
		if diff := cmp.Diff([]owner.Owner{rs}, got); err != nil || diff != "" {
			t.Errorf("got error %v, -want +got:\n%s", err, diff)
		}
	}
	if n := p.requests.Load(); n != 4 || p.reports.Len() > 0 {
		t.Errorf("got %d requests, want 4, and reports %q, want none", n, &p.reports)
	}
}

// TestOwnersDenied checks that a denial is reported once, and that lookups are not repeated at once.
func TestOwnersDenied(t *testing.T) {
	p := newPodOwners(t, func(_ int64, w http.ResponseWriter) { refuse(w, http.StatusForbidden, "Forbidden") })
	for range 3 {
		if got, err := p.Lookup(t.Context(), kindOf("Pod", "web")); err != nil || got != nil {
			t.Errorf("got %v, %v, want nil", got, err)
		}
	}
	p.denied = map[schema.GroupKind]time.Time{} // a minute later
	if _, err := p.Lookup(t.Context(), kindOf("Pod", "web")); err != nil {
		t.Errorf("got error %v after the denial expired, want nil", err)
	}
	want := "pods: no: Forbidden\n"
	if n := p.requests.Load(); n != 2 || p.reports.String() != want {
		t.Errorf("got %d requests, want 2, and reports %q, want %q", n, &p.reports, want)
	}
}

// TestOwnersEnd checks that a lookup ends with its context.
func TestOwnersEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := newPodOwners(t, func(nth int64, w http.ResponseWriter) {
		if nth == 3 {
			cancel()
		}
		refuse(w, http.StatusServiceUnavailable, "ServiceUnavailable")
	})
	if got, err := p.Lookup(ctx, kindOf("Pod", "web")); err != nil || got != nil {
		t.Errorf("got %v, %v, want nil", got, err)
	}
}

// TestOwnersOfNothing checks that there is no request for objects that can't exist.
func TestOwnersOfNothing(t *testing.T) {
	p := newPodOwners(t, func(_ int64, w http.ResponseWriter) { fmt.Fprint(w, webPod) })
	elsewhere := kindOf("Pod", "web")
	elsewhere.Namespace = "a/b"
	for _, o := range []owner.Ref{kindOf("Pod", ""), kindOf("Pod", "../pods/web"), kindOf("", "web"), kindOf("Nobody", "web"), kindOf("pods", "web"), elsewhere} {
		if got, err := p.Lookup(t.Context(), o); err != nil || got != nil {
			t.Errorf("%+v: got %v, %v, want nil", o, got, err)
		}
	}
	if n := p.requests.Load(); n != 0 {
		t.Errorf("got %d requests, want 0", n)
	}
}

// TestOwnersForget checks that the cache is bounded and keeps recently used entries.
func TestOwnersForget(t *testing.T) {
	p := newPodOwners(t, nil)
	name := func(i int) owner.Ref { return kindOf("Pod", strings.Repeat("x", i%7)+fmt.Sprint(i)) }
	for i := range 3 * maxRecent {
		p.recent.Add(name(i).NameKey(), []owner.Owner(nil))
		if _, ok := p.recall(name(0)); !ok {
			t.Fatalf("a recently used entry was evicted after %d lookups", i)
		}
	}
	if n := p.recent.Len(); n > maxRecent {
		t.Errorf("the cache has %d objects, want at most %d", n, maxRecent)
	}
	if _, ok := p.recall(name(1)); ok {
		t.Error("the cache evicted nothing")
	}
}
