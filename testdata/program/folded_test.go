//go:build unix

package program

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	folding = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cart}\nspec: {replicas: 4, selector: {matchLabels: {app: cart}}, " +
		"template: {metadata: {labels: {app: cart}}, spec: {containers: [{name: cart, image: 'cart:1'}]}}}\n"
	// mostLines is the maximum number of lines that a rollout of four pods may print.
	mostLines = 25
)

// TestFolded checks the output at a terminal. It begins with the problems, the changes that follow from one cause are
// one line, and failures are printed at once. SIGUSR1 prints the current problems. The changes are also summarized if
// neither the ReplicaSets nor the Deployment are watched.
func TestFolded(t *testing.T) {
	t.Parallel()
	c := controllersBed(t)
	for _, test := range []struct {
		width                      int
		resources, rollout, failed string // rollout and failed match the end of the line
	}{
		{80, "deploy,po", `rollout done (in \d+ s|within 1 s); \d+ changes; \+4 -4 po$`, failed(`\+2 -1 po`)},
		{160, "deploy,rs,po", `rollout done (in \d+ s|within 1 s); \d+ changes; \+1 rs; \+4 -4 po$`, failed(`\+1 rs; \+2 -1 po`)},
		{80, "po", `\d+ changes followed, done (in \d+ s|within 1 s); \+4 -4 po$`, `\d+ changes followed, not done after .*(\n +.*)?CrashLoopBackOff.* ×2`},
	} {
		t.Run(test.resources, func(t *testing.T) {
			t.Parallel()
			o, err := newObjectsOn(c)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(o.leave)
			kubeconfig := filepath.Join(t.TempDir(), "config")
			if err := writeKubeconfigOf(c, kubeconfig, o.namespace); err != nil {
				t.Fatal(err)
			}
			o.applyText(t, folding)
			m := startTmux(t, test.width, 100, kubeconfig)
			m.command("clear; dwatch deploy/cart --until ready -o none -q; clear; dwatch " + test.resources)
			rollsOut(t, m, o, test.rollout)
			breaks(t, m, o, test.failed)
		})
	}
}

// rollsOut checks that a successful rollout is summarized in one line.
func rollsOut(t *testing.T, m *tmux, o *objects, rollout string) {
	m.shows(`^watching .*, con\n?text admin`)
	m.shows(`^\S+ = no problems$`)
	o.mustPatch(t, "deploy/cart", `{"spec":{"template":{"spec":{"containers":[{"name":"cart","image":"cart:2"}]}}}}`)
	m.shows(`^\S+ > deploy/cart(  |\n +)` + rollout)
	_, after, _ := strings.Cut(strings.TrimSpace(m.screen()), "no problems\n")
	if lines := strings.Count(after, "\n") + 1; lines > mostLines {
		t.Errorf("a rollout takes %d lines:\n%s", lines, after)
	}
	t.Logf("a rollout:\n%s", after)
}

// failed returns a pattern for the result of a rollout whose pods crash, with the given counts of objects. Lines may wrap at any space.
func failed(counts string) string {
	return strings.ReplaceAll(`rollout failed after \d+ s: po/cart-\S+ CrashLoopBackOff \(exit 1, 3 restarts\): no such file; \d+ changes; `+counts+`; po CrashLoopBackOff ×2`, " ", `\s+`)
}

// breaks checks that the first crash in a rollout is printed with its reason, and further ones are only counted. failed matches
// the result of the rollout.
func breaks(t *testing.T, m *tmux, o *objects, failed string) {
	o.mustPatch(t, "deploy/cart", `{"spec":{"template":{"spec":{"nodeName":"nowhere","containers":[{"name":"cart","image":"cart:3"}]}}}}`)
	pods, err := o.resource(t.Context(), "pods", o.namespace)
	if err != nil {
		t.Fatal(err)
	}
	var broken []unstructured.Unstructured
	m.until(func() bool {
		all, err := pods.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=nowhere"})
		if err != nil {
			t.Fatal(err)
		}
		broken = all.Items
		return len(broken) == 2 // one may be surplus, and one may be missing
	}, func() string { return fmt.Sprintf("there are %d new pods, want 2", len(broken)) })
	for _, restarts := range []int{1, 2, 3} {
		for _, pod := range broken {
			status := strings.NewReplacer(`"name":"web"`, `"name":"cart"`, `"restartCount":4`, fmt.Sprintf(`"restartCount":%d`, restarts)).Replace(loops(`{"exitCode":1,"reason":"Error","message":"no such file"}`))
			if err := o.patch("pods/"+pod.GetName(), `{"status":`+status+`}`); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.shows(`^\S+ [~✗◌] po/cart-\S+(  |\n +)(restarted|Failed: CrashLoopBackOff)`)
	m.shows(`^\S+ > deploy/cart(  |\n +)` + failed)
	if again := len(regexp.MustCompile(`(?m) [~✗◌] po/`).FindAllString(m.screen(), -1)); again > 2 { // one for a restart, and one for a problem
		t.Errorf("%d lines are of pods:\n%s", again, m.screen())
	}
	syscall.Kill(m.pid(), syscall.SIGUSR1)
	m.shows(`^✗ deploy/cart  CrashLoopBackOff.* ×2  since \S+`)
	t.Logf("it breaks:\n%s", m.screen())
	m.press("C-c")
	m.shows(`^(\^C)?[$#] ?$`)
}
