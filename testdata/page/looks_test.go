package page

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// shopFloor has the namespaces and the ConfigMap in the screenshots. The test adds Deployments, and a pod that fails.
const shopFloor = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {level: info, currency: EUR}
`

// deployment returns the YAML of a Deployment.
func deployment(namespace, name, image string, replicas, minReady int) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s, labels: {app: %[2]s, team: store}}
spec:
  replicas: %[4]d
  minReadySeconds: %[5]d
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: {containers: [{name: %[2]s, image: "%[3]s"}]}
`, namespace, name, image, replicas, minReady)
}

// TestLooks checks that the page fits screens from a phone to 4K, and takes screenshots: UPDATE_IMAGES=1 writes them to
// docs/images, DWATCH_PICTURES=DIR to a directory.
func TestLooks(t *testing.T) {
	needBrowser(t)
	t.Parallel()
	c, err := startCluster("looks", "--controllers")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	c.kubectl(t, shopFloor+deployment("shop", "checkout", "checkout:5.1", 3, 3)+deployment("web", "front", "nginx:1.27", 3, 2)+deployment("web", "search", "search:0.9", 2, 1),
		"apply", "-f", "-")
	for _, name := range []string{"shop/checkout", "web/front", "web/search"} {
		c.await(t, name)
	}
	d := serve(t, c, "deploy,rs,po,cm", "-n", "shop,web")
	b := open(t, d.url, look{})
	b.awaitLive()
	c.kubectl(t, "", "-n", "web", "set", "image", "deploy/front", "front=nginx:1.28")
	c.kubectl(t, "", "-n", "web", "scale", "deploy/search", "--replicas=3")
	c.await(t, "web/front")
	c.patch(t, "shop", "settings", `{"data":{"level":"debug"}}`)
	c.kubectl(t, "", "-n", "shop", "run", "import-orders", "--image=import:3", "--restart=Never")
	c.kubectl(t, "", "-n", "shop", "wait", "pod/import-orders", "--for=condition=Ready", "--timeout", patience.String())
	c.kubectl(t, "", "-n", "shop", "set", "image", "deploy/checkout", "checkout=checkout:5.2")
	c.await(t, "shop/checkout")
	c.kubectl(t, "", "-n", "shop", "patch", "pod", "import-orders", "--subresource=status", "--type=merge", "-p",
		`{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}`)
	b.await(`document.querySelector("#list .is-failed")`)
	b.await(`document.getElementById("problems").innerText.includes("Evicted")`) // problems are computed once a second

	address, object := d.home+"?", "object="+b.key("front")
	b.picture("page-light", address+object, look{scale: 1.5})
	b.picture("page-dark", address+object, look{scale: 1.5, dark: true})
	b.picture("page-rollout", address+"view=timeline&kind=deployments.apps,replicasets.apps,pods", look{scale: 1.5})
	b.picture("page-rollout-dark", address+"view=timeline&kind=deployments.apps,replicasets.apps,pods", look{scale: 1.5, dark: true})
	b.picture("page-phone", address, look{width: 360, height: 740, scale: 2})
	b.picture("page-phone-dark", address+"view=timeline", look{width: 360, height: 740, scale: 2, dark: true})
	for _, l := range []look{{width: 320, height: 600}, {width: 768, height: 1024}, {width: 1024, height: 768}, {width: 2560, height: 1440}, {width: 3840, height: 2160, dark: true}} {
		for _, view := range []string{"", "view=timeline", "view=feed", object} {
			b.picture(fmt.Sprintf("%dx%d-%.9s", l.width, l.height, view), address+view, l)
		}
	}
}

// await waits until a Deployment, NAMESPACE/NAME, is rolled out.
func (c *cluster) await(t *testing.T, name string) {
	t.Helper()
	namespace, deployment := filepath.Split(name)
	c.kubectl(t, "", "-n", filepath.Clean(namespace), "rollout", "status", "deploy/"+deployment, "--timeout", patience.String())
}

// key returns the key of the object in the row with that name.
func (b *tab) key(name string) string { return value[string](b, row(name)+`.key`) }

// picture opens an address, checks that the page is not too wide, and takes a screenshot if requested.
func (b *tab) picture(name, address string, l look) {
	b.t.Helper()
	l.still = true
	b.look(l)
	b.navigate(address)
	b.await(`document.body.dataset.watch === "live" && document.querySelectorAll(".entry").length + document.querySelectorAll(".row.object").length > 3`)
	b.await(`document.querySelector(".entry")`) // earlier changes arrive a little later
	b.await(`!new URLSearchParams(location.search).get("object") || document.querySelector("#detail .yaml")`)
	wide := value[string](b, `[...document.querySelectorAll("body, main, #objects, #feed, #detail, .top, .bar")]
    .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map((e) => (e.id || e.className || e.tagName) + " " + e.scrollWidth + " > " + e.clientWidth).join(", ")`)
	if wide != "" {
		b.t.Errorf("%s: too wide: %s", name, wide)
	}
	dir := os.Getenv("DWATCH_PICTURES") // directory for all screenshots
	if os.Getenv("UPDATE_IMAGES") != "" && l.scale > 0 {
		dir = filepath.Join(root, "docs", "images")
	}
	if dir == "" {
		return
	}
	// Wait until no row is highlighted, so that screenshots are alike.
	b.await(`!document.querySelector(".fresh")`)
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
