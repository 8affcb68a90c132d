package page

import (
	"strings"
	"testing"
)

const webDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  minReadySeconds: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: nginx, image: "nginx:1.27"}]}
`

// TestRollout checks how a rollout appears on the page: the objects with their states, the changes in the feed, the
// owners, and the bars of the timeline.
func TestRollout(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	b := open(t, serve(t, c, "deploy,rs,po", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("web") + `.textContent.includes("2/2") && ` + row("web") + `.querySelector(".state").textContent === "Current"`)
	b.await(`document.querySelectorAll(".row.object").length === 4`)

	b.notice("progress", row("web")+`?.classList.contains("is-progress")`)
	b.notice("ended", `document.querySelectorAll("#list .row.ended:not([hidden])").length > 0`)
	c.kubectl(t, "", "-n", ns, "set", "image", "deploy/web", "nginx=nginx:1.28")
	noticed[bool](b, "progress")
	noticed[bool](b, "ended")
	b.await(row("web") + `.querySelector(".state").textContent === "Current"`)
	b.await(entry(", done"))
	b.press("/kubectl-set")
	b.await(entry("→ nginx:1.28"))
	line := value[string](b, entry("→ nginx:1.28")+`.innerText.replace(/\s+/g, " ")`)
	if !strings.Contains(line, "spec.template.spec.containers[name=nginx].image nginx:1.27 → nginx:1.28 kubectl-set") {
		t.Errorf("the feed says: %s", line)
	}
	b.press("\x1b\x1b") // clears the search, and leaves it
	b.await(row("web"))

	value[bool](b, row("web")+`.click() ?? true`)
	b.await(`document.querySelector("#detail .history")`)
	detail := value[string](b, `document.getElementById("detail").textContent`)
	for _, want := range []string{"Deployment · " + ns, "nginx:1.27 → nginx:1.28", "kubectl-set", "Conditions", "Available", "Owners and owned", "replicaset/web-", "image: nginx:1.28"} {
		if !strings.Contains(detail, want) {
			t.Errorf("the panel lacks %q:\n%s", want, detail)
		}
	}
	// A condition that was false during the rollout has a bar with several colours.
	if n := value[int](b, `document.querySelectorAll("#detail .conditions rect").length`); n < 2 {
		t.Errorf("the conditions have %d spans", n)
	}

	b.press("2")
	b.await(`document.body.dataset.view === "timeline"`)
	// The Deployment, both ReplicaSets, two existing pods, and two deleted ones.
	b.await(`document.querySelectorAll("#list .row.object:not([hidden])").length === 7`)
	if n := value[int](b, `document.querySelectorAll("#list .row.ended:not([hidden])").length`); n != 2 {
		t.Errorf("%d pods are shown as ended", n)
	}
	for _, color := range []string{"current", "progress"} {
		b.await(lanesHave(color))
	}
	// A click on a tick leads to the change.
	value[bool](b, clickTick("web"))
	b.await(`new URLSearchParams(location.search).get("at") > 0 && document.querySelector("#detail .history li.selected")`)
}

// lanesHave returns an expression for whether the canvas has a colour of the style sheet.
func lanesHave(name string) string {
	return `(() => {
  const canvas = document.getElementById("lanes");
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--` + name + `-bar").trim();
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b) return true;
  return false;
})()`
}

// clickTick returns an expression that clicks along the lane of an object until it hits a tick.
func clickTick(name string) string {
	return `(() => {
  const element = ` + row(name) + `, box = element.getBoundingClientRect();
  for (let x = box.right - 2; x > box.left + 310; x -= 3) {
    element.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: x, clientY: box.top + 10 }));
    if (new URLSearchParams(location.search).get("at") > 0) return true;
  }
  return false;
})()`
}
