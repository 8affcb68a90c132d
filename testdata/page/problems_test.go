package page

import (
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// crashing is the status of a pod whose container crashes repeatedly.
const crashing = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"},{"type":"ContainersReady","status":"False","reason":"ContainersNotReady"}],` +
	`"containerStatuses":[{"name":"nginx","image":"nginx:1.28","imageID":"","ready":false,"restartCount":4,` +
	`"state":{"waiting":{"reason":"CrashLoopBackOff","message":"back-off 40s restarting failed container"}},"lastState":{"terminated":{"reason":"Error","exitCode":1}}}]}}`

// TestProblems checks that problems are listed above the objects, once for all objects of one owner, with their cause,
// and that they lead to the object.
func TestProblems(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	b := open(t, serve(t, c, "deploy,rs,po", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("web") + `.textContent.includes("2/2") && ` + row("web") + `.querySelector(".state").textContent === "Current"`)
	says := `document.getElementById("problems").innerText.replace(/\s+/g, " ")`
	b.await(says + `.includes("No problems.")`)
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
		t.Errorf("the problems: %s", got)
	}
	// The row of the Deployment shows how many pods are ready, and names a pod that crashes. The rows of both pods show their reason.
	b.await(row("web") + `.textContent.includes("0/2") && /^po\/web-\w+-\w+ CrashLoopBackOff$/.test(` + row("web") + `.querySelector(".state").textContent)`)
	const states = `[...document.querySelectorAll("#list .row.object .state")].map((e) => e.textContent)`
	b.await(states + `.filter((state) => state === "CrashLoopBackOff").length === 2`)
	value[bool](b, `document.querySelector("#problems .what").click() ?? true`)
	b.await(`document.querySelector("#detail h2")?.textContent.includes("web-")`)
	// The panel shows what is wrong with the containers, and the owners.
	panel := func(part string) string {
		return `document.querySelector('#detail section[aria-label="` + part + `"]')?.innerText.replace(/\s+/g, " ")`
	}
	// The changes in the ten minutes before are shown, including those of the owners, and since when dwatch has data.
	value[bool](b, `document.querySelector("#problems .leads").click() ?? true`)
	leadUp := panel("The 10 minutes before it went wrong")
	b.await(leadUp + `?.includes("image nginx:1.27 → nginx:1.28")`)
	if got := value[string](b, leadUp); !strings.Contains(got, "The object, its owners, and objects that they refer to") || !strings.Contains(got, "deployment/web") || !strings.Contains(got, "kubectl-set") || !strings.Contains(got, "dwatch has no data before ") {
		t.Errorf("what changed before: %s", got)
	}
	b.await(panel("Containers") + `?.includes("CrashLoopBackOff")`)
	if got := value[string](b, panel("Containers")); !strings.Contains(got, "nginx") || !strings.Contains(got, "4 restarts") || !strings.Contains(got, "Before: Error, exit 1") || !strings.Contains(got, "back-off 40s") {
		t.Errorf("the containers: %s", got)
	}
	if got := value[string](b, panel("Owners and owned")); !regexp.MustCompile(`deployment/web .*replicaset/web-\w+ .*pod/web-\w+-\w+ CrashLoopBackOff`).MatchString(got) {
		t.Errorf("the tree: %s", got)
	}
	value[bool](b, `document.querySelector("#detail .related button").click() ?? true`)
	b.await(`document.querySelector("#detail h2")?.textContent === "web" && [...document.querySelectorAll("#detail .related .deep2 .state")].filter((e) => e.textContent === "CrashLoopBackOff").length === 2`)
	value[bool](b, `document.querySelector("#problems .cause").click() ?? true`)
	b.await(`new URLSearchParams(location.search).get("at") > 0 && ` + chosen("nginx:1.28"))
}

// noKey is the status of a pod that needs a key which its ConfigMap lacks.
const noKey = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"False","reason":"ContainersNotReady"},{"type":"ContainersReady","status":"False","reason":"ContainersNotReady"}],` +
	`"containerStatuses":[{"name":"nginx","image":"nginx:1.28","imageID":"","ready":false,"restartCount":0,` +
	`"state":{"waiting":{"reason":"CreateContainerConfigError","message":"couldn't find key timeout in ConfigMap NAMESPACE/settings"}}}]}}`

// TestMissingKey checks that for a missing key in a ConfigMap the removal of the key is shown as a second cause, and
// leads to that change.
func TestMissingKey(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings", "--from-literal=timeout=30s", "--from-literal=theme=dark")
	b := open(t, serve(t, c, "deploy,rs,po,cm", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("settings") + ` && ` + row("web") + `.textContent.includes("2/2")`)
	c.kubectl(t, "", "-n", ns, "patch", "configmap", "settings", "--type=json", "-p", `[{"op":"remove","path":"/data/timeout"}]`)
	b.await(entry("data.timeout"))
	c.kubectl(t, "", "-n", ns, "set", "image", "deploy/web", "nginx=nginx:1.28")
	c.kubectl(t, "", "-n", ns, "rollout", "status", "deploy/web")
	for _, name := range strings.Fields(c.kubectl(t, "", "-n", ns, "get", "pods", "-o", "name")) {
		if c.kubectl(t, "", "-n", ns, "get", name, "--ignore-not-found", "-o", "jsonpath={.spec.containers[0].image}{.metadata.deletionTimestamp}") == "nginx:1.28" {
			c.kubectl(t, "", "-n", ns, "patch", name, "--subresource=status", "-p", strings.ReplaceAll(noKey, "NAMESPACE", ns))
		}
	}
	b.await(`document.querySelector("#problems .also")?.textContent.includes("configmap/settings data.timeout removed (was 30s)")`)
	b.await(`document.querySelector("#problems .cause").textContent.includes("image nginx:1.27 → nginx:1.28")`)
	b.shot("missing-key")
	value[bool](b, `document.querySelector("#problems .also").click() ?? true`)
	b.await(`document.querySelector("#detail h2")?.textContent === "settings" && ` + chosen("data.timeout"))
	// A click on the problem scrolls to its row.
	b.look(look{width: 1280, height: 500})
	value[bool](b, `document.querySelector("#problems .what").click() ?? true`)
	b.await(`document.querySelector("#list .row.selected:not([hidden]) .state")?.textContent === "CreateContainerConfigError"`)
	b.await(`((row, list) => row.top >= list.top && row.bottom <= list.bottom + 1)(document.querySelector("#list .row.selected").getBoundingClientRect(), document.getElementById("list").getBoundingClientRect())`)
}

// TestDeadline checks that a Deployment past its progress deadline is shown at every width, in the list of problems and
// in its row.
func TestDeadline(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, strings.NewReplacer("minReadySeconds: 2", "progressDeadlineSeconds: 2", "spec: {containers", "spec: {nodeName: nowhere, containers").Replace(webDeployment), "apply", "-n", ns, "-f", "-")
	d := serve(t, c, "deploy,rs,po", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	const said = "Progress deadline exceeded"
	b.await(`document.getElementById("problems").innerText.includes("` + said + `")`)
	for _, width := range []int64{1280, 1000, 360} {
		b.look(look{width: width, height: 740})
		b.await(row("web") + `.innerText.includes("` + said + `")`)
		b.await(`document.getElementById("problems").innerText.includes("deployment/web")`)
	}
}

// TestSameMoment checks that changes that dwatch received at the same time, because it was stopped, are selected
// together.
func TestSameMoment(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	d := serve(t, c, "deploy", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	b.await(row("web") + `.textContent.includes("2/2")`)
	d.signal(syscall.SIGSTOP)
	c.kubectl(t, "", "-n", ns, "set", "image", "deploy/web", "nginx=nginx:1.28")
	c.kubectl(t, "", "-n", ns, "rollout", "status", "deploy/web")
	d.signal(syscall.SIGCONT)
	b.await(live + ` && ` + entry("→ nginx:1.28"))
	value[bool](b, entry("→ nginx:1.28")+`.click() ?? true`)
	b.await(chosen("nginx:1.28"))
	// The cause is in view, and not its immediate consequence.
	b.await(`((e) => e.top >= 0 && e.bottom <= innerHeight)([...document.querySelectorAll("#detail .history li.selected")].at(-1).getBoundingClientRect())`)
}

// chosen returns an expression for whether a selected change in the panel of the object contains a text.
func chosen(text string) string {
	return `[...document.querySelectorAll("#detail .history li.selected")].some((e) => e.textContent.includes(` + quote(text) + `))`
}
