package mapper

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQualifiedTakesOneRequest(t *testing.T) {
	define(t, definition{
		group: "stable.direct.example.com", plural: "zugvoegel", singular: "vogel", kind: "Bird",
		shortNames: []string{"zv"}, versions: []string{"v1", "v2beta1"},
	})
	all, _ := fresh(t)
	if _, err := all.Watchable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"deployments.v1.apps", "deployment.v1.apps", "Deployment.v1.apps", "deploy.v1.apps", "hpa.v1.autoscaling",
		"pods.v1.", "po.v1.", "nodes.v1.", "clusterroles.v1.rbac.authorization.k8s.io",
		"zugvoegel.v1.stable.direct.example.com", "vogel.v2beta1.stable.direct.example.com", "zv.v2beta1.stable.direct.example.com",
	} {
		t.Run(name, func(t *testing.T) {
			want, err := all.Resolve(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			m, count := fresh(t)
			got, err := m.Resolve(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(text(want), text(got)); diff != "" || got[0].Scope != want[0].Scope {
				t.Errorf("scope %v, want %v, -want +got:\n%s", got[0].Scope, want[0].Scope, diff)
			}
			if others := m.Alternatives(t.Context(), name); len(others) > 0 {
				t.Errorf("alternatives %v", text(others))
			}
			wantRequests(t, count, 1)
		})
	}
}

// What is no such name, or is not served, is answered as if there were no short
// cut, and as fast: by one look more.
func TestQualifiedInVain(t *testing.T) {
	define(t, definition{group: "stable.vain.example.com", plural: "vains", singular: "vain", kind: "Vain", versions: []string{"v1"}})
	all, _ := fresh(t)
	if _, err := all.Watchable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, requests := range map[string]int64{
		"vains.stable.vain.example.com": 2, "deployments.apps": 2, "deployments.v1": 2, "deployments.V1.apps": 2,
		"pods.v1..": 2, "pods.v1.%2e%2e": 2, "pods.v1.?x=": 2, ".v1.apps": 2, "deployments.v0.apps": 2,
		"deployments.v1beta1.apps": 3, "deploymets.v1.apps": 3, "storageclass.v1.storage": 3, "pods.v2.": 3,
		"selfsubjectaccessreviews.v1.authorization.k8s.io": 3, "componentstatuses.v1.": 3, "podlists.v1.": 3,
	} {
		t.Run(name, func(t *testing.T) {
			want, wantErr := all.Resolve(t.Context(), name)
			m, count := fresh(t)
			got, err := m.Resolve(t.Context(), name)
			if diff := cmp.Diff(text(want), text(got)); diff != "" || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Errorf("%v, want %v, -want +got:\n%s", err, wantErr, diff)
			}
			wantRequests(t, count, requests)
		})
	}
}

func TestNothingIsAskedTwice(t *testing.T) {
	for names, requests := range map[string]int64{
		"deployments.v1.apps,sts.v1.apps,deploy.v1.apps":                  1,
		"pods.v1.,deployments.v1.apps":                                    2,
		"pods.v1.,deployments.v1.apps,jobs.v1.batch":                      2,
		"deployments.v1.apps,pods":                                        2,
		"pods,deployments.v1.apps":                                        2,
		"pods.v1.,deployments.v1.apps,jobs.v1.batch,all,roles,Deployment": 2,
	} {
		t.Run(names, func(t *testing.T) {
			m, count := fresh(t)
			m.Prepare(strings.Split(names, ","))
			wantRequests(t, count, 0)
			for name := range strings.SplitSeq(names, ",") {
				resolve(t, m, name)
			}
			wantRequests(t, count, requests)
		})
	}
}

func TestQualifiedAtOnce(t *testing.T) {
	m, count := fresh(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := m.Resolve(t.Context(), "deployments.v1.apps"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	wantRequests(t, count, 1)
}

func TestQualifiedAfterReset(t *testing.T) {
	m, count := fresh(t)
	resolve(t, m, "deployments.v1.apps")
	m.Reset()
	resolve(t, m, "deployments.v1.apps")
	wantRequests(t, count, 2)
}

func TestRecall(t *testing.T) {
	m, count := fresh(t)
	resolve(t, m, "deployments.v1.apps")
	if found := m.Recall(t.Context(), "pods"); found != nil {
		t.Errorf("recalled %v", text(found))
	}
	resolve(t, m, "deploy")
	if diff := cmp.Diff([]string{"v1/pods Pod"}, text(m.Recall(t.Context(), "po"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if found := m.Recall(t.Context(), "nonesuch"); found != nil {
		t.Errorf("recalled %v", text(found))
	}
	wantRequests(t, count, 3)
}
