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
	// mostLines is how many lines a rollout of four pods takes.
	mostLines = 25
)

// TestFolded: at a terminal what follows a change is one line, and what goes wrong is said at once; it
// begins with what needs a look, and a signal asks for that. What stands between a Deployment and its pods need not be
// watched, nor the Deployment.
func TestFolded(t *testing.T) {
	t.Parallel()
	c := controllersBed(t)
	for _, test := range []struct {
		width              int
		resources, rollout string
	}{
		{80, "deploy,po", `rollout done (in \d+ s|within 1 s); \d+ changes; \+4 -4 po$`},
		{160, "deploy,rs,po", `rollout done (in \d+ s|within 1 s); \d+ changes; \+1 rs; \+4 -4 po$`},
		{80, "po", `\d+ changes followed, done (in \d+ s|within 1 s); \+4 -4 po$`},
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
			breaks(t, m, o)
		})
	}
}

// rollsOut: it is one line, whatever happens on the way.
func rollsOut(t *testing.T, m *tmux, o *objects, rollout string) {
	m.shows(`^watching .*, clu\n?ster admin`)
	m.shows(`^\S+ = no problems$`)
	o.mustPatch(t, "deploy/cart", `{"spec":{"template":{"spec":{"containers":[{"name":"cart","image":"cart:2"}]}}}}`)
	m.shows(`^\S+ > deploy/cart(  |\n +)` + rollout)
	_, after, _ := strings.Cut(strings.TrimSpace(m.screen()), "no problems\n")
	if lines := strings.Count(after, "\n") + 1; lines > mostLines {
		t.Errorf("a rollout takes %d lines:\n%s", lines, after)
	}
	t.Logf("a rollout:\n%s", after)
}

// breaks: the first crash of a rollout is said, with why; the others are counted.
func breaks(t *testing.T, m *tmux, o *objects) {
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
		return len(broken) == 2 // as many as may be more, and fewer
	}, func() string { return fmt.Sprintf("%d pods are new", len(broken)) })
	for _, restarts := range []int{1, 2, 3} {
		for _, pod := range broken {
			status := strings.NewReplacer(`"name":"web"`, `"name":"cart"`, `"restartCount":4`, fmt.Sprintf(`"restartCount":%d`, restarts)).Replace(loops(`{"exitCode":1,"reason":"Error","message":"no such file"}`))
			if err := o.patch("pods/"+pod.GetName(), `{"status":`+status+`}`); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.shows(`^\S+ [~✗◌] po/cart-\S+(  |\n +)(restarted|Failed: CrashLoopBackOff)`)
	m.shows(`^\S+ > deploy/cart(  |\n +)(rollout|\d+ changes followed,) not done after .*(\n +.*)?CrashLoopBackOff.* ×2`)
	if again := len(regexp.MustCompile(`(?m) [~✗◌] po/`).FindAllString(m.screen(), -1)); again > 2 { // of a restart, and of what is wrong
		t.Errorf("%d lines are of pods:\n%s", again, m.screen())
	}
	syscall.Kill(m.pid(), syscall.SIGUSR1)
	m.shows(`^✗ deploy/cart  CrashLoopBackOff.* ×2  since \S+`)
	t.Logf("it breaks:\n%s", m.screen())
	m.press("C-c")
	m.shows(`^(\^C)?[$#] ?$`)
}
