package mapper

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// These tests use discovery results that are hard to get from a real server. The tests with a
// real server are in mapper_test.go.

var (
	watchable = metav1.Verbs{"create", "delete", "get", "list", "watch"}
	readable  = metav1.Verbs{"get", "list"}
)

func group(name string, versions ...string) *metav1.APIGroup {
	g := &metav1.APIGroup{Name: name}
	for _, v := range versions {
		gv := schema.GroupVersion{Group: name, Version: v}.String()
		g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: v})
	}
	g.PreferredVersion = g.Versions[0]
	return g
}

func list(gv string, resources ...metav1.APIResource) *metav1.APIResourceList {
	return &metav1.APIResourceList{GroupVersion: gv, APIResources: resources}
}

func newResource(plural, singular, kind string, verbs metav1.Verbs, shortNames ...string) metav1.APIResource {
	return metav1.APIResource{Name: plural, SingularName: singular, Kind: kind, Verbs: verbs, ShortNames: shortNames, Namespaced: true}
}

func inCategory(category string, r metav1.APIResource) metav1.APIResource {
	r.Categories = []string{category}
	return r
}

// sampleSnapshot returns a snapshot of lists in random order, as the discovery client returns them.
func sampleSnapshot() *snapshot {
	legacy := group("legacy.example.com", "v1alpha1", "v1")
	legacy.PreferredVersion = legacy.Versions[1]
	return newSnapshot(time.Now(),
		[]*metav1.APIGroup{group("", "v1"), group("apps", "v1"), group("long.stable", "v1"), group("stable", "v1"), group("metrics", "v1"), legacy},
		[]*metav1.APIResourceList{
			list("metrics/v1", newResource("pods", "", "PodMetrics", readable), newResource("widgets", "widget", "Widget", readable, "w")),
			list("stable/v1",
				newResource("crontabs", "crontab", "CronTab", watchable, "ct"),
				newResource("deployments", "deployment", "Deployment", watchable),
				newResource("podlists", "podlist", "PodList", watchable)),
			list("long.stable/v1",
				newResource("crontabs", "crontab", "CronTab", watchable, "ct"),
				newResource("zugvoegel", "vogel", "Bird", watchable)),
			list("legacy.example.com/v1alpha1", newResource("gadgets", "gadget", "Gadget", watchable, "gg")),
			list("legacy.example.com/v1", newResource("gadgets", "gadget", "Gadget", watchable, "gg")),
			list("apps/v1",
				inCategory("dull", newResource("checks", "check", "Check", metav1.Verbs{"create"})),
				newResource("deployments", "deployment", "Deployment", watchable, "deploy"),
				newResource("deployments/scale", "deployment", "Scale", watchable),
				newResource("templates", "", "Template", watchable),
				newResource("processedtemplates", "", "Template", watchable),
				newResource("red\x1b[31m", "red", "Red", watchable)),
			list("v1",
				newResource("pods", "pod", "Pod", watchable, "po"),
				newResource("endpoints", "endpoints", "Endpoints", watchable, "ep")),
		},
		[]schema.GroupVersion{{Group: "z.example.com", Version: "v1"}, {Group: "a.example.com", Version: "v1"}})
}

func text(mappings []*meta.RESTMapping) []string {
	var texts []string
	for _, m := range mappings {
		texts = append(texts, fmt.Sprintf("%s/%s %s", m.Resource.GroupVersion(), m.Resource.Resource, m.GroupVersionKind.Kind))
	}
	return texts
}

