package access

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

func needed(group, resource, name string) Permission {
	return Permission{verbs: watchVerbs, resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, name: name}
}

func TestRulesFor(t *testing.T) {
	rule := func(group, resources, names string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Fields(resources), ResourceNames: strings.Fields(names), Verbs: []string{"list", "watch"}}
	}
	for name, test := range map[string]struct {
		needs []Permission
		want  []rbacv1.PolicyRule
	}{
		"one":            {[]Permission{needed("", "pods", "")}, []rbacv1.PolicyRule{rule("", "pods", "")}},
		"one group":      {[]Permission{needed("", "pods", ""), needed("", "configmaps", "")}, []rbacv1.PolicyRule{rule("", "configmaps pods", "")}},
		"two groups":     {[]Permission{needed("b", "pods", ""), needed("a", "pods", "")}, []rbacv1.PolicyRule{rule("a", "pods", ""), rule("b", "pods", "")}},
		"twice":          {[]Permission{needed("", "pods", "a"), needed("", "pods", "a")}, []rbacv1.PolicyRule{rule("", "pods", "a")}},
		"names":          {[]Permission{needed("", "pods", "b"), needed("", "pods", "a")}, []rbacv1.PolicyRule{rule("", "pods", "a b")}},
		"same names":     {[]Permission{needed("", "pods", "a"), needed("", "secrets", "a")}, []rbacv1.PolicyRule{rule("", "pods secrets", "a")}},
		"other names":    {[]Permission{needed("", "pods", "a"), needed("", "secrets", "b")}, []rbacv1.PolicyRule{rule("", "pods", "a"), rule("", "secrets", "b")}},
		"all and a name": {[]Permission{needed("", "pods", "a"), needed("", "pods", ""), needed("", "pods", "b")}, []rbacv1.PolicyRule{rule("", "pods", "")}},
		"a quoted name":  {[]Permission{needed("", "pods", `a" "b`), needed("", "secrets", "a"), needed("", "secrets", "b")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := rulesFor(test.needs)
			for range 20 { // in any order
				rand.Shuffle(len(test.needs), func(i, j int) { test.needs[i], test.needs[j] = test.needs[j], test.needs[i] })
				if diff := cmp.Diff(got, rulesFor(test.needs)); diff != "" {
					t.Fatalf("rules depend on the order of permissions:\n%s", diff)
				}
			}
			for i := range got {
				got[i].ResourceNames = append([]string{}, got[i].ResourceNames...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" && test.want != nil {
				t.Errorf("(-want, +got):\n%s", diff)
			}
			if test.want == nil && len(got) != 2 {
				t.Errorf("permissions of different groups share a rule: %v", got)
			}
		})
	}
}

func TestSubjectOf(t *testing.T) {
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: "rbac.authorization.k8s.io", Kind: "User", Name: name}
	}
	for name, want := range map[string]rbacv1.Subject{
		"jane":                         user("jane"),
		"system:node:a":                user("system:node:a"),
		"https://login/#jane":          user("https://login/#jane"),
		"system:serviceaccount:ops:ci": {Kind: "ServiceAccount", Namespace: "ops", Name: "ci"},
		"system:serviceaccount:ops:":   user("system:serviceaccount:ops:"),
		"system:serviceaccount:ops":    user("system:serviceaccount:ops"),
		"system:serviceaccount::ci":    user("system:serviceaccount::ci"),
		"system:serviceaccount:o:c:i":  user("system:serviceaccount:o:c:i"),
		"ops:ci":                       user("ops:ci"),
	} {
		if diff := cmp.Diff(want, subjectOf(name)); diff != "" {
			t.Errorf("%s (-want, +got):\n%s", name, diff)
		}
	}
}

func TestRoleName(t *testing.T) {
	seen := map[string]bool{}
	for _, resources := range [][]string{{"pods"}, {"pods", "secrets"}, {strings.Repeat("a", 39), "b"}, {strings.Repeat("x", 253)}} {
		for _, user := range []string{"jane", "june"} {
			rules := []rbacv1.PolicyRule{{APIGroups: []string{"example.com"}, Resources: resources}}
			name := roleName(rules, subjectOf(user))
			if seen[name] {
				t.Errorf("two roles have the name %s", name)
			}
			seen[name] = true
			if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 || len(name) > 63 {
				t.Errorf("%s: %v", name, wrong)
			}
			if !regexp.MustCompile(`^dwatch-[a-z.-]*[a-z]-[0-9a-f]{8}$`).MatchString(name) {
				t.Error(name)
			}
		}
	}
}
