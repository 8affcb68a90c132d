package page

import (
	"fmt"
	"strings"
	"testing"
)

// nasty is text that does harm if it is interpreted as markup, script or control characters.
const nasty = `<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>"'&amp;\u001b[31m\u202Egnp.exe\u0000\u2028javascript:alert(1)`

// TestHostileObjects checks that the contents of objects are shown as text: markup, escapes, a megabyte, and thousands
// of labels. (The server validates names.)
func TestHostileObjects(t *testing.T) {
	c, ns := setUp(t)
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"nasty","annotations":{"note":%q}},"data":{"level":"info"}}`, "start")
	c.kubectl(t, b.String(), "create", "-n", ns, "-f", "-")
	labels := map[string]string{}
	for i := range 5000 {
		labels[fmt.Sprintf("label-%04d", i)] = "x"
	}
	c.kubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"labels","labels":%s}}`, encode(labels)), "create", "-n", ns, "-f", "-")
	c.kubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"large"},"data":{"one-line":%q,"lines":%q}}`,
		strings.Repeat("x", 500_000), strings.Repeat("line\n", 100_000)), "create", "-n", ns, "-f", "-")
	page := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	page.awaitLive()

	c.kubectl(t, "", "-n", ns, "patch", "cm", "nasty", "--type=merge", "-p", encode(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{"note": decode(nasty)}},
		"data":     map[string]string{"level": decode(nasty)},
	}))
	page.await(entry(`<img src=x onerror=`))
	value[bool](page, row("nasty")+`.click() ?? true`)
	page.await(`document.querySelector("#detail .yaml")?.textContent.includes("<img src=x")`)
	page.press("2")
	page.await(`document.body.dataset.view === "timeline"`)
	page.press("1")
	if value[bool](page, `"harmed" in window || document.querySelectorAll("main img, main script, main iframe, main a").length > 0`) {
		t.Error("an object became markup")
	}
	for _, what := range []string{`\u202e`, `\u2028`} { // these have to be shown as escapes
		if strings.ContainsAny(value[string](page, `document.querySelector("main").textContent`), decode(what)) {
			t.Errorf("%s is on the page without an escape", what)
		}
	}

	value[bool](page, row("labels")+`.click() ?? true`)
	page.await(`document.querySelector("#detail h2").textContent === "labels" && document.querySelector("#detail .yaml")?.textContent.includes("label-0000")`)
	page.await(`document.querySelector("#detail").textContent.includes("4968 more, in the YAML") || document.querySelector("#detail").textContent.includes("26 more")`)
	value[bool](page, row("large")+`.click() ?? true`)
	page.await(`document.querySelector("#detail h2").textContent === "large" && document.querySelector("#detail .yaml")`)
	if n := value[int](page, `document.querySelector("#detail .yaml").textContent.length`); n > 100_000 {
		t.Errorf("%d characters of an object of a megabyte were rendered", n)
	}
	// The whole text is available, and the page still works.
	value[bool](page, `[...document.querySelectorAll("#detail button")].find((e) => e.textContent.includes("more lines")).click() ?? true`)
	page.await(`document.querySelectorAll("#detail .yaml div").length > 1000`)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "afterwards")
	page.await(row("afterwards"))
}
