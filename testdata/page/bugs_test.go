package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// drag moves the mouse with the left button pressed.
func (b *tab) drag(x, y, toX float64) {
	b.t.Helper()
	for _, e := range []input.DispatchMouseEventParams{
		{Type: input.DispatchMouseEventTypeMousePressed, X: x, Y: y, Buttons: 1},
		{Type: input.DispatchMouseEventTypeMouseMoved, X: (x + toX) / 2, Y: y, Buttons: 1},
		{Type: input.DispatchMouseEventTypeMouseMoved, X: toX, Y: y, Buttons: 1},
		{Type: input.DispatchMouseEventTypeMouseReleased, X: toX, Y: y},
	} {
		e.Button, e.ClickCount = input.MouseButtonLeft, 1
		if _, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, e); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestDrag checks that a drag moves the timeline and opens no object, and a click opens one.
func TestDrag(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	b.press("2")
	b.await(row("alpha"))
	b.await(lanesHave("current")) // the timeline has been rendered
	place := value[[]float64](b, `((r) => [r.right - 60, r.top + r.height / 2])(`+row("alpha")+`.getBoundingClientRect())`)
	b.drag(place[0], place[1], place[0]-200)
	b.await(`true`)
	if object := value[string](b, `new URLSearchParams(location.search).get("object") ?? ""`); object != "" {
		t.Errorf("a drag opened %s", object)
	}
	b.drag(place[0], place[1], place[0])
	b.awaitSelected("alpha")
}

// TestWrongWhereInLink checks that an invalid expression in a link is reported, and all objects are shown.
func TestWrongWhereInLink(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	d := serve(t, c, "cm", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	b.navigate(d.home + "?where=object.data.level+%3D%3D+%26%26")
	b.await(`document.getElementById("where-error").textContent`)
	b.await(row("alpha"))
}

// TestHeadStands checks that the lamp, the fields and the buttons at the top keep their places, whatever the state is.
func TestHeadStands(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	for _, l := range []look{{}, {width: 1600, height: 900}, {width: 900, height: 700}} {
		b.look(l)
		jumps := value[string](b, `import("./assets/watch.js").then((watch) => {
			const places = () => JSON.stringify([".lamp", "#q", "#where", "#pause", "#help"].map((s) => Math.round(document.querySelector(s).getBoundingClientRect().left)));
			const all = [["live", "Live", "since 10:00:00", "last event 2s ago"], ["lost", "Connection lost", "deployments.apps, replicasets.apps since 10:00:00", "last event 19m ago"],
				["down", "Page disconnected", "since 10:00:00", ""], ["paused", "Paused", "since 10:00:00", "1,200 changes waiting"]].map(([state, title, since, last]) => {
				watch.show({ state, title, since, last, down: "" });
				return places();
			});
			return new Set(all).size === 1 ? "" : all.join("\n");
		})`)
		if jumps != "" {
			t.Errorf("at %d: %s", l.width, jumps)
		}
	}
	// The name of the cluster is readable at every width.
	for _, width := range []int64{320, 360, 768, 1000, 1280, 1920} {
		b.look(look{width: width, height: 700})
		said := value[string](b, `(() => { const e = document.querySelector("#scope span"), box = e.getBoundingClientRect(); return box.width > 20 && box.right <= document.querySelector("#watch").getBoundingClientRect().left ? e.textContent : "(not seen)"; })()`)
		if said != "admin" {
			t.Errorf("at width %d the cluster is %s", width, said)
		}
	}
}

// TestWarningEvents checks that Events have no health status, and that Warnings are marked.
func TestWarningEvents(t *testing.T) {
	c, ns := setUp(t)
	event := func(name, kind string) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":%[1]q,"namespace":%[2]q},"involvedObject":{"apiVersion":"v1","kind":"Pod","name":"web","namespace":%[2]q},
			"type":%[3]q,"reason":"BackOff","message":"restarting","firstTimestamp":%[4]q,"lastTimestamp":%[4]q,"count":1}`, name, ns, kind, time.Now().UTC().Format(time.RFC3339))
	}
	c.kubectl(t, event("web.1", "Warning"), "create", "-f", "-")
	c.kubectl(t, event("web.2", "Normal"), "create", "-f", "-")
	b := open(t, serve(t, c, "events", "-n", ns).url, look{})
	b.awaitLive()
	for name, want := range map[string]string{"web.1": "Warning is-warning", "web.2": "Normal is-unknown"} {
		b.await(row(name))
		got := value[string](b, `((r) => r.querySelector(".state").textContent + " " + [...r.classList].find((c) => c.startsWith("is-")))(`+row(name)+`)`)
		if got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if n := b.text("#filters [aria-label=Show] button"); !strings.Contains(n, "0") {
		t.Errorf("an Event is counted as not ready: %s", n)
	}
}

// TestNoTokenInBrowser checks that the address without the token shows a page that explains where to find the token.
func TestNoTokenInBrowser(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).home, look{})
	b.await(`document.body`)
	if said := b.text("body"); !strings.Contains(said, "dwatch printed") || strings.Contains(said, "{") {
		t.Errorf("the browser shows: %s", said)
	}
}
