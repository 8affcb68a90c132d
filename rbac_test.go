package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

func needed(group, resource, name string) need {
	return need{resource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: resource}, name: name}
}

func TestRulesFor(t *testing.T) {
	rule := func(group, resources, names string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: strings.Fields(resources), ResourceNames: strings.Fields(names), Verbs: []string{"list", "watch"}}
	}
	for name, test := range map[string]struct {
		needs []need
		want  []rbacv1.PolicyRule
	}{
		"one":            {[]need{needed("", "pods", "")}, []rbacv1.PolicyRule{rule("", "pods", "")}},
		"one group":      {[]need{needed("", "pods", ""), needed("", "configmaps", "")}, []rbacv1.PolicyRule{rule("", "configmaps pods", "")}},
		"two groups":     {[]need{needed("b", "pods", ""), needed("a", "pods", "")}, []rbacv1.PolicyRule{rule("a", "pods", ""), rule("b", "pods", "")}},
		"twice":          {[]need{needed("", "pods", "a"), needed("", "pods", "a")}, []rbacv1.PolicyRule{rule("", "pods", "a")}},
		"names":          {[]need{needed("", "pods", "b"), needed("", "pods", "a")}, []rbacv1.PolicyRule{rule("", "pods", "a b")}},
		"same names":     {[]need{needed("", "pods", "a"), needed("", "secrets", "a")}, []rbacv1.PolicyRule{rule("", "pods secrets", "a")}},
		"other names":    {[]need{needed("", "pods", "a"), needed("", "secrets", "b")}, []rbacv1.PolicyRule{rule("", "pods", "a"), rule("", "secrets", "b")}},
		"all and a name": {[]need{needed("", "pods", "a"), needed("", "pods", ""), needed("", "pods", "b")}, []rbacv1.PolicyRule{rule("", "pods", "")}},
		"a quoted name":  {[]need{needed("", "pods", `a" "b`), needed("", "secrets", "a"), needed("", "secrets", "b")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := rulesFor(test.needs)
			for range 20 { // in any order
				rand.Shuffle(len(test.needs), func(i, j int) { test.needs[i], test.needs[j] = test.needs[j], test.needs[i] })
				if diff := cmp.Diff(got, rulesFor(test.needs)); diff != "" {
					t.Fatalf("another order, other rules:\n%s", diff)
				}
			}
			for i := range got {
				got[i].ResourceNames = append([]string{}, got[i].ResourceNames...)
			}
			if diff := cmp.Diff(test.want, got); diff != "" && test.want != nil {
				t.Errorf("(-want, +got):\n%s", diff)
			}
			if test.want == nil && len(got) != 2 {
				t.Errorf("not kept apart: %v", got)
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
				t.Errorf("%s twice", name)
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

// TestRBACIsSmallest: what --print-rbac prints is enough to list and to watch
// with the same arguments, and is not if a rule, a resource or a name is left out.
func TestRBACIsSmallest(t *testing.T) {
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.leave)
	for i, args := range []string{
		"cm,secrets,deploy -n NS",
		"cm,nodes -A",
		"-r sts/a,sts/b,cm,nodes/c,secrets/b -n NS",
		"rs --field-selector metadata.name=a -n NS",
		"all -n NS",
	} {
		t.Run(args, func(t *testing.T) {
			args := strings.Fields(strings.ReplaceAll(args, "NS", o.namespace))
			user := o.namespace + "-smallest-" + string(rune('a'+i))
			for without := -1; ; without++ {
				as := append(slices.Clone(args), "--as", user+"-"+string(rune('b'+without)))
				roles, left := narrowed(printedRBAC(t, as), without)
				grant(t, o, roles)
				denied := isDenied(t, as)
				switch {
				case left != "" && !denied:
					t.Errorf("it works without %s", left)
				case without == -1 && denied:
					t.Error("all the rules are not enough")
				}
				if without >= 0 && left == "" {
					return // all was left out once
				}
			}
		})
	}
}

func dwatchCmd(args ...string) *exec.Cmd {
	return exec.Command(filepath.Join(binaries, "dwatch"), append(args, "--kubeconfig", testbed.Kubeconfig)...)
}

func printedRBAC(t *testing.T, args []string) []unstructured.Unstructured {
	t.Helper()
	out, err := dwatchCmd(append(args, "--print-rbac", "-o", "json")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list unstructured.UnstructuredList
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// narrowed leaves out one resource or name of all the rules, and says which it
// was; none is left out where there are not so many, or of -1.
func narrowed(roles []unstructured.Unstructured, without int) ([]unstructured.Unstructured, string) {
	at := 0
	for _, role := range roles {
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		for i, rule := range rules {
			for _, list := range []string{"resources", "resourceNames"} {
				items, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), list)
				if list == "resourceNames" && len(items) == 1 {
					continue // without a name it would be a right to all
				}
				for j, item := range items {
					if at++; at != without+1 {
						continue
					}
					if len(items) == 1 {
						rules = slices.Delete(rules, i, i+1)
					} else {
						_ = unstructured.SetNestedStringSlice(rule.(map[string]any), slices.Delete(items, j, j+1), list)
					}
					_ = unstructured.SetNestedSlice(role.Object, rules, "rules")
					return roles, item
				}
			}
		}
	}
	return roles, ""
}

func grant(t *testing.T, o *objects, roles []unstructured.Unstructured) {
	t.Helper()
	for _, role := range roles {
		text, err := role.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "role.json")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := o.apply(file, strings.NewReplacer()); err != nil {
			t.Fatal(err)
		}
	}
}

// isDenied: a named object that is not there is no denial.
func isDenied(t *testing.T, args []string) bool {
	t.Helper()
	cmd := dwatchCmd(append(args, "--list")...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	denied := strings.Contains(stderr.String(), "is forbidden")
	if err != nil && !denied && !strings.Contains(stderr.String(), "not found") {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return denied
}
