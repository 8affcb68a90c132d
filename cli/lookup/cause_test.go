package lookup

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"dwatch/cli/cluster"
	"dwatch/mapper"
	testobject "dwatch/testdata/object"
	"dwatch/watcher/object/change"
)

const (
	sets = `{"metadata":{"name":"apps"},"versions":[{"version":"v1","resources":[{"resource":"replicasets","singularResource":"replicaset","scope":"Namespaced",` +
		`"responseKind":{"group":"apps","version":"v1","kind":"ReplicaSet"},"verbs":["get","list","watch"]}]}]},` +
		`{"metadata":{"name":"example.com"},"versions":[{"version":"v1","resources":[{"resource":"policies","singularResource":"policy","scope":"Namespaced",` +
		`"responseKind":{"group":"example.com","version":"v1","kind":"Policy"},"verbs":["get","list","watch"]}]}]}`
	deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","namespace":"shop","uid":"d","generation":1,"creationTimestamp":"2026-01-31T09:00:00Z"},` +
		`"spec":{"replicas":2,"selector":{"matchLabels":{"app":"web"}}},"status":{"observedGeneration":1}}`
	crashed = `"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"web","restartCount":1,"state":{"terminated":{"exitCode":1,"reason":"Error","message":%q}}}]}`
)

// shop is a fake server with fixed answers. It answers other paths with 404 if they contain one of the texts in missing, and
// otherwise with 403.
type shop struct {
	*CauseFinder
	mu       sync.Mutex
	requests []string // paths
}

func newShop(t *testing.T, masks *change.Masks, answers map[string]string, missing ...string) *shop {
	t.Helper()
	s := &shop{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		discovery := map[string]string{"/api": pods, "/apis": sets}
		if items, is := discovery[r.URL.Path]; is {
			w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			fmt.Fprintf(w, groups, items)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		for end, body := range answers {
			if strings.HasSuffix(r.URL.Path, "/"+end) {
				fmt.Fprint(w, body)
				return
			}
		}
		if slices.ContainsFunc(missing, func(part string) bool { return strings.Contains(r.URL.Path, part) }) {
			refuse(w, http.StatusNotFound, "NotFound")
			return
		}
		refuse(w, http.StatusForbidden, "Forbidden")
	}))
	t.Cleanup(server.Close)
	there := &cluster.Cluster{Config: &rest.Config{Host: server.URL, QPS: -1}, HTTP: server.Client()}
	d, err := there.NewDiscoveryClient()
	if err != nil {
		t.Fatal(err)
	}
	client, err := New(there, mapper.New(d))
	if err != nil {
		t.Fatal(err)
	}
	s.CauseFinder = client.NewCauseFinder(masks)
	return s
}

func (s *shop) cause(t *testing.T) Cause {
	t.Helper()
	return s.FindCause(t.Context(), testobject.Parse(t, deployment))
}

// lookups returns the number of objects that were requested by name since the last call.
func (s *shop) lookups() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range s.requests {
		if strings.Count(path, "/") == strings.Count("/apis/apps/v1/namespaces/shop/replicasets/a", "/") {
			n++
		}
	}
	s.requests = nil
	return n
}

func list(kind string, items ...string) string {
	return `{"apiVersion":"v1","kind":"` + kind + `","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
}

// podOf is a pod of the ReplicaSet web-HASH, that was made at a second.
func podOf(name, hash string, second int, status string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"shop","uid":"%[1]s","creationTimestamp":"2026-01-31T09:00:%02[3]dZ","labels":{"pod-template-hash":%[2]q},`+
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-%[2]s","uid":"rs-%[2]s","controller":true}]},%[4]s}`, name, hash, second, status)
}

func setOf(hash, revision, owner string) string {
	return fmt.Sprintf(`{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"web-%[1]s","namespace":"shop","uid":"rs-%[1]s","labels":{"pod-template-hash":%[1]q},"annotations":{"deployment.kubernetes.io/revision":%q},`+
		`"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":%q,"controller":true}]}}`, hash, revision, owner)
}

