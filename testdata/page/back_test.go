package page

import (
	"fmt"
	"testing"
)

// TestBack checks that the live page can go back to any time since dwatch started, and return to the present: with a
// key, the slider, Play and a link. It reports times that dwatch does not know.
func TestBack(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("alpha"))
	const dwatchTime = `Number(new URLSearchParams(location.search).get("time"))`
	then := value[int64](b, `Date.now()`) // the browser uses the clock of this machine
	c.kubectl(t, "", "-n", ns, "patch", "cm", "alpha", "-p", `{"data":{"more":"v"}}`)
	b.await(entry("more"))
	c.kubectl(t, "", "-n", ns, "delete", "cm", "alpha")
	objects(t, c, ns, "omega")
	b.await(row("omega"))

	// The slider is hidden until it is requested, and ends at the present.
	if !value[bool](b, `document.getElementById("past").hidden && !document.getElementById("back").hidden`) {
		t.Error("the slider is shown without a request")
	}
	value[bool](b, `document.getElementById("back").click() ?? true`)
	b.await(`document.querySelector("#past output").textContent === "now" && document.getElementById("watch-state").textContent === "Live"`)
	b.slide("s.min")
	b.await(`document.getElementById("watch-state").textContent === "Past" && ` + row("alpha") + ` && !` + row("omega"))
	// A link can lead to any time, including one before dwatch started.
	link := func(at int64) string {
		return value[string](b, fmt.Sprintf(`location.origin + location.pathname + "?time=%d"`, at))
	}
	b.navigate(link(then - 3_600_000))
	b.await(`document.getElementById("watch-state").textContent === "Not known" && document.getElementById("down").textContent.includes("before dwatch was started")`)
	b.navigate(link(then))
	b.await(row("alpha") + ` && !` + row("omega") + ` && document.getElementById("watch-state").textContent === "Past"`)
	if got := value[int64](b, dwatchTime); got != then {
		t.Errorf("a link to %d leads to %d", then, got)
	}
	value[bool](b, row("alpha")+`.click() ?? true`)
	b.await(`document.querySelector("#detail pre.yaml")?.textContent.includes("name: alpha") && !document.querySelector("#detail pre.yaml").textContent.includes("more: v")`)
	b.checkAccessWhile("the past of a live page", `document.getElementById("watch-state").textContent === "Past"`)
	// The live page continues.
	value[bool](b, `[...document.querySelectorAll("#past button")].find((b) => b.textContent === "Now").click() ?? true`)
	b.awaitLive()
	b.await(row("omega") + ` && document.querySelector("#detail .state b").textContent.startsWith("Deleted") && !` + dwatchTime)
	objects(t, c, ns, "omicron")
	b.await(row("omicron"))
	if text := b.text("#lines"); value[bool](b, `[...document.querySelectorAll("#lines *")].some((e) => e.textContent.includes("was restarted"))`) {
		t.Errorf("the page reports a restart of dwatch: %s", text)
	}
	// Play starts at the beginning and stops at the present.
	const play = `document.querySelector("#past .play").click() ?? true`
	value[bool](b, play)
	b.await(dwatchTime + ` > Number(document.querySelector("#past input").min) + 900`)
	value[bool](b, play)
	b.await(`document.querySelector("#past .play").textContent === "Play"`)
	b.slide("s.max - 2000")
	b.await(dwatchTime + ` > Number(document.querySelector("#past input").max) - 4000 && document.getElementById("watch-state").textContent === "Past"`)
	value[bool](b, play)
	b.await(`!` + dwatchTime + ` && document.querySelector("#past .play").textContent === "Play" && ` + row("omicron"))
	b.awaitLive()
}
