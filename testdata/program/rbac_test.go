//go:build unix

package program

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestRBACIsSmallest checks that the roles printed for dwatch list allow the same command line, and that none of their resources and
// names can be left out. A list of a named object needs get, which a watch of it does not.
func TestRBACIsSmallest(t *testing.T) {
	t.Parallel()
	o := rbacObjects(t)
	for i, args := range []string{
		"cm,secrets,deploy -n NS",
		"cm,nodes -A",
		"-r sts/a,sts/b,cm,nodes/c,secrets/b -n NS",
		"rs --field-selector metadata.name=a -n NS",
		"all -n NS",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			isSmallest(t, o, "smallest-"+string(rune('a'+i)), "list "+args, isDenied)
		})
	}
}

// TestRBACOfOwners does the same for the lookups that find the owners of the subjects of Events.
func TestRBACOfOwners(t *testing.T) {
	t.Parallel()
	o := rbacObjects(t)
	const about = `
apiVersion: v1
kind: Event
metadata: {name: %[2]s}
involvedObject: {apiVersion: %[1]s, kind: %[2]s, name: gone, namespace: %[3]s, uid: "%[2]s"}
reason: Seen
message: seen
---
`
	var events strings.Builder
	for _, kind := range []string{
		"v1 Pod", "v1 ReplicationController", "apps/v1 DaemonSet", "apps/v1 Deployment", "apps/v1 ReplicaSet",
		"apps/v1 StatefulSet", "batch/v1 CronJob", "batch/v1 Job", "v1 Service",
	} {
		version, kind, _ := strings.Cut(kind, " ")
		fmt.Fprintf(&events, strings.ReplaceAll(about, "{name: %[2]s}", "{name: "+strings.ToLower(kind)+"}"), version, kind, o.namespace)
	}
	o.applyText(t, strings.TrimSuffix(events.String(), "---\n"))
	isSmallest(t, o, "owners", "events --for svc/web -n NS", func(t *testing.T, args []string) bool {
		return isDenied(t, append([]string{"list"}, args...))
	})
}

// TestRBACOfIdentity does the same for the lookup of the cluster's UID, which is part of the source of delivered events.
func TestRBACOfIdentity(t *testing.T) {
	t.Parallel()
	o := rbacObjects(t)
	o.create(t, "one")
	sources := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { sources <- r.Header.Get("Ce-Source") }))
	t.Cleanup(hook.Close)
	isSmallest(t, o, "identity", "send cm -n NS --to "+hook.URL, func(t *testing.T, args []string) bool {
		return isDenied(t, append(args, "--count", "1")) || !strings.HasPrefix(<-sources, "urn:uuid:")
	})
}

// TestRBACOfPage does the same for the page, which shows the Events about a Deployment and its pods.
func TestRBACOfPage(t *testing.T) {
	t.Parallel()
	o := rbacObjects(t)
	const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
`
	o.applyText(t, deployment)
	uid := func(what string) string {
		out, err := dwatchCmd("list", what, "-n", o.namespace, "-o", "jsonpath={.metadata.uid}").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	owned := func(text, kind, name, owner string) string {
		return fmt.Sprintf(strings.ReplaceAll(text, "{name: web}", "{name: %s, ownerReferences: [{apiVersion: apps/v1, kind: %s, name: %s, uid: %q, controller: true}]}"), name, kind, owner, uid(strings.ToLower(kind)+"/"+owner))
	}
	o.applyText(t, owned(strings.Replace(deployment, "Deployment", "ReplicaSet", 1), "Deployment", "web-1", "web"))
	o.applyText(t, owned("apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: web, image: web}]}\n", "ReplicaSet", "web-1-x", "web-1"))
	o.applyText(t, fmt.Sprintf("apiVersion: v1\nkind: Event\nmetadata: {name: seen}\ninvolvedObject: {apiVersion: v1, kind: Pod, name: web-1-x, namespace: %s, uid: %s}\nreason: Seen\nmessage: seen\n", o.namespace, uid("pod/web-1-x")))
	key := regexp.MustCompile(`"key":"([^"]*)"`)
	isSmallest(t, o, "page", "serve deploy -n NS", func(t *testing.T, args []string) bool {
		if isDenied(t, append([]string{"list"}, args[1:]...)) {
			return true // the page has no objects
		}
		p := startPiped(t, testbed.Kubeconfig, args...)
		b := p.page(t, nil)
		b.view(t).until(t, `"event":"SYNCED".*|"type":"snapshot".*"name":"web"`)
		found := key.FindStringSubmatch(b.get(t, "/api/objects"))
		if found == nil {
			t.Fatal(b.get(t, "/api/objects"))
		}
		about := b.get(t, "/api/about?key="+url.QueryEscape(found[1]))
		p.signal(os.Interrupt)
		p.waits(t)
		return !strings.Contains(about, `"reason":"Seen"`)
	})
}

func rbacObjects(t *testing.T) *objects {
	t.Helper()
	o, err := newObjects()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.leave)
	return o
}

// isSmallest checks the roles printed for the arguments in line, and each variant with one resource or name less. denied
// reports whether something is missing for a user with these roles.
func isSmallest(t *testing.T, o *objects, name, line string, denied func(t *testing.T, args []string) bool) {
	args := strings.Fields(strings.ReplaceAll(line, "NS", o.namespace))
	user := o.namespace + "-" + name
	for without := -1; ; without++ {
		as := append(slices.Clone(args), "--as", user+"-"+string(rune('b'+without)))
		roles, left := narrowed(printedRBAC(t, as), without)
		grant(t, o, roles)
		denied := denied(t, as)
		switch {
		case left != "" && !denied:
			t.Errorf("%s is not needed", left)
		case without == -1 && denied:
			t.Error("the printed roles are not enough")
		}
		if without >= 0 && left == "" {
			return // each resource and name was left out once
		}
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

// narrowed removes the resource or name with the index without from the rules, and returns it. It removes nothing and
// returns "" if the index is -1 or too high.
func narrowed(roles []unstructured.Unstructured, without int) ([]unstructured.Unstructured, string) {
	at := 0
	for _, role := range roles {
		rules, _, _ := unstructured.NestedSlice(role.Object, "rules")
		for i, rule := range rules {
			for _, list := range []string{"resources", "resourceNames"} {
				items, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), list)
				if list == "resourceNames" && len(items) == 1 {
					continue // without names the rule would allow all objects
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

// isDenied runs a dwatch that ends by itself. A missing named object does not count as denied, and an omitted Event
// does.
func isDenied(t *testing.T, args []string) bool {
	t.Helper()
	cmd := dwatchCmd(args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	err := cmd.Run()
	denied := strings.Contains(stderr.String(), "is forbidden") || strings.Contains(stderr.String(), "are left out")
	if err != nil && !denied && !strings.Contains(stderr.String(), "not found") {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	return denied
}
