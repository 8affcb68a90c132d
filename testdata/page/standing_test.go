package page

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// TestStanding checks that problems come first and all other objects are sorted by name, that rows do not move while the
// mouse is over them or a finger touches them, and that a past time has its own order.
func TestStanding(t *testing.T) {
	c, ns := setUp(t)
	patch := func(pod, status string) {
		t.Helper()
		c.kubectl(t, "", "-n", ns, "patch", "pod", pod, "--subresource=status", "-p", status)
	}
	const ready = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"ContainersReady","status":"True"}],"containerStatuses":[{"name":"nginx","image":"nginx:1.28","imageID":"","ready":true,"restartCount":0,"state":{"running":{}}}]}}`
	for _, pod := range []string{"a", "b", "c", "d"} {
		c.kubectl(t, "", "-n", ns, "run", pod, "--image", "nginx:1.28", "--overrides", `{"spec":{"nodeName":"nowhere"}}`)
		patch(pod, ready)
	}
	b := open(t, serve(t, c, "po", "-n", ns).url, look{})
	b.awaitLive()
	const names = `[...document.querySelectorAll("#list .row.object:not([hidden])")].sort((x, y) => x.getBoundingClientRect().top - y.getBoundingClientRect().top).map((r) => r.querySelector("b").textContent).join("")`
	b.await(names + ` === "abcd"`)
	patch("d", crashing)
	b.await(names + ` === "dabc"`)
	at := value[[]float64](b, `((r) => [r.left + 20, r.top + r.height / 2])(`+row("b")+`.getBoundingClientRect())`)
	b.pointAt(at[0], at[1])
	patch("c", crashing)
	b.await(row("c") + `.querySelector(".state").textContent === "CrashLoopBackOff"`)
	b.await(`document.getElementById("problems").innerText.includes("pod/c")`)
	if got := value[string](b, names); got != "dabc" {
		t.Errorf("the rows are %s while the mouse is over them", got)
	}
	b.pointAt(2, 2)
	b.await(names + ` === "cdab"`)
	patch("d", ready)
	b.await(names + ` === "cabd"`)
	finger := func(event string) {
		t.Helper()
		value[bool](b, fmt.Sprintf(`document.getElementById("list").dispatchEvent(new PointerEvent(%q, { pointerType: "touch", bubbles: true }))`, event))
	}
	finger("pointerdown")
	patch("b", crashing)
	b.await(row("b") + `.querySelector(".state").textContent === "CrashLoopBackOff"`)
	b.await(`document.getElementById("problems").innerText.includes("pod/b")`)
	if got := value[string](b, names); got != "cabd" {
		t.Errorf("the rows are %s while a finger is on them", got)
	}
	finger("pointerup")
	b.await(names + ` === "bcad"`)
	b.pointAt(at[0], at[1])
	value[bool](b, `document.getElementById("back").click() ?? true`)
	b.slide("s.min")
	b.await(`document.getElementById("watch-state").textContent === "Past" && ` + names + ` === "abcd"`)
	value[bool](b, `document.getElementById("back").click() ?? true`)
	b.awaitLive()
	b.await(names + ` === "bcad"`)
	value[bool](b, `((s) => { s.value = "name"; return s.dispatchEvent(new Event("change")); })(document.getElementById("sort"))`)
	b.await(names + ` === "abcd"`)
}

// pointAt moves the mouse.
func (b *tab) pointAt(x, y float64) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMouseMoved, X: x, Y: y}); err != nil {
		b.t.Fatal(err)
	}
}
