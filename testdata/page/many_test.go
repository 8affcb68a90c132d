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
	perSecond   = 200 // number of changes
	// mostHeap is the maximum memory of the page's objects and changes in MB.
	mostHeap = 120
	// longestFrame is the maximum CPU time of a task, which delays the next frame.
	longestFrame = 50 * time.Millisecond
	// mostBeforeRows is the maximum CPU time before the first rows.
	mostBeforeRows = time.Second
)

// churnFor is the duration of the changes in each view.
var churnFor = flag.Duration("churn", 3*time.Second, "how long TestManyObjects changes objects in each view")

// TestManyObjects checks the page with ten thousand objects and 200 changes per second: the first rows appear within a
// second, frames are not delayed, and the memory is limited.
func TestManyObjects(t *testing.T) {
	needBrowser(t)
	if testing.Short() {
		t.Skip("creating ten thousand objects takes a while")
	}
	t.Parallel()
	c, err := startCluster("many", "--light-pods", fmt.Sprint(manyObjects))
	if err != nil {
		t.Fatal(err)
	}
	defer c.stop()
	d := serve(t, c, "po", "-A")
	warm := open(t, d.url, look{}) // when this page has everything, so has dwatch
	warm.await(fmt.Sprintf(`document.getElementById("shown").textContent.startsWith(%q)`, "10,000"))
	warm.navigate("about:blank")

	b := openApart(t, "about:blank", look{}) // a trace includes its whole browser
	stop := b.trace()
	b.navigate(d.url)
	b.await(`document.querySelector(".row.object")`)
	first := value[float64](b, `performance.now()`) // time since the navigation, an upper limit
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
		t.Logf("view %s: %s; %s; an empty page at the same time: %s", view, w, mine(), empty())
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
	t.Logf("the page uses %.0f MB", heap.UsedSize/1e6)
	if heap.UsedSize > mostHeap*1e6 {
		t.Errorf("the page uses %.0f MB, want at most %d MB", heap.UsedSize/1e6, mostHeap)
	}
}

// changes changes pods as fast as possible until the page reports that it has dropped older changes.
func (b *tab) changes(c *cluster) {
	b.t.Helper()
	const atOnce, most = 1000, 20
	for range most {
		if strings.Contains(b.text("#feed-shown"), "older ones are not retained") {
			return
		}
		if err := c.run("churn", fmt.Sprint(atOnce)); err != nil {
			b.t.Fatal(err)
		}
	}
	b.t.Errorf("the page does not report dropped changes: %s", b.text("#feed-shown"))
}

// churn changes pods for a while, and checks that no task of the page took too long. One of thousands of tasks may take
// long because of other processes, even in CPU time, so only a second failure counts.
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
		b.t.Logf("a task took %v: %s", w.longest(), w)
	}
	b.t.Errorf("tasks took more than %v twice", longestFrame)
	return w
}
