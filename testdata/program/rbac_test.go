package program

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRBACIsSmallest: what dwatch rbac prints is enough to list and to watch
// with the same arguments, and is not if a rule, a resource or a name is left out.
func TestRBACIsSmallest(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
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
	out, err := dwatchCmd(append([]string{"rbac", "-o", "json"}, args...)...).Output()
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
	cmd := dwatchCmd(append([]string{"list"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	denied := strings.Contains(stderr.String(), "is forbidden")
	if err != nil && !denied && !strings.Contains(stderr.String(), "not found") {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return denied
}