func TestFind(t *testing.T) {
	tests := map[string]string{
		"pods":                                "v1/pods Pod",
		"endpoints":                           "v1/endpoints Endpoints", // singular and plural are the same
		"crontabs":                            "long.stable/v1/crontabs CronTab",
		"ct":                                  "long.stable/v1/crontabs CronTab",
		"crontabs.stable":                     "stable/v1/crontabs CronTab", // an exact group wins over one that only starts with it
		"crontabs.sta":                        "stable/v1/crontabs CronTab",
		"crontabs.long":                       "long.stable/v1/crontabs CronTab",
		"crontabs.v1.stable":                  "stable/v1/crontabs CronTab",
		"gadgets":                             "legacy.example.com/v1/gadgets Gadget",
		"gg.v1alpha1.legacy.example.com":      "legacy.example.com/v1alpha1/gadgets Gadget",
		"gadgets.v1alpha1.legacy.example.com": "legacy.example.com/v1alpha1/gadgets Gadget",
		"podlist":                             "stable/v1/podlists PodList", // not the type PodList, which client-go guesses
		"processedtemplates":                  "apps/v1/processedtemplates Template",
		"templates":                           "apps/v1/templates Template",
		"template":                            "apps/v1/templates Template",
		"Bird":                                "long.stable/v1/zugvoegel Bird",
		"bird":                                "long.stable/v1/zugvoegel Bird",
		"Bird.v1.long.stable":                 "long.stable/v1/zugvoegel Bird",
		"Bird.long":                           "long.stable/v1/zugvoegel Bird",
		"pods.v1.":                            "v1/pods Pod",
	}
	s := sampleSnapshot()
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{want}, text(s.resolve(name, Watch).Mappings)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAlternatives(t *testing.T) {
	stable := []string{"stable/v1/crontabs CronTab"}
	tests := map[string][]string{
		"crontabs":             stable,
		"ct":                   stable,
		"CronTab":              stable,
		"CRONTABS":             stable,
		"crontabs.stable":      nil,
		"crontabs.long.stable": nil,
		"crontabs.long":        nil,
		"crontabs.":            stable,
		"ct.v1.stable":         nil,
		"deploy":               nil,
		"deployments":          {"stable/v1/deployments Deployment"},
		"pods":                 nil,
		"nothing":              nil,
	}
	s := sampleSnapshot()
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, text(s.resolve(name, Watch).Alternatives)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	const failed = "; it could not list the resources in a.example.com/v1 and z.example.com/v1"
	tests := map[string]string{
		"widgets":           `"widgets" (metrics/v1) can't be watched: it allows only get and list; 'dwatch list widgets' prints what exists`,
		"w":                 `"w" (metrics/v1) can't be watched: it allows only get and list; 'dwatch list w' prints what exists`,
		"check":             `"check" (apps/v1) can't be watched: it allows only create`,
		"dull":              `no resource in the category "dull" can be watched`,
		"deployx":           `the server doesn't have a resource type "deployx"; did you mean deployments (apps/v1)?` + failed,
		"crontbas":          `the server doesn't have a resource type "crontbas"; did you mean crontabs (long.stable/v1) or crontabs (stable/v1)?` + failed,
		"get":               `the server doesn't have a resource type "get": dwatch RESOURCE... watches, and dwatch list RESOURCE... prints what exists` + failed,
		"red":               `the server doesn't have a resource type "red"` + failed,
		"x\x1b[2J\n":        `the server doesn't have a resource type "x\x1b[2J\n"` + failed,
		"":                  `the server doesn't have a resource type ""` + failed,
		".":                 `the server doesn't have a resource type "."` + failed,
		".apps":             `the server doesn't have a resource type ".apps"` + failed,
		"..":                `the server doesn't have a resource type ".."` + failed,
		"podslist":          `the server doesn't have a resource type "podslist"; did you mean podlists (stable/v1)?` + failed,
		"pods.v2.":          `the server doesn't have a resource type "pods.v2."; did you mean pods (v1)?` + failed,
		"deployments/scale": `the server doesn't have a resource type "deployments/scale"` + failed,
	}
	s := sampleSnapshot()
	for name, want := range tests {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			if found := s.resolve(name, Watch).Mappings; len(found) > 0 {
				t.Fatalf("got %v, want no resources", text(found))
			}
			if diff := cmp.Diff(want, s.explain(name, Watch).Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestListedNamesResolve(t *testing.T) {
	s := sampleSnapshot()
	resources := s.watchable.list()
	if len(resources) != 11 {
		t.Errorf("got %d resources, want 11", len(resources))
	}
	for _, r := range resources {
		want := text([]*meta.RESTMapping{r.Mapping})
		if diff := cmp.Diff(want, text(s.resolve(r.Name, Watch).Mappings)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", r.Name, diff)
		}
	}
}

// TestUse checks which resources a name means for what a command does with them.
func TestUse(t *testing.T) {
	get := metav1.Verbs{"get"}
	s := newSnapshot(time.Now(), []*metav1.APIGroup{group("", "v1"), group("metrics", "v1")}, []*metav1.APIResourceList{
		list("v1", newResource("pods", "pod", "Pod", watchable), newResource("statuses", "status", "Status", readable, "st"), newResource("tags", "tag", "Tag", get)),
		list("metrics/v1", newResource("pods", "", "PodMetrics", readable), newResource("nodes", "", "NodeMetrics", readable)),
	}, nil)
	for _, test := range []struct {
		name string
		use  Use
		want string
	}{
		{"pods", List, "v1/pods Pod"},
		{"pods.metrics", List, "metrics/v1/pods PodMetrics"},
		{"pods.metrics", Watch, `"pods.metrics" (metrics/v1) can't be watched: it allows only get and list; 'dwatch list pods.metrics' prints what exists`},
		{"nodes", List, "metrics/v1/nodes NodeMetrics"},
		{"st", List, "v1/statuses Status"},
		{"st", Get, "v1/statuses Status"},
		{"tags", Get, "v1/tags Tag"},
		{"tags", List, `"tags" (v1) can't be listed: it allows only get`},
		{"*", List, "v1/pods Pod"},
		{"*.metrics", List, "metrics/v1/pods PodMetrics metrics/v1/nodes NodeMetrics"},
		{"statusen", List, `the server doesn't have a resource type "statusen"; did you mean statuses (v1)?`},
	} {
		got := strings.Join(text(s.resolve(test.name, test.use).Mappings), " ")
		if got == "" {
			got = s.explain(test.name, test.use).Error()
		}
		if got != test.want {
			t.Errorf("%s for use %d: %s, want %s", test.name, test.use, got, test.want)
		}
	}
}