// TestCauseOver checks that a pod that has failed and was replaced is named only if there is no other.
func TestCauseOver(t *testing.T) {
	evicted := podOf("evicted", "a", 5, `"status":{"phase":"Failed","reason":"Evicted","message":"low on memory"}`)
	unready := podOf("unready", "a", 1, `"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False"}],"containerStatuses":[{"name":"web","ready":false,"state":{"running":{}}}]}`)
	for want, items := range map[string][]string{"po/unready": {evicted, unready}, "po/evicted": {evicted}} {
		answers := map[string]string{
			"pods": list("PodList", items...), "events": list("EventList"),
			"replicasets": list("PartialObjectMetadataList", setOf("a", "1", "d")), "replicasets/web-a": setOf("a", "1", "d"),
		}
		if got := newShop(t, nil, answers).cause(t); got.Object != want {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}

// TestCauseTemplate checks that the newest template is the one with the highest revision, even if its pods are older, or the
// one of the newest pod if ReplicaSets may not be listed.
func TestCauseTemplate(t *testing.T) {
	answers := map[string]string{
		"pods":                list("PodList", podOf("evicted", "old", 5, fmt.Sprintf(crashed, "old")), podOf("fresh", "new", 1, fmt.Sprintf(crashed, "new"))),
		"events":              list("EventList"),
		"replicasets":         list("PartialObjectMetadataList", setOf("old", "9", "d"), setOf("new", "10", "d"), setOf("other", "11", "x")),
		"replicasets/web-old": setOf("old", "9", "d"),
		"replicasets/web-new": setOf("new", "10", "d"),
	}
	s := newShop(t, nil, answers)
	if got := s.cause(t); got.Object != "po/fresh" || got.Text != "Error (exit 1, 1 restart): new" {
		t.Errorf("got %+v, want the crashed pod of the newest revision", got)
	}
	if n := s.lookups(); n != 0 {
		t.Errorf("got %d lookups of listed objects, want 0", n)
	}
	delete(answers, "replicasets")
	if got := s.cause(t); got.Object != "po/evicted" || got.Denied != nil {
		t.Errorf("without a list of ReplicaSets: got %+v, want the newest pod", got)
	}
}

// TestCauseMasks checks that causes contain no masked texts.
func TestCauseMasks(t *testing.T) {
	pattern, err := change.ParsePattern("status.containerStatuses[*].state.terminated.message")
	if err != nil {
		t.Fatal(err)
	}
	message, err := change.ParsePattern("message")
	if err != nil {
		t.Fatal(err)
	}
	s := newShop(t, &change.Masks{Paths: slices.Concat(change.Patterns{pattern}, change.Patterns{message})}, map[string]string{
		"pods":        list("PodList", podOf("a", "new", 1, fmt.Sprintf(crashed, "password"))),
		"replicasets": list("PartialObjectMetadataList", setOf("new", "1", "d")),
		"events":      list("EventList"),
	})
	if got := s.cause(t); got.Object != "po/a" || got.Text != "InProgress" && got.Text != "Failed" {
		t.Errorf("got %+v, want the pod without the masked message", got)
	}
	s = newShop(t, s.masks, map[string]string{
		"pods":        list("PodList"),
		"replicasets": list("PartialObjectMetadataList"),
		"events": list("EventList", `{"metadata":{"name":"e","namespace":"shop"},"type":"Warning","reason":"FailedCreate","message":"password",`+
			`"involvedObject":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web","uid":"d"}}`),
	})
	if got := s.cause(t); !strings.HasPrefix(got.Text, "FailedCreate: <8 bytes") {
		t.Errorf("got %+v, want the Warning with a masked message", got)
	}
}

// TestCauseLookups checks that a search makes a limited number of owner lookups, each once, and none for ready pods.
func TestCauseLookups(t *testing.T) {
	const many = maxLookups + 5
	answers := map[string]string{"events": list("EventList")}
	var all []string
	for n := range many {
		hash := fmt.Sprint("h", n)
		all = append(all, podOf(fmt.Sprint("p", n), hash, 59-n, `"status":{"phase":"Pending"}`))
		answers["replicasets/web-"+hash] = setOf(hash, "1", "another")
	}
	ready := `"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}`
	stateful := strings.NewReplacer("Deployment", "StatefulSet").Replace(deployment)
	answers["pods"] = list("PodList", append(all, podOf("ready", "ready", 0, ready))...)
	s := newShop(t, nil, answers)
	for round, want := range []int{maxLookups, many - maxLookups, 0} {
		s.FindCause(t.Context(), testobject.Parse(t, stateful))
		if n := s.lookups(); n != want {
			t.Errorf("round %d: %d lookups, want %d", round, n, want)
		}
	}
}

// TestCauseDenied checks that denied resources have the names that the server uses.
func TestCauseDenied(t *testing.T) {
	s := newShop(t, nil, map[string]string{
		"pods":        list("PodList"),
		"replicasets": list("PartialObjectMetadataList"),
		"events": list("EventList", `{"metadata":{"name":"e","namespace":"shop"},"type":"Warning","reason":"Bad","message":"x",`+
			`"involvedObject":{"apiVersion":"example.com/v1","kind":"Policy","namespace":"shop","name":"p","uid":"p"}}`),
	})
	if got := s.cause(t); !slices.Equal(got.Denied, []string{"policies"}) {
		t.Errorf("got %+v, want policies denied", got)
	}
}
