package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// lanesSay returns the lanes of the timeline, from top to bottom.
const lanesSay = `[...document.querySelectorAll("#list .row.object:not([hidden])")].sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
  .map((r) => r.querySelector("b").textContent.replace(/-.*/, "-") + " " + r.querySelector(".fold").textContent).join(", ").replace(/ +,/g, ",").trim()`

// TestTimelineFolds checks that objects that are not ready are at the top, and that unchanged objects are folded into
// their owner, which can be opened.
func TestTimelineFolds(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	c.await(t, ns+"/web")
	objects(t, c, ns, "alpha") // also creates the Deployment slow, which is never ready
	b := open(t, serve(t, c, "deploy,rs,po", "-n", ns).url, look{})
	b.awaitLive()
	b.press("2")
	b.await(lanesSay + `.endsWith("web + 3 quiet")`)
	if got := value[string](b, lanesSay); !strings.HasPrefix(got, "slow") {
		t.Errorf("the lanes: %s", got)
	}
	value[bool](b, row("web")+`.querySelector(".fold").click() ?? true`)
	b.await(lanesSay + `.endsWith("web − quiet, web-, web-, web-")`)
	if value[string](b, `new URLSearchParams(location.search).get("object") ?? ""`) != "" {
		t.Error("unfolding also opens the object")
	}
	value[bool](b, row("web")+`.querySelector(".fold").click() ?? true`)
	b.await(lanesSay + `.endsWith("web + 3 quiet")`)
	// A changed object is unfolded.
	pod := strings.TrimPrefix(strings.Fields(c.kubectl(t, "", "-n", ns, "get", "pods", "-l", "app=web", "-o", "name"))[0], "pod/")
	c.kubectl(t, "", "-n", ns, "annotate", "pod", pod, "note=seen")
	b.await(lanesSay + `.endsWith("web, web- + 1 quiet, web-")`)
}

