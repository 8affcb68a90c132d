package page

import (
	"strings"
	"testing"
)

// crashing is the status of a pod whose container crashes again and again.
const crashing = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"},{"type":"ContainersReady","status":"False","reason":"ContainersNotReady"}],` +
	`"containerStatuses":[{"name":"nginx","image":"nginx:1.28","imageID":"","ready":false,"restartCount":4,` +
	`"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s restarting failed container"}},"lastState":{"terminated":{"reason":"Error","exitCode":1}}}]}}`

// Above the objects stands what is wrong, once for all that belongs to one object, and after what
// it began; it leads there.
func TestProblems(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	b := open(t, serve(t, c, "deploy,rs,po", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("web") + `.textContent.includes("2/2") && ` + row("web") + `.querySelector(".state").textContent === "Current"`)
	says := `document.getElementById("problems").innerText.replace(/\s+/g, " ")`
	b.await(says + `.includes("Nothing needs a look.")`)
	c.kubectl(t, "", "-n", ns, "set", "image", "deploy/web", "nginx=nginx:1.28")
	c.kubectl(t, "", "-n", ns, "rollout", "status", "deploy/web")
	for _, name := range strings.Fields(c.kubectl(t, "", "-n", ns, "get", "pods", "-o", "name")) {
		if c.kubectl(t, "", "-n", ns, "get", name, "--ignore-not-found", "-o", "jsonpath={.spec.containers[0].image}{.metadata.deletionTimestamp}") == "nginx:1.28" {
			c.kubectl(t, "", "-n", ns, "patch", name, "--subresource=status", "-p", crashing)
		}
	}
	b.await(says + `.includes("×2")`)
	if got := value[string](b, says); !strings.Contains(got, "deployment/web") || !strings.Contains(got, "CrashLoopBackOff") || !strings.Contains(got, "exit 1") ||
		!strings.Contains(got, "since ") || !strings.Contains(got, "after kubectl-set: image nginx:1.27 → nginx:1.28") {
		t.Errorf("what needs a look: %s", got)
	}
	if got := value[string](b, `[...document.querySelectorAll("#list .row.object .state")].map((e) => e.textContent).join()`); !strings.Contains(got, "0/2 pods available") || !strings.Contains(got, "CrashLoopBackOff") {
		t.Errorf("the states: %s", got)
	}
	value[bool](b, `document.querySelector("#problems .what").click() ?? true`)
	b.await(`document.querySelector("#detail h2")?.textContent.includes("web-")`)
	value[bool](b, `document.querySelector("#problems .cause").click() ?? true`)
	b.await(`new URLSearchParams(location.search).get("at") > 0 && document.querySelector("#detail .history li.selected")?.textContent.includes("nginx:1.28")`)
}
