package page

import (
	"flag"
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
	perSecond   = 200 // changes
	// mostHeap is how many MB the objects and changes of the page may take.
	mostHeap = 120
	// longestFrame is how much work may stand before a frame.
	longestFrame = 50 * time.Millisecond
	// mostBeforeRows is how much work there may be before the first rows.
	mostBeforeRows = time.Second
)

// churnFor is how long a view is looked at.
var churnFor = flag.Duration("churn", 3*time.Second, "how long TestManyObjects changes objects in each view")

// Ten thousand objects and 200 changes a second: rows are there within a second, frames go
// on, the highlight of a change is seen, and what the tab holds is bounded.
func TestManyObjects(t *testing.T) {
	needBrowser(t)
	if testing.Short() {
		t.Skip("ten thousand objects take a while to make")
	}
	t.Parallel()
	c, err := startCluster("many", "--light-pods", fmt.Sprint(manyObjects))
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	d := serve(t, c, "po", "-A")
	warm := open(t, d.url, look{}) // dwatch has read everything when it has
	warm.await(fmt.Sprintf(`document.getElementById("shown").textContent.startsWith(%q)`, "10,000"))
	warm.navigate("about:blank")

	b := openApart(t, "about:blank", look{}) // the trace is of all of its browser
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
		mine, empty := b.frames(), warm.frames()
		w := b.churn(c)
		t.Logf("view %s: %s; %s; of an empty page at the same time: %s", view, w, mine(), empty())
	}
	b.changes(c)
	if n := value[int](b, `document.querySelectorAll("*").length`); n > 3000 {
		t.Errorf("%d elements after the changes", n)
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

// changes changes pods as fast as it can, until the page says that it does not hold all changes.
func (b *tab) changes(c *cluster) {
	b.t.Helper()
	const atOnce, most = 1000, 20
	for range most {
		if strings.Contains(b.text("#feed-shown"), "older ones are not held") {
			return
		}
		if err := c.run("churn", fmt.Sprint(atOnce)); err != nil {
			b.t.Fatal(err)
		}
	}
	b.t.Errorf("that older changes are not held is not said: %s", b.text("#feed-shown"))
}

// churn changes pods for a while, and reports what work of the page took too long. One task
// of thousands may take long because of what else happens on the machine, even in time of
// the processor: it counts if that happens again.
func (b *tab) churn(c *cluster) (w work) {
	b.t.Helper()
	for range 2 {
		stop := b.trace()
		if err := c.run("churn", fmt.Sprint(int(perSecond*churnFor.Seconds())), "--rate", fmt.Sprint(perSecond)); err != nil {
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