// TestWarningMarks checks that Warnings are marks on the lane of their object, whether Events are watched, or dwatch
// requests those of the opened object. Normal Events are not marked.
func TestWarningMarks(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha", "beta")
	warn := func(kind, name string) {
		uid := c.kubectl(t, "", "-n", ns, "get", "cm", name, "-o", "jsonpath={.metadata.uid}")
		c.kubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"%[1]s.%[5]s","namespace":%[2]q},"involvedObject":{"apiVersion":"v1","kind":"ConfigMap","name":%[1]q,"namespace":%[2]q,"uid":%[3]q},
			"type":%[5]q,"reason":"Torn","message":"a page is missing","firstTimestamp":%[4]q,"lastTimestamp":%[4]q,"count":3}`, name, ns, uid, time.Now().UTC().Format(time.RFC3339), kind), "create", "-f", "-")
	}
	warn("Warning", "alpha")
	warn("Normal", "beta")
	const words = `[...document.querySelectorAll("#list .row.object:not([hidden])")].filter((r) => /alpha|beta/.test(r.textContent)).map((r) => r.querySelector("b").textContent + (/, (\d Warning)/.exec(r.textContent)?.[1] ?? "")).sort().join()`
	d := serve(t, c, "cm,events", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	b.navigate(d.home + "?view=timeline") // they are older than the start, and the span All includes them
	b.await(words + ` === "alpha1 Warning,beta"`)
	b.await(lanesHave("failed"))
	d = serve(t, c, "cm", "-n", ns)
	b = open(t, d.url, look{})
	b.awaitLive()
	b.navigate(d.home + "?view=timeline&span=900")
	b.await(lanesHave("current"))
	if value[bool](b, lanesHave("failed")) {
		t.Error("a Warning is marked without a request for it")
	}
	value[bool](b, row("alpha")+`.click() ?? true`)
	b.await(`document.querySelector("#detail .history .head b")?.textContent.includes("Torn")`)
	b.await(lanesHave("failed"))
}

// TestTimelineByTouch checks that two fingers zoom the timeline, one moves it, neither opens an object, and Now leads
// back.
func TestTimelineByTouch(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{width: 390, height: 844})
	b.awaitLive()
	b.press("2")
	b.await(row("alpha"))
	b.await(lanesHave("current"))
	b.await(`document.querySelector("#zoom .now").hidden && performance.now() > 8000`) // shorter timelines are always shown completely
	parameter := func(name string) float64 {
		return value[float64](b, `Number(new URLSearchParams(location.search).get("`+name+`"))`)
	}
	y := value[float64](b, `((r) => r.top + r.height - 12)(`+row("alpha")+`.getBoundingClientRect())`)
	b.touch(y, []float64{180, 200}, []float64{140, 240}, []float64{20, 360})
	if parameter("span") != 5 { // the minimum; it was at least 10 s
		t.Errorf("two fingers that move apart show %v s", parameter("span"))
	}
	b.touch(y, []float64{100}, []float64{200}, []float64{380})
	if parameter("until") == 0 {
		t.Error("a finger does not move the timeline")
	}
	b.touch(y, []float64{20, 360}, []float64{140, 240}, []float64{180, 200})
	if span := parameter("span"); span == 5 {
		t.Errorf("two fingers that move together show %v s", span)
	}
	if object := value[string](b, `new URLSearchParams(location.search).get("object") ?? ""`); object != "" {
		t.Errorf("moving fingers opened %s", object)
	}
	b.touch(y, []float64{100}, []float64{200}, []float64{380})
	value[bool](b, `document.querySelector("#zoom .now").click() ?? true`)
	b.await(`!new URLSearchParams(location.search).has("until") && document.querySelector("#zoom .now").hidden`)
}

// TestFeedMoves checks that the feed shows the time of the timeline: in a link, when the timeline is moved, and with
// Now.
func TestFeedMoves(t *testing.T) {
	c, ns := setUp(t)
	var names []string // more than fit on the screen
	for i := range 20 {
		names = append(names, fmt.Sprintf("m%02d", i))
	}
	objects(t, c, ns, names...)
	d := serve(t, c, "cm", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	const feed = `fetch("api/feed?limit=100").then((answer) => answer.json()).then((past) => past.items.filter((m) => m.changes))`
	c.kubectl(t, "", "-n", ns, "annotate", "cm", "-l", "place", "note=first")
	b.await(`document.getElementById("feed-shown").textContent === "20 changes"`)
	at := value[float64](b, feed+`.then((all) => all[0].time)`)
	c.kubectl(t, "", "-n", ns, "annotate", "cm", "-l", "place", "note=second", "--overwrite")
	b.await(`document.getElementById("feed-shown").textContent === "40 changes"`)
	const seen = `((box) => [...document.querySelectorAll("#lines .entry:not([hidden])")].filter((e) => e.getBoundingClientRect().top >= box.top - 1 && e.getBoundingClientRect().bottom <= box.bottom + 1)
		.map((e) => e.textContent).join("\n"))(document.getElementById("lines").getBoundingClientRect())`
	b.navigate(fmt.Sprintf("%s?view=timeline&span=3600&until=%.0f", d.home, at))
	b.awaitLive()
	b.await(`document.getElementById("feed-shown").textContent === "40 changes"`)
	b.await(seen + `.includes("first") && !` + seen + `.includes("second")`)
	if value[float64](b, `document.getElementById("lines").scrollTop`) == 0 {
		t.Error("the feed is at the top, and not at the time of the timeline")
	}
	b.await(`document.getElementById("lanes").width > 300`) // it has been rendered
	place := value[[]float64](b, `((r) => [r.right - 300, r.top + r.height / 2])(`+row("m00")+`.getBoundingClientRect())`)
	b.drag(place[0], place[1], place[0]+200)
	b.await(`document.getElementById("lines").scrollTop === 0 && ` + seen + `.includes("first")`)
	value[bool](b, `document.querySelector("#zoom .now").click() ?? true`)
	b.await(seen + `.includes("second") && document.getElementById("newest").hidden`)
}

// touch moves fingers at the same height from place to place.
func (b *tab) touch(y float64, places ...[]float64) {
	b.t.Helper()
	send := func(kind input.DispatchTouchEventType, xs []float64) {
		points := []*input.TouchPoint{}
		for i, x := range xs {
			points = append(points, &input.TouchPoint{X: x, Y: y, ID: new(float64(i))})
		}
		if _, err := chromedp.Call(b.ctx, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points}); err != nil {
			b.t.Fatal(err)
		}
	}
	send(input.DispatchTouchEventTypeTouchStart, places[0])
	for _, xs := range places[1:] {
		send(input.DispatchTouchEventTypeTouchMove, xs)
	}
	send(input.DispatchTouchEventTypeTouchEnd, nil)
}
