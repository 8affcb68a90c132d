package page

import (
	"strings"
	"testing"
)

// TestBefore checks that an object that existed at the start shows earlier writes of its managers and earlier templates.
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
	b.await(says + `?.includes("revision 2 of the template was created")`)
	got := value[string](b, says)
	for _, want := range []string{"Not observed", "containers[name=nginx].image nginx:1.27 → nginx:1.28", "created", "kubectl-set", "kube-controller-manager", "owns since"} {
		if !strings.Contains(got, want) {
			t.Errorf("the panel lacks %q: %s", want, got)
		}
	}
	// Objects created later have no such section.
	c.kubectl(t, strings.ReplaceAll(webDeployment, "web", "later"), "apply", "-n", ns, "-f", "-")
	b.await(row("later"))
	value[bool](b, row("later")+`.click() ?? true`)
	b.await(`document.querySelector("#detail h2").textContent === "later" && document.querySelector("#detail .history")`)
	if got := value[string](b, says+` ?? ""`); got != "" {
		t.Errorf("the section of the later object: %s", got)
	}
}
