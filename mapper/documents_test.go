package mapper

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

// serve returns a Mapper for a server with aggregated discovery, or with the form of servers before
// 1.26. If arrived is not nil, the server calls it with the path of each request before it answers.
func serve(t *testing.T, aggregated bool, arrived func(path string)) *Mapper {
	t.Helper()
	const form = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	documents := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}}]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list","watch"]}]}`,
		"/apis/apps/v1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[
			{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["list","watch"]}]}`,
	}
	if aggregated {
		group := func(name, plural, kind string) string {
			return `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"` + name + `"},"versions":[
				{"version":"v1","resources":[{"resource":"` + plural + `","responseKind":{"kind":"` + kind + `"},"scope":"Namespaced","verbs":["list","watch"]}]}]}]}`
		}
		documents = map[string]string{"/api": group("", "pods", "Pod"), "/apis": group("apps", "deployments", "Deployment")}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if arrived != nil {
			arrived(r.URL.Path)
		}
		text, ok := documents[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if aggregated {
			w.Header().Set("Content-Type", form)
		}
		w.Write([]byte(text))
	}))
	t.Cleanup(server.Close)
	return New(client(t, &rest.Config{Host: server.URL}))
}

func TestDiscoveryForms(t *testing.T) {
	for _, aggregated := range []bool{true, false} {
		m := serve(t, aggregated, nil)
		for name, want := range map[string]string{"pods": "v1/pods Pod", "deployments": "apps/v1/deployments Deployment"} {
			if diff := cmp.Diff([]string{want}, resolve(t, m, name)); diff != "" {
				t.Errorf("aggregated %v: -want +got:\n%s", aggregated, diff)
			}
		}
	}
}

// TestDocumentsAreFetchedInParallel uses a server that does not answer the first request before the second one arrives.
func TestDocumentsAreFetchedInParallel(t *testing.T) {
	second := make(chan struct{})
	arrived := sync.OnceFunc(func() { close(second) })
	m := serve(t, true, func(path string) {
		if path == "/apis" {
			arrived()
		}
		<-second
	})
	resolve(t, m, "pods")
}

// TestUnreachableServerIsTriedOnce checks that a failed connection is not followed by a second attempt, which could take
// as long as the first.
func TestUnreachableServerIsTriedOnce(t *testing.T) {
	var count atomic.Int64
	config := &rest.Config{Host: "http://127.0.0.1:1"}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, &count} })
	if _, err := New(client(t, config)).Resolve(t.Context(), "pods"); err == nil {
		t.Fatal("got no error, but port 1 is expected to be closed")
	}
	wantRequests(t, &count, 1)
}
