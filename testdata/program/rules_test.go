//go:build unix

package program

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRulesShareWatches checks that rules with the same resource and selectors share one watch.
func TestRulesShareWatches(t *testing.T) {
	t.Parallel()
	o, _ := room(t)
	var mu sync.Mutex
	watches := map[string]int{}
	f := front{instead: func(_ http.ResponseWriter, r *http.Request) bool {
		if q := r.URL.Query(); q.Get("watch") == "true" {
			mu.Lock()
			defer mu.Unlock()
			watches[filepath.Base(r.URL.Path)+" "+q.Get("labelSelector")]++
		}
		return false
	}}
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules.yaml")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write(rules, strings.ReplaceAll(`apiVersion: dwatch/v1alpha1
kind: Rules
rules:
- {name: one, namespace: NS, resources: [cm], command: [/bin/cat]}
- {name: two, namespace: NS, resources: [secrets, configmaps], where: "type == 'ADDED'", changes: true, command: [/bin/cat]}
- {name: three, namespace: NS, resources: [configmaps.v1.], settle: 1s, command: [/bin/cat]}
- {name: labels, namespace: NS, resources: [cm], selector: "a==b", command: [/bin/cat]}
- {name: same, namespace: NS, resources: [cm], selector: a=b, command: [/bin/cat]}
`, "NS", o.namespace))
	write(filepath.Join(dir, "cm.yaml"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: seen, labels: {a: b}}}")
	p := startPiped(t, "", "send", "-f", rules, "--server", f.serve(t), "--state", filepath.Join(dir, "kept"))
	p.says(t, "^watching configmaps, secrets in namespace "+o.namespace+"$")
	p.says(t, "^watching configmaps in namespace "+o.namespace+"$")
	if err := o.apply(filepath.Join(dir, "cm.yaml"), strings.NewReplacer()); err != nil {
		t.Fatal(err)
	}
	for _, rule := range []string{"one", "two", "three", "labels", "same"} {
		p.says(t, "^rule "+rule+`: cm/seen: .*"name":"seen"`)
	}
	mu.Lock()
	defer mu.Unlock()
	want := map[string]int{"configmaps ": 1, "secrets ": 1, "configmaps a==b": 1}
	if diff := cmp.Diff(want, watches); diff != "" {
		t.Errorf("watches at the server:\n%s", diff)
	}
}
