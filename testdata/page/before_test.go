package page

import (
	"strings"
	"testing"
)

// An object that was there at the start shows what happened before: who wrote what last, and how its template changed.
func TestBefore(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	c.await(t, ns+"/web")
	c.kubectl(t, "", "-n", ns, "set", "image", "deploy/web", "nginx=nginx:1.28")
	c.await(t, ns+"/web")
	b := open(t, serve(t, c, "deploy", "-n", ns).url, look{})
	b.awaitLive()
	value[bool](b, row("web")+`.click() ?? true`)
	const says = `document.querySelector('#detail section[aria-label="Before dwatch started"]:not([hidden])')?.innerText.replace(/\s+/g, " ")`
	b.await(says + `?.includes("revision 2 of the template came")`)
	got := value[string](b, says)
	for _, want := range []string{"Seen by nobody", "containers[name=nginx].image nginx:1.27 → nginx:1.28", "created", "kubectl-set", "kube-controller-manager", "holds since"} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q: %s", want, got)
		}
	}
	// What came since has no such past.
	c.kubectl(t, strings.ReplaceAll(webDeployment, "web", "later"), "apply", "-n", ns, "-f", "-")
	b.await(row("later"))
	value[bool](b, row("later")+`.click() ?? true`)
	b.await(`document.querySelector("#detail h2").textContent === "later" && document.querySelector("#detail .history")`)
	if got := value[string](b, says+` ?? ""`); got != "" {
		t.Errorf("of what came later: %s", got)
	}
}
