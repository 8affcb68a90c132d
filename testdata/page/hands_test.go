package page

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

// objects creates ConfigMaps with these names, and a Deployment that never becomes ready.
func objects(t *testing.T, c *cluster, ns string, names ...string) {
	t.Helper()
	var yaml strings.Builder
	for i, name := range names {
		fmt.Fprintf(&yaml, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {place: \"%d\"}}\ndata: {level: info}\n", name, i)
	}
	yaml.WriteString(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: slow, labels: {app: slow}}
spec:
  replicas: 1
  minReadySeconds: 3600
  progressDeadlineSeconds: 7200
  selector: {matchLabels: {app: slow}}
  template:
    metadata: {labels: {app: slow}}
    spec: {containers: [{name: main, image: "main:1"}]}
`)
	c.kubectl(t, yaml.String(), "apply", "-n", ns, "-f", "-")
}

// selected is an expression for the name of the selected row.
const selected = `document.querySelector("#list .row.selected:not([hidden]) b")?.textContent`

func (b *tab) awaitSelected(name string) {
	b.t.Helper()
	b.await(fmt.Sprintf("%s === %q", selected, name))
}

// TestKeyboard checks that everything on the page can be done by keyboard.
func TestKeyboard(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha", "beta", "gamma")
	b := open(t, serve(t, c, "cm,deploy", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("slow") + `?.classList.contains("is-progress")`)

	b.press("/alpha")
	b.await(`document.activeElement.id === "q" && document.querySelectorAll("#list .row.object:not([hidden])").length === 1`)
	b.press(kb.Enter)
	b.await(`document.activeElement.id === "list"`)
	b.press(kb.ArrowDown)
	b.awaitSelected("alpha")
	b.press("/" + kb.Escape) // empties the search
	b.await(row("beta"))
	b.press(kb.Escape) // leaves the search
	b.await(`document.activeElement.id === "list"`)
	b.press(kb.ArrowDown)
	b.awaitSelected("beta")
	b.press("k")
	b.awaitSelected("alpha")
	b.press("G")
	b.awaitSelected("slow")
	b.press("g")
	b.await(selected + ` === document.querySelector("#list .row.object b").textContent`)
	b.press("G")
	b.awaitSelected("slow")
	b.press(kb.Enter)
	b.await(`document.activeElement === document.querySelector("#detail h2") && document.activeElement.textContent === "slow"`)
	b.press(kb.Escape)
	b.await(`document.getElementById("detail").hidden && document.activeElement.id === "list"`)
	b.press("n")
	b.await(`!` + row("alpha") + ` && ` + row("slow") + ` && document.querySelector("#filters [aria-pressed=true]").textContent.includes("Not ready")`)
	b.press("n")
	b.await(row("alpha"))
	for key, view := range map[string]string{"2": "timeline", "3": "feed", "1": "table"} {
		b.press(key)
		b.await(fmt.Sprintf("document.body.dataset.view === %q", view))
	}
	b.press("?")
	b.await(`document.getElementById("keys").open`)
	b.press(kb.Escape)
	b.await(`!document.getElementById("keys").open`)
	b.press("w")
	b.await(`document.activeElement.id === "where"`)
}

// TestViewsByMouse checks that each view can be reached from each other one without a keyboard.
func TestViewsByMouse(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "deploy,cm", "-n", ns).url, look{})
	b.awaitLive()
	for _, l := range []look{{}, {width: 900, height: 700}, {width: 360, height: 740}} {
		b.look(l)
		for _, view := range []string{"feed", "table", "timeline", "feed", "timeline", "table"} {
			seen := fmt.Sprintf(`[...document.querySelectorAll("button[value=%s]")].find((e) => e.checkVisibility() && e.getBoundingClientRect().height > 20)`, view)
			b.await(seen)
			value[bool](b, seen+`.click() ?? true`)
			b.await(fmt.Sprintf(`document.body.dataset.view === %q`, view))
			shown := map[string]string{"feed": "lines", "table": "list", "timeline": "list"}[view]
			b.await(fmt.Sprintf(`document.getElementById(%q).clientHeight > 100`, shown))
		}
	}
}

// TestNamesInFeed checks that names in the feed are never cut, however long the rest of the line is. On a phone the name
// has its own line.
func TestNamesInFeed(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	c.patch(t, ns, "alpha", `{"data":{"level":"`+strings.Repeat("long ", 100)+`"}}`)
	for _, l := range []look{{width: 360, height: 740}, {}, {width: 3840, height: 2160}} {
		b.look(l)
		b.press("3")
		b.await(entry("long long"))
		// Even a fraction of a pixel too few cuts letters.
		b.await(`((e) => { if (!e) return false; const text = document.createRange(); text.selectNodeContents(e); return text.getBoundingClientRect().width - e.getBoundingClientRect().width <= 0.001; })([...document.querySelectorAll("#lines .entry:not([hidden]) .subject:not([hidden])")].findLast((e) => e.textContent.includes("alpha")))`)
		if l.width == 360 {
			b.await(entry("long long") + `?.querySelector(".subject").hidden`)
		}
	}
}

// TestOrder checks that resources have the order of the arguments.
func TestOrder(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "deploy,cm", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("alpha"))
	if got := value[string](b, `[...document.querySelectorAll("[aria-label=Resources] .name")].map((e) => e.textContent).join()`); got != "deployments.apps,configmaps" {
		t.Errorf("on the left: %s", got)
	}
	b.await(`document.querySelector("#heading b").textContent === "deployments"`)
}

// TestWhere checks that an expression selects objects, and that mistakes in it are reported.
func TestWhere(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha", "beta")
	b := open(t, serve(t, c, "cm,deploy", "-n", ns).url, look{})
	b.awaitLive()
	b.press("wobject.kind == 'ConfigMap' && object.data.level == 'debug'")
	b.await(`document.getElementById("nothing").textContent === "No object matches these filters."`)
	c.patch(t, ns, "beta", `{"data":{"level":"debug"}}`)
	b.await(row("beta")) // it matches now
	if value[bool](b, "Boolean("+row("alpha")+")") {
		t.Error("an object is shown that does not match the expression")
	}
	c.patch(t, ns, "beta", `{"data":{"level":"info"}}`)
	b.await("!" + row("beta"))
	b.press(" &&")
	b.await(`document.getElementById("where-error").textContent && document.getElementById("where").getAttribute("aria-invalid") === "true"`)
	t.Logf("the message about a mistake: %s", b.text("#where-error"))
}

// TestLinks checks that the address restores the view in another browser, and that going back works.
func TestLinks(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha", "beta")
	d := serve(t, c, "cm,deploy,po", "-n", ns)
	b := open(t, d.url, look{})
	b.awaitLive()
	c.patch(t, ns, "beta", `{"data":{"level":"debug"}}`)
	b.await(entry("info → debug"))
	value[bool](b, `[...document.querySelectorAll("#filters button")].find((e) => e.textContent.startsWith("configmaps")).click() ?? true`)
	b.await("!" + row("slow"))
	value[bool](b, entry("info → debug")+`.click() ?? true`)
	b.await(`document.querySelector("#detail .history li.selected")`)
	link := b.address()
	parameters, err := url.ParseQuery(strings.TrimPrefix(link, "?"))
	if err != nil || parameters.Get("kind") != "configmaps" || !strings.HasPrefix(parameters.Get("object"), "configmaps/") || parameters.Get("at") == "" {
		t.Fatalf("the address is %s", link)
	}

	other := open(t, d.url, look{})
	other.awaitLive()
	other.navigate(d.home + link)
	other.awaitLive()
	other.awaitSelected("beta")
	other.await(`document.querySelector("#detail .history li.selected")?.textContent.includes("info → debug")`)
	if value[bool](other, "Boolean("+row("slow")+")") {
		t.Error("the filter of the link is not applied")
	}
	value[bool](b, "history.back() ?? true")
	b.await(`document.getElementById("detail").hidden`)
	value[bool](b, "history.back() ?? true")
	b.await(row("slow"))

	other.navigate(d.home + "?object=configmaps/nonsense&view=nonsense&span=-1&kind=,,")
	other.awaitLive()
	other.await(`document.querySelector("#detail h2").textContent === "No longer retained"`)
}

// TestPause checks that a paused page does not change, and shows the changes when it resumes.
func TestPause(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	b.press("p")
	b.await(`document.body.dataset.watch === "paused"`)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "newcomer")
	b.await(`document.getElementById("watch-last").textContent === "1 change waiting"`)
	b.look(look{dark: true}) // a change of the look does not resume the page
	if value[bool](b, "Boolean("+row("newcomer")+")") {
		t.Error("the paused page shows a new object")
	}
	b.press("p")
	b.await(row("newcomer"))
	b.await(entry("newcomer"))
}

// highlight is the appearance of a changed row.
type highlight struct {
	Cells     int    `json:"cells"`
	Animation string `json:"animation"`
}

// TestHighlight checks that a changed row and its changed cells are highlighted for a moment, also with reduced motion.
func TestHighlight(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	for i, still := range []bool{false, true} {
		b.look(look{still: still})
		b.await("!" + row("alpha") + `.classList.contains("fresh")`)
		b.notice("fresh", `((e) => e?.classList.contains("fresh") && { cells: e.querySelectorAll(".cell.new").length, animation: getComputedStyle(e, "::before").animationName })(`+row("alpha")+`)`)
		c.patch(t, ns, "alpha", fmt.Sprintf(`{"data":{"more%d":"1"}}`, i))
		fresh := noticed[highlight](b, "fresh")
		if fresh.Cells != 1 {
			t.Errorf("%d cells are highlighted, but only the number of data keys has changed", fresh.Cells)
		}
		if moves := fresh.Animation != "none"; moves == still {
			t.Errorf("with reduced motion %v the highlight is %s", still, fresh.Animation)
		}
		b.await("!" + row("alpha") + `.classList.contains("fresh")`)
	}
}

// TestTwoViewers checks that two viewers receive the same changes, and have independent views.
func TestTwoViewers(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	d := serve(t, c, "cm", "-n", ns)
	one, two := open(t, d.url, look{}), open(t, d.url, look{width: 360, height: 740, dark: true})
	one.awaitLive()
	two.awaitLive()
	two.press("3")
	for i := range 20 {
		c.patch(t, ns, "alpha", fmt.Sprintf(`{"data":{"level":"%d"}}`, i))
	}
	for _, b := range []*tab{one, two} {
		b.await(entry("18 → 19"))
		if got := b.text("#feed-shown"); got != "20 changes" {
			t.Errorf("a viewer has %s", got)
		}
	}
	if one.text("#views [aria-pressed=true]") != "Objects" {
		t.Error("the view of one viewer depends on that of the other")
	}
}
