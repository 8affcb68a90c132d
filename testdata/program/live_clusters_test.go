//go:build unix

package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"dwatch/cli/fail"
)

// liveClusters is two clusters, eu, which all tests share, and us, with objects in namespaces of the same name. The kubeconfig
// also has asia, and down and hang, which never answer.
type liveClusters struct {
	eu, us     *objects
	more       map[string]extraCluster
	kubeconfig string
}

func newLiveClusters(t *testing.T) *liveClusters {
	t.Helper()
	eu, _ := room(t)
	f := &liveClusters{eu: eu, more: startClusters(t, "us", "asia"), kubeconfig: filepath.Join(t.TempDir(), "config")}
	var err error
	if f.us, err = newObjectsNamed(f.more["us"].Cluster, eu.namespace); err != nil {
		t.Fatal(err)
	}
	if _, err = newObjectsNamed(f.more["asia"].Cluster, eu.namespace); err != nil {
		t.Fatal(err)
	}
	if err := writeContexts(f.kubeconfig, eu.namespace, f.more); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLiveClusters tests the live table of several clusters at two widths, and the page.
func TestLiveClusters(t *testing.T) {
	t.Parallel()
	f := newLiveClusters(t)
	for _, o := range []*objects{f.eu, f.us} {
		o.applyText(t, fmt.Sprintf(liveConfigMap, "web"))
	}
	wide := startTmux(t, 160, 40, f.kubeconfig)
	wide.live("cm --context eu,us,asia,down")
	m := startTmux(t, 80, 24, f.kubeconfig)
	m.live("cm,deploy --context eu,us,hang")
	for _, s := range []*tmux{m, wide} {
		s.shows(`^   CLUSTER +(NAME|CONFIGMAPS \d+) +DATA +AGE`)
		s.shows(`^   eu +web +1 +\d+`)
		s.shows(`^   us +web +1 +\d+`)
	}
	m.shows(` ● eu  ● us  ◌ hang connecting$`)
	m.shows(`◌ 2 of 3 connected · `)
	wide.shows(` ● eu  ● us  ● asia  ✗ down not connected$`)
	wide.shows(`^ the watched resources have no health status$`) // ConfigMaps

	// A change in one cluster is shown only there.
	f.us.mustPatch(t, "configmaps/web", `{"data":{"more":"v"}}`)
	f.us.applyText(t, liveDeployment)
	for _, s := range []*tmux{m, wide} {
		s.shows(`^ ?.? +us +web +2 +\d+`)
		s.shows(`^   eu +web +1 +\d+`)
	}
	m.shows(`^◌.? us +web .*0/2`)
	m.lacks(`eu +web .*0/2`)

	// A filter expression, and the Events of an object in its own cluster.
	m.press("/")
	m.types(`where cluster == "us" && object.kind == "ConfigMap"`)
	m.press("Enter")
	m.lacks(`^   eu `)
	m.press("/", "C-u")
	m.types("us configmaps web")
	m.press("Enter")
	m.shows(`^   us +web +2 `)
	if err := f.us.warn("configmap/web", "Odd", "it is odd in us"); err != nil {
		t.Fatal(err)
	}
	m.press("e")
	m.shows(`events about us configmaps/web`)
	m.shows(`it is odd in us`)
	m.press("Escape")
	m.shows(`● eu`)
	m.press("Enter")
	m.shows(`changes of us configmaps/web`)
	m.shows(`data\.more  \+ v`)
	m.press("q", "q")

	// The page names a hanging cluster and still receives the changes of the others. A lost cluster keeps its rows.
	served := startPiped(t, f.kubeconfig, "serve", "cm/web", "--context", "eu,asia")
	page := served.page(t, nil).view(t)
	page.until(t, `"type":"clusters".*"name":"eu"[^}]*"state":"live".*"name":"asia"[^}]*"state":"live"`)
	if err := f.more["asia"].Freeze(); err != nil {
		t.Fatal(err)
	}
	f.eu.mustPatch(t, "configmaps/web", `{"data":{"more":"v"}}`)
	wide.shows(`^ ?.? +eu +web +2 +\d+`)
	page.until(t, `"event":"MODIFIED".*"cluster":"eu"`)
	page.until(t, `"type":"clusters".*"name":"asia"[^}]*"state":"lost"`)
	wide.shows(`✗ asia lost \d+s`)
	served.signal(os.Interrupt)
	served.ends(t, fail.ExitOK, `(?s).*asia: .*`)
	f.more["us"].Kill()
	wide.shows(`✗ us lost \d+s`)
	wide.shows(`(us|2 clusters) as of \d\d:\d\d:\d\d, connection lost`)
	wide.shows(`^   us +web +2 +\d+`)
	wide.press("q")
	wide.shows(`^END=0$`)
}

// TestFoldedClusters checks the output at a terminal for several clusters. It begins with the problems of each cluster,
// the changes that follow from one cause are one line with the name of the cluster, and SIGUSR1 prints the problems of
// all clusters.
func TestFoldedClusters(t *testing.T) {
	t.Parallel()
	controllers := controllersBed(t)
	config, err := clientcmd.LoadFromFile(controllers.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{80, 160} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			eu, _ := room(t)
			us, err := newObjectsNamed(controllers, eu.namespace)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(us.leave)
			kubeconfig := filepath.Join(t.TempDir(), "config")
			if err := writeContexts(kubeconfig, eu.namespace, map[string]extraCluster{"us": {controllers, config}}); err != nil {
				t.Fatal(err)
			}
			eu.applyText(t, "apiVersion: v1\nkind: Pod\nmetadata: {name: cart}\nspec: {containers: [{name: web, image: 'cart:1'}]}\n")
			eu.mustPatch(t, "pods/cart", `{"status":`+loops(`{"exitCode":1,"reason":"Error","message":"no such file"}`)+`}`)
			us.applyText(t, folding)
			m := startTmux(t, width, 100, kubeconfig)
			m.command("clear; dwatch deploy/cart --context us --until ready -o none -q; clear; dwatch deploy,rs,po --context eu,us,down")
			m.shows(`^\S+ ✗ eu po/cart  CrashLoopBackOff`)
			m.shows(`^\S+ = us: no problems$`)
			syscall.Kill(m.pid(), syscall.SIGUSR1)
			m.shows(`^✗ eu po/cart  CrashLoopBackOff`)

			before := m.screen()
			us.mustPatch(t, "deploy/cart", `{"spec":{"template":{"spec":{"containers":[{"name":"cart","image":"cart:2"}]}}}}`)
			m.shows(`^\S+ > us deploy/cart(  |\n +)rollout done (in \d+ s|within 1 s); \d+ changes; \+1 rs; \+4 -4 po$`)
			if lines := strings.Count(strings.TrimSpace(m.screen()), "\n") - strings.Count(strings.TrimSpace(before), "\n"); lines > mostLines {
				t.Errorf("a rollout takes %d lines:\n%s", lines, m.screen())
			}
			if err := eu.remove("pods/cart"); err != nil {
				t.Fatal(err)
			}
			m.shows(`^\S+ - eu po/cart`)
			syscall.Kill(m.pid(), syscall.SIGUSR1)
			m.shows(`^no problems in 2 of 3 clusters; unknown for the others$`)
			t.Logf("%s", m.screen())
			m.press("C-c")
			m.shows(`^[$#] $|^[$#]$`)
		})
	}
}
