package page

import (
	"fmt"
	"testing"
	"time"
)

const (
	manyObjects = 10_000
	// perSecond changes, for so long.
	perSecond    = 200
	churnSeconds = 12
	// longestFrame is how long the page may keep the browser from drawing.
	longestFrame = 50 * time.Millisecond
)

// frames are what a browser drew in a while.
type frames struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P99   float64 `json:"p99"`
	Worst float64 `json:"worst"`
	// Work is how long the longest piece of work of the page itself took; Over how many
	// took more than a frame may.
	Work float64 `json:"work"`
	Over int     `json:"over"`
}

func (f frames) String() string {
	return fmt.Sprintf("%d frames: half within %.0f ms, 99 %% within %.0f ms, the longest %.0f ms; the page's longest work %.0f ms", f.Count, f.P50, f.P99, f.Worst, f.Work)
}

// measureFrames measures until stopFrames. What the page does between two frames is seen
// as the time from the first callback of a frame to the end of the task that follows.
const measureFrames = `(() => {
  const deltas = [], tasks = [];
  let last = performance.now(), going = true;
  const tick = (now) => { deltas.push(now - last); last = now; if (going) requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
  const observer = new PerformanceObserver((list) => list.getEntries().forEach((e) => tasks.push(e.duration)));
  observer.observe({ type: "longtask" });
  window.stopFrames = () => {
    going = false;
    observer.takeRecords().forEach((e) => tasks.push(e.duration));
    deltas.sort((a, b) => a - b);
    const at = (p) => deltas[Math.min(deltas.length - 1, Math.floor(deltas.length * p))];
    return { count: deltas.length, p50: at(0.5), p99: at(0.99), worst: deltas.at(-1), work: Math.max(0, ...tasks), over: tasks.length };
  };
  return true;
})()`

// Ten thousand objects and 200 changes a second: rows are there within a second, frames go
// on, the highlight of a change is seen, and what the tab holds is bounded.
func TestManyObjects(t *testing.T) {
	needBrowser(t)
	if testing.Short() {
		t.Skip("ten thousand objects take a minute to make")
	}
	c, err := startCluster("many")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	if err := c.run("pods", fmt.Sprint(manyObjects)); err != nil {
		t.Fatal(err)
	}
	d := serve(t, c, "po", "-A")
	warm := open(t, d.url, look{}) // dwatch has read everything when it has
	warm.await(fmt.Sprintf(`document.getElementById("shown").textContent.startsWith(%q)`, "10,000"))
	warm.navigate("about:blank")

	b := open(t, "about:blank", look{})
	b.navigate(d.url)
	b.await(`document.querySelector(".row.object")`)
	first := value[float64](b, `performance.now()`) // since the navigation; at the latest
	b.await(`document.getElementById("shown").textContent.startsWith("10,000")`)
	t.Logf("first rows within %.0f ms, all within %.0f ms", first, value[float64](b, `performance.now()`))
	if first > 1500 {
		t.Errorf("the first rows took %.0f ms", first)
	}
	if n := value[int](b, `document.querySelectorAll("*").length`); n > 3000 {
		t.Errorf("%d elements for %d objects", n, manyObjects)
	}
	for _, view := range []string{"1", "2", "3"} {
		b.press(view)
		t.Logf("view %s: %s", view, b.churn(c))
	}
	if n := value[int](b, `document.querySelectorAll("*").length`); n > 3000 {
		t.Errorf("%d elements after the changes", n)
	}
}

// churn changes pods for a while and returns how the frames were.
func (b *tab) churn(c *cluster) frames {
	b.t.Helper()
	b.await(`new Promise((done) => requestIdleCallback(() => done(true)))`)
	value[bool](b, measureFrames)
	if err := c.run("churn", fmt.Sprint(perSecond*churnSeconds), "--rate", fmt.Sprint(perSecond)); err != nil {
		b.t.Fatal(err)
	}
	f := value[frames](b, `window.stopFrames()`)
	// The machine may be busy with other things: one piece of work may be interrupted.
	if f.Over > 3 {
		b.t.Errorf("%d pieces of work took more than %v: %s", f.Over, longestFrame, f)
	}
	return f
}
