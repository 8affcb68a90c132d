package page

import (
	"strings"
	"testing"
)

// TestImages checks that the ends of images are visible at a width of 1280, and that columns without values are hidden.
func TestImages(t *testing.T) {
	c, ns := setUp(t)
	image := "registry.example.com/a-team-with-a-name/shop/checkout:5.2.1"
	c.kubectl(t, strings.Replace(webDeployment, `"nginx:1.27"`, image, 1), "apply", "-n", ns, "-f", "-")
	b := open(t, serve(t, c, "deploy,po", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("web"))
	const tail = `document.querySelector("#list .cell.ends .tail")`
	b.await(tail + `?.textContent === "checkout:5.2.1"`)
	b.await(`((cell, tail) => tail.right <= cell.right + 1 && tail.width > 50)(` + tail + `.parentNode.getBoundingClientRect(), ` + tail + `.getBoundingClientRect())`)
	b.look(look{width: 1920, height: 1000}) // there is room for all columns of -o wide
	b.await(`[...document.querySelectorAll("#list .row.section .cell, #heading .cell")].some((e) => e.textContent === "Node")`)
	if heads := value[string](b, `[...document.querySelectorAll("#list .row.section .cell, #heading .cell")].map((e) => e.textContent).join()`); strings.Contains(heads, "Nominated Node") || strings.Contains(heads, "Readiness Gates") {
		t.Errorf("columns without values are shown: %s", heads)
	}
}

// TestEventRows checks that the row of an Event shows its message first, also on a phone.
func TestEventRows(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"web.1"},"type":"Warning","reason":"BackOff","message":"back-off 5m0s restarting failed container","count":3,
		"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":"`+ns+`","name":"web-x"}}`, "create", "-n", ns, "-f", "-")
	b := open(t, serve(t, c, "events", "-n", ns).url, look{})
	b.awaitLive()
	const message = `[...document.querySelectorAll("#list .row.object .cell")].find((e) => e.textContent === "back-off 5m0s restarting failed container")`
	b.await(message + `?.scrollWidth <= ` + message + `?.clientWidth`)
	b.look(look{width: 390, height: 844})
	b.await(`getComputedStyle(` + row("web.1") + `.querySelector(".last"), "::after").content.includes("BackOff: back-off 5m0s")`)
}
