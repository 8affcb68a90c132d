package page

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// exported writes a recording to a file by dwatch export, and returns its path.
func (r *recorded) exported(args ...string) string {
	r.t.Helper()
	file := filepath.Join(r.t.TempDir(), "incident.html")
	out, err := exec.Command(r.binary, append([]string{"export", file, "--from", r.dir}, args...)...).CombinedOutput()
	if _, failed := os.Stat(file); failed != nil {
		r.t.Fatalf("dwatch export wrote no file: %v\n%s", err, out)
	}
	return file
}

// openFile opens a file from disk without a network. The path may have a fragment. asked returns the other URLs that the
// page has requested.
func openFile(t *testing.T, file string, l look) (b *tab, asked func() []string) {
	t.Helper()
	b = open(t, "about:blank", l)
	if _, err := chromedp.Call(b.ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(b.ctx, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: true, DownloadThroughput: -1, UploadThroughput: -1}); err != nil {
		t.Fatal(err)
	}
	itself, _, _ := strings.Cut("file://"+file, "#")
	var mu sync.Mutex
	var all []string
	if err := chromedp.Listen(b.ctx, func(ev any) {
		e, is := ev.(*network.EventRequestWillBeSent)
		if !is || strings.HasPrefix(e.Request.URL, "data:") || e.Request.URL == itself || e.Request.URL == "about:blank" {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, e.Request.URL)
	}); err != nil {
		t.Fatal(err)
	}
	b.navigate("file://" + file)
	return b, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// TestExport opens an exported recording from disk, without a server and a network. It has the slider, the objects at
// each time, and the changes of an object, but no value of a Secret. No content becomes markup.
func TestExport(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"key"},"stringData":{"password":"hunter2hunter2"}}`, "create", "-n", ns, "-f", "-")
	objects(t, c, ns, "alpha")
	r := newRecorded(t, c, ns)
	end := r.record("-r", "secrets,events")
	r.awaits("alpha", "cm")
	hostile := `</script><script>window.harmed=1</script><!--<img src=x onerror="window.harmed=1">` + "]]>\u2028" + decode(nasty)
	c.kubectl(t, "", "-n", ns, "patch", "cm", "alpha", "--type=merge", "-p", encode(map[string]any{"data": map[string]string{"note": hostile}}))
	r.awaits("MODIFIED", "cm/alpha")
	c.kubectl(t, "", "-n", ns, "patch", "secret", "key", "-p", `{"stringData":{"password":"correcthorse"}}`)
	c.kubectl(t, "", "-n", ns, "delete", "cm", "alpha")
	objects(t, c, ns, "omega")
	uid := c.kubectl(t, "", "-n", ns, "get", "cm", "omega", "-o", "jsonpath={.metadata.uid}")
	c.kubectl(t, encode(map[string]any{"apiVersion": "v1", "kind": "Event", "metadata": map[string]string{"name": "omega.1"}, "type": "Warning", "reason": "Odd", "message": "it is the last",
		"involvedObject": map[string]string{"apiVersion": "v1", "kind": "ConfigMap", "name": "omega", "namespace": ns, "uid": uid}, "lastTimestamp": time.Now().UTC().Format(time.RFC3339)}), "create", "-n", ns, "-f", "-")
	r.awaits("omega.1", "events")
	end()

	file := r.exported()
	b, asked := openFile(t, file, look{})
	b.await(`!document.getElementById("past").hidden && document.querySelector("#past input")`)
	// It opens at the last time that the recording covers completely. Later events are also there.
	b.await(`document.getElementById("watch-state").textContent === "Recording" && document.getElementById("down").hidden`)
	value[bool](b, `[...document.querySelectorAll("#past button")].find((b) => b.textContent === "End").click() ?? true`)
	b.await(row("omega") + ` && ` + row("alpha") + `?.classList.contains("ended") !== false`) // deleted objects stay visible for a moment
	b.await(entry("</script><script>"))
	const shown = `Number(new URLSearchParams(location.hash.slice(1)).get("time"))`
	// At the beginning, the object exists as it was before the change.
	b.slide("s.min")
	b.await(shown + ` === Number(document.querySelector("#past input").min) && ` + row("alpha") + ` && !` + row("omega"))
	value[bool](b, row("alpha")+`.click() ?? true`)
	b.await(`document.querySelector("#detail pre.yaml")?.textContent.includes("name: alpha") && !document.querySelector("#detail pre.yaml").textContent.includes("note:")`)
	// An entry of the feed leads to the change, and to the object after it.
	value[bool](b, `[...document.querySelectorAll("#past button")].find((b) => b.textContent === "End").click() ?? true`)
	b.await(entry("</script><script>"))
	value[bool](b, entry("</script><script>")+`.click() ?? true`)
	b.await(`document.querySelector("#detail .history li.selected")?.textContent.includes("</script><script>")`)
	b.await(`document.querySelector("#detail pre.yaml")?.textContent.includes("note: ")`)
	value[bool](b, `((s) => { s.selectedIndex = s.options.length - 1; s.dispatchEvent(new Event("change")); return true; })(document.querySelectorAll("#detail .moments select")[1])`)
	b.await(`document.querySelector("#detail pre.compared")?.textContent.includes("note: ")`)
	// The change of a Secret is shown without its value.
	b.await(row("key"))
	value[bool](b, row("key")+`.click() ?? true`)
	b.await(`document.querySelector("#detail h2").textContent === "key" && document.querySelector("#detail pre.yaml")?.textContent.includes("password: <")`)
	b.await(`document.querySelector("#detail .history")?.textContent.includes("data.password")`)
	if text := value[string](b, `document.body.textContent`); strings.Contains(text, "hunter2") || strings.Contains(text, "correcthorse") {
		t.Error("the value of a Secret is in the file")
	}
	if value[bool](b, `"harmed" in window || document.querySelectorAll("main img, main script, main iframe, main a").length > 0`) {
		t.Error("an object became markup")
	}
	value[bool](b, row("omega")+`.click() ?? true`)
	b.await(`document.querySelector("#detail").textContent.includes("Warning Odd") && document.querySelector("#detail").textContent.includes("it is the last")`)
	// Filters work as on the page. Features that need dwatch say so.
	b.press("/omega")
	b.await(`document.querySelectorAll("#list .row.object:not([hidden])").length === 2`) // the object and the Event about it
	if got := value[string](b, `document.getElementById("where").disabled && document.getElementById("where").placeholder`); !strings.Contains(got, "dwatch serve --from") {
		t.Errorf("an expression: %q", got)
	}
	// A link leads to a time.
	then := value[string](b, `String(Number(document.querySelector("#past input").min))`)
	linked, askedByLink := openFile(t, file+"#time="+then+"&view=timeline", look{dark: true})
	linked.await(`document.body.dataset.view === "timeline" && ` + shown + ` === ` + then + ` && ` + row("alpha"))
	if all := append(asked(), askedByLink()...); len(all) > 0 {
		t.Errorf("the file requests %q", all)
	}
	// The document also works in a frame, from a blob, and if it cannot change its address.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{`{ srcdoc: text }`, `{ src: URL.createObjectURL(new Blob([text], { type: "text/html" })) }`} {
		framed := open(t, "about:blank", look{})
		value[bool](framed, `((text) => document.body.append(Object.assign(document.createElement("iframe"), { width: 1200, height: 700 }, `+from+`)) ?? true)(`+encode(string(text))+`)`)
		framed.await(`((document) => document?.querySelector("#past input") && !document.getElementById("past").hidden && ` + row("key") + `)(document.querySelector("iframe").contentDocument)`)
	}
}

// TestExportClusters checks that an export of several clusters shows the cluster of each object, and for each time which
// clusters the recording covers.
func TestExportClusters(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	fleet := multiCluster(t, ns, map[string]*cluster{"eu": c, "us": c})
	r := newRecorded(t, fleet, ns)
	end := r.record("--context", "eu,us")
	r.awaits(`"cluster":"eu"`, "cm")
	r.awaits(`"cluster":"us"`, "cm")
	r.proves(c, "alpha") // the page opens at the last completely covered time
	end()
	line := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#clusters button")].find((e) => e.querySelector(".cluster").textContent === %q)`, name)
	}

	b, asked := openFile(t, r.exported("--since", "1h"), look{})
	b.await(rowIn("eu", "alpha") + ` && ` + rowIn("us", "alpha"))
	// How much is covered depends on how busy the machine is.
	b.await(`document.getElementById("down").hidden === [...document.querySelectorAll("#clusters button")].every((e) => e.className === "is-live")`)
	value[bool](b, rowIn("us", "alpha")+`.click() ?? true`)
	b.await(`document.querySelector("#detail pre.yaml")?.textContent.includes("name: alpha")`)
	value[bool](b, line("eu")+`.click() ?? true`)
	b.await(`!` + rowIn("us", "alpha") + ` || ` + rowIn("us", "alpha") + `.hidden`)
	value[bool](b, line("eu")+`.click() ?? true`)
	b.slide("s.min")
	b.await(line("eu") + `?.className === "is-unknown" && ` + line("us") + `?.textContent.includes("not known")`)
	b.await(`document.getElementById("down").textContent.includes("us: ") && !` + rowIn("us", "alpha"))
	b.await(`document.querySelector("#past details").textContent.includes(" eu: ")`)
	if all := asked(); len(all) > 0 {
		t.Errorf("the file requests %q", all)
	}
}
