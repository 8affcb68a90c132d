package mapper

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// These tests play servers that are too odd to set up; what a real one can be
// brought to is in mapper_test.go.

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

func of(plural, singular, kind string, verbs metav1.Verbs, shortNames ...string) metav1.APIResource {
	return metav1.APIResource{Name: plural, SingularName: singular, Kind: kind, Verbs: verbs, ShortNames: shortNames, Namespaced: true}
}

func in(category string, r metav1.APIResource) metav1.APIResource {
	r.Categories = []string{category}
	return r
}

// played is out of order, as the discovery client leaves it.
func played() *snapshot {
	legacy := group("legacy.example.com", "v1alpha1", "v1")
	legacy.PreferredVersion = legacy.Versions[1]
	return newSnapshot(time.Now(),
		[]*metav1.APIGroup{group("", "v1"), group("apps", "v1"), group("long.stable", "v1"), group("stable", "v1"), group("metrics", "v1"), legacy},
		[]*metav1.APIResourceList{
			list("metrics/v1", of("pods", "", "PodMetrics", readable), of("widgets", "widget", "Widget", readable, "w")),
			list("stable/v1",
				of("crontabs", "crontab", "CronTab", watchable, "ct"),
				of("deployments", "deployment", "Deployment", watchable),
				of("podlists", "podlist", "PodList", watchable)),
			list("long.stable/v1",
				of("crontabs", "crontab", "CronTab", watchable, "ct"),
				of("zugvoegel", "vogel", "Bird", watchable)),
			list("legacy.example.com/v1alpha1", of("gadgets", "gadget", "Gadget", watchable, "gg")),
			list("legacy.example.com/v1", of("gadgets", "gadget", "Gadget", watchable, "gg")),
			list("apps/v1",
				in("dull", of("checks", "check", "Check", metav1.Verbs{"create"})),
				of("deployments", "deployment", "Deployment", watchable, "deploy"),
				of("deployments/scale", "deployment", "Scale", watchable),
				of("templates", "", "Template", watchable),
				of("processedtemplates", "", "Template", watchable),
				of("red\x1b[31m", "red", "Red", watchable)),
			list("v1",
				of("pods", "pod", "Pod", watchable, "po"),
				of("endpoints", "endpoints", "Endpoints", watchable, "ep")),
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
		"endpoints":                           "v1/endpoints Endpoints", // the singular is the plural
		"crontabs":                            "long.stable/v1/crontabs CronTab",
		"ct":                                  "long.stable/v1/crontabs CronTab",
		"crontabs.stable":                     "stable/v1/crontabs CronTab", // exact, though not the first that begins so
		"crontabs.sta":                        "stable/v1/crontabs CronTab",
		"crontabs.long":                       "long.stable/v1/crontabs CronTab",
		"crontabs.v1.stable":                  "stable/v1/crontabs CronTab",
		"gadgets":                             "legacy.example.com/v1/gadgets Gadget",
		"gg.v1alpha1.legacy.example.com":      "legacy.example.com/v1alpha1/gadgets Gadget",
		"gadgets.v1alpha1.legacy.example.com": "legacy.example.com/v1alpha1/gadgets Gadget",
		"podlist":                             "stable/v1/podlists PodList", // not the list of pods that client-go guesses
		"processedtemplates":                  "apps/v1/processedtemplates Template",
		"templates":                           "apps/v1/templates Template",
		"template":                            "apps/v1/templates Template",
		"Bird":                                "long.stable/v1/zugvoegel Bird",
		"bird":                                "long.stable/v1/zugvoegel Bird",
		"Bird.v1.long.stable":                 "long.stable/v1/zugvoegel Bird",
		"Bird.long":                           "long.stable/v1/zugvoegel Bird",
		"pods.v1.":                            "v1/pods Pod",
	}
	s := played()
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff([]string{want}, text(s.answer(name).Mappings)); diff != "" {
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
	s := played()
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, text(s.answer(name).Alternatives)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestExplain(t *testing.T) {
	const silent = "; it could not say what is in a.example.com/v1 and z.example.com/v1"
	tests := map[string]string{
		"widgets":           `"widgets" (metrics/v1) can't be watched: it allows only get and list`,
		"w":                 `"w" (metrics/v1) can't be watched: it allows only get and list`,
		"check":             `"check" (apps/v1) can't be watched: it allows only create`,
		"dull":              `nothing in the category "dull" can be watched`,
		"deployx":           `the server doesn't have a resource type "deployx"; did you mean deployments (apps/v1)?` + silent,
		"crontbas":          `the server doesn't have a resource type "crontbas"; did you mean crontabs (long.stable/v1) or crontabs (stable/v1)?` + silent,
		"get":               `the server doesn't have a resource type "get": dwatch RESOURCE... watches, and dwatch list RESOURCE... prints what exists` + silent,
		"red":               `the server doesn't have a resource type "red"` + silent,
		"x\x1b[2J\n":        `the server doesn't have a resource type "x\x1b[2J\n"` + silent,
		"":                  `the server doesn't have a resource type ""` + silent,
		".":                 `the server doesn't have a resource type "."` + silent,
		".apps":             `the server doesn't have a resource type ".apps"` + silent,
		"..":                `the server doesn't have a resource type ".."` + silent,
		"podslist":          `the server doesn't have a resource type "podslist"; did you mean podlists (stable/v1)?` + silent,
		"pods.v2.":          `the server doesn't have a resource type "pods.v2."; did you mean pods (v1)?` + silent,
		"deployments/scale": `the server doesn't have a resource type "deployments/scale"` + silent,
	}
	s := played()
	for name, want := range tests {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			if found := s.answer(name).Mappings; len(found) > 0 {
				t.Fatalf("found %v", text(found))
			}
			if diff := cmp.Diff(want, s.explain(name).Error()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestListNamesLeadBack(t *testing.T) {
	s := played()
	resources := s.watchable.list()
	if len(resources) != 11 {
		t.Errorf("%d resources", len(resources))
	}
	for _, r := range resources {
		want := text([]*meta.RESTMapping{r.Mapping})
		if diff := cmp.Diff(want, text(s.answer(r.Name).Mappings)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", r.Name, diff)
		}
	}
}
