package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	manyObjects = 10_000
	// perSecond changes, for so long.
	perSecond    = 200
	churnSeconds = 10
	// mostHeap is how many MB the objects and changes of the page may take.
	mostHeap = 120
	// longestFrame is how much work may stand before a frame.
	longestFrame = 50 * time.Millisecond
	// mostBeforeRows is how much work there may be before the first rows.
	mostBeforeRows = time.Second
)

// Ten thousand objects and 200 changes a second: rows are there within a second, frames go
// on, the highlight of a change is seen, and what the tab holds is bounded.
func TestManyObjects(t *testing.T) {
	needBrowser(t)
	if testing.Short() {
		t.Skip("ten thousand objects take a while to make")
	}
	t.Parallel()
	c, err := startCluster("many")
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	if err := c.run("pods", fmt.Sprint(manyObjects), "--light"); err != nil {
		t.Fatal(err)
	}
	d := serve(t, c, "po", "-A")
	warm := open(t, d.url, look{}) // dwatch has read everything when it has
	warm.await(fmt.Sprintf(`document.getElementById("shown").textContent.startsWith(%q)`, "10,000"))
	warm.navigate("about:blank")

	b := open(t, "about:blank", look{})
	stop := b.trace()
	b.navigate(d.url)
	b.await(`document.querySelector(".row.object")`)
	first := value[float64](b, `performance.now()`) // since the navigation; at the latest
	before := stop()
	b.await(`document.getElementById("shown").textContent.startsWith("10,000")`)
	t.Logf("first rows within %.0f ms, all within %.0f ms; until the first: %s", first, value[float64](b, `performance.now()`), before)
	if before.sum() > mostBeforeRows || len(before) == 0 {
		t.Errorf("the first rows took %v of work", before.sum())
	}
	if n := value[int](b, `document.querySelectorAll("*").length`); n > 3000 {
		t.Errorf("%d elements for %d objects", n, manyObjects)
	}
	for _, view := range []string{"1", "2", "3"} {
		b.press(view)
		t.Logf("view %s: %s", view, b.churn(c))
	}
	for _, view := range []string{"1", "2", "3"} {
		b.press(view)
		mine, empty := b.frames(), warm.frames()
		if err := c.run("churn", fmt.Sprint(perSecond*churnSeconds), "--rate", fmt.Sprint(perSecond)); err != nil {
			t.Fatal(err)
		}
		t.Logf("view %s: %s; of an empty page at the same time: %s", view, mine(), empty())
	}
	if n := value[int](b, `document.querySelectorAll("*").length`); n > 3000 {
		t.Errorf("%d elements after the changes", n)
	}
	if said := b.text("#feed-shown"); !strings.Contains(said, "older ones are not held") {
		t.Errorf("that older changes are not held is not said: %s", said)
	}
	if _, err := chromedp.Call(b.ctx, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	heap, err := chromedp.Call(b.ctx, runtime.GetHeapUsage, cdp.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the page holds %.0f MB", heap.UsedSize/1e6)
	if heap.UsedSize > mostHeap*1e6 {
		t.Errorf("the page holds %.0f MB", heap.UsedSize/1e6)
	}
}

// churn changes pods for a while, and reports what work of the page took too long. One task
// of thousands may take long because of what else happens on the machine, even in time of
// the processor: it counts if that happens again.
func (b *tab) churn(c *cluster) (w work) {
	b.t.Helper()
	for range 2 {
		stop := b.trace()
		if err := c.run("churn", fmt.Sprint(perSecond*churnSeconds), "--rate", fmt.Sprint(perSecond)); err != nil {
			b.t.Fatal(err)
		}
		if w = stop(); len(w) > 0 && w.longest() <= longestFrame {
			return w
		}
		b.t.Logf("a frame waited for %v of work: %s", w.longest(), w)
	}
	b.t.Errorf("twice a frame waited for more than %v of work", longestFrame)
	return w
}
