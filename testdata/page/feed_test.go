package page

import (
	"fmt"
	"strings"
	"testing"
)

// TestFeedFolds checks that an intentional change is a line of the feed, its consequences are a second line that can be
// opened, and repeated changes are one line.
func TestFeedFolds(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	d := serve(t, c, "deploy,rs,po,cm,events", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	b.await(row("web") + `?.querySelector(".state").textContent === "Current"`)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "settings", "--from-literal=conf=a\nb\nc\n")
	c.patch(t, ns, "settings", `{"data":{"conf":"a\nB\nc\n"}}`)
	c.kubectl(t, "", "-n", ns, "set", "image", "deploy/web", "nginx=nginx:1.28")
	c.kubectl(t, "", "-n", ns, "rollout", "status", "deploy/web", "--timeout", patience.String())
	followed := `[...document.querySelectorAll("#lines .entry.followed:not([hidden])")].find((e) => e.previousSibling && e.textContent.includes(" followed of "))`
	b.await(followed + `?.textContent.endsWith(", done")`)
	b.await(entry("nginx:1.27 → nginx:1.28"))
	lines := value[string](b, `[...document.querySelectorAll("#lines .entry:not([hidden])")].map((e) => e.innerText.replace(/\s+/g, " ")).join("\n")`)
	if n := strings.Count(lines, "\n") + 1; n > 14 || strings.Contains(lines, "was Terminating") || strings.Contains(lines, "InProgress") {
		t.Errorf("a rollout has %d lines:\n%s", n, lines)
	}
	if !strings.Contains(lines, "-b\n") || !strings.Contains(lines, "+B\n") {
		t.Errorf("a long text is not shown by line:\n%s", lines)
	}
	t.Logf("the feed:\n%s", lines)
	if said := b.text("#feed-shown"); !strings.Contains(said, " that followed") {
		t.Errorf("above it: %s", said)
	}
	b.run(followed + `.click()`)
	b.await(`document.querySelector("#lines .entry.inner:not([hidden])")`)
	b.checkAccess("a group that is open")
	b.run(`document.querySelector("#lines .entry[aria-expanded=true]:not([hidden])").click()`)
	b.await(`!document.querySelector("#lines .entry.inner:not([hidden])")`)
	b.press("/Initialized")
	b.await(entry("Initialized") + ` && !document.querySelector("#lines .entry.followed:not([hidden])")`) // a search also finds folded changes
	b.press("\x1b\x1b")
	b.await(followed)

	c.kubectl(t, "", "-n", ns, "run", "crash", "--image=crash:1", "--restart=Never")
	c.kubectl(t, "", "-n", ns, "wait", "pod/crash", "--for=condition=Ready", "--timeout", patience.String())
	for i := range 5 {
		c.kubectl(t, "", "-n", ns, "patch", "pod", "crash", "--subresource=status", "--type=merge", "-p",
			fmt.Sprintf(`{"status":{"containerStatuses":[{"name":"crash","image":"crash:1","imageID":"","ready":false,"restartCount":%d,"started":false}]}}`, i+1))
	}
	b.await(row("crash"))
	b.run(row("crash") + `.click()`)
	b.await(`/so \d × since/.test(document.querySelector("#detail .history")?.textContent)`)
	b.picture("feed", d.home+"?object="+b.key("crash"), look{})
}

// run evaluates a statement.
func (b *tab) run(statement string) { b.t.Helper(); value[bool](b, "("+statement+", true)") }

// TestWho checks that who: finds the changes of a manager, and the objects that it has changed, also before dwatch
// started.
func TestWho(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha", "beta", "gamma")
	patch := func(name, by, level string) {
		c.kubectl(t, "", "-n", ns, "patch", "cm", name, "--field-manager="+by, "-p", `{"data":{"level":"`+level+`"}}`)
	}
	patch("gamma", "argocd-controller", "early")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	patch("alpha", "argocd-controller", "argo")
	patch("beta", "flux", "flow")
	b.await(entry("info → flow"))
	b.press("/who:argo")
	b.await("!" + row("beta") + " && " + row("alpha") + " && " + row("gamma"))
	b.await(entry("info → argo") + " && !" + entry("info → flow"))
	patch("alpha", "flux", "taken") // the store still has the change before
	b.await(`fetch("api/feed?limit=5").then((answer) => answer.json()).then((past) => past.items.some((m) => m.changes?.[0].new === "taken"))`)
	b.await(row("alpha") + " && " + row("gamma") + " && !" + row("beta"))
	b.press(strings.Repeat("\b", len("who:argo")) + "flux")
	b.await(row("beta") + " && " + row("alpha") + " && !" + row("gamma")) // the search finds managers, too
}

// TestWidths checks that the new value and the manager are visible at every width. If there is too little room, the old
// value is cut first, and then the front of the path. On a phone everything is visible, on as many lines as needed.
func TestWidths(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "deploy,cm", "-n", ns).url, look{})
	b.awaitLive()
	image := func(name string) string { return "registry.example.com/shop/" + name + ":1.0" }
	set := func(name string) {
		c.kubectl(t, "", "-n", ns, "set", "image", "deploy/slow", "main="+image(name))
	}
	set("first-that-was-there")
	set("second")
	for _, width := range []int64{1000, 1280, 1600} {
		b.look(look{width: width, height: 800})
		b.press("3")
		b.await(entry(image("second")))
		// The line is rendered for this width.
		b.await(`((e) => e && e.width === Math.floor(document.getElementById("lines").clientWidth / 7.2))(` + entry(image("second")) + `)`)
		said := value[string](b, `((e) => {
			const whole = (part) => { const box = e.querySelector(part), text = document.createRange(); text.selectNodeContents(box); return text.getBoundingClientRect().width <= box.getBoundingClientRect().width + 0.5; };
			const path = e.querySelector(".path").textContent;
			const gone = e.querySelector(".old").getBoundingClientRect().width < 9;
			return [whole(".new-value"), e.querySelector(".who").textContent, /^(spec|…).*image$/.test(path) && (whole(".path") || gone)].join();
		})(`+entry(image("second"))+`)`)
		if said != "true,kubectl-set,true" {
			t.Errorf("at %d: %s", width, said)
		}
	}
	b.look(look{width: 360, height: 740})
	b.press("3")
	told := `((all) => { const at = all.findIndex((e) => e.textContent.includes("shop/second") || e.textContent.includes("second:1.0")); return at < 0 ? "" : all.slice(Math.max(0, at - 3), at + 3).map((e) => e.querySelector(".text").textContent).join(""); })([...document.querySelectorAll("#lines .entry:not([hidden])")])`
	b.await(`(` + told + `).includes("` + image("second") + `")`)
	b.await(`(` + told + `).includes("· kubectl-set")`)
	if cut := value[string](b, `[...document.querySelectorAll("#lines .entry:not([hidden]) .text")].filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent).join("\n")`); cut != "" {
		t.Errorf("cut on a phone: %s", cut)
	}
}
