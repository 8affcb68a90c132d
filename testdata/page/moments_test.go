package page

import "testing"

// TestMoments checks the YAML of an object after a change, and the differences between two times.
func TestMoments(t *testing.T) {
	c, ns := setUp(t)
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	for _, level := range []string{"debug", "trace"} {
		c.patch(t, ns, "alpha", `{"data":{"level":"`+level+`"}}`)
		b.await(entry("→ " + level))
	}
	const yaml = `document.querySelector("#detail .yaml")?.textContent`
	value[bool](b, row("alpha")+`.click() ?? true`)
	b.await(yaml + `?.includes("level: trace")`)
	value[bool](b, entry("info → debug")+`.click() ?? true`)
	b.await(yaml + `?.includes("level: debug")`) // at the selected change
	choose := func(label, option string) {
		t.Helper()
		value[bool](b, `((select) => {
			select.value = [...select.options].find((o) => o.textContent.includes(`+quote(option)+`)).value;
			select.dispatchEvent(new Event("change"));
			return true;
		})([...document.querySelectorAll("#detail .moments label")].find((l) => l.textContent.startsWith(`+quote(label)+`)).querySelector("select"))`)
	}
	choose("as of", "now")
	b.await(yaml + `?.includes("level: trace")`)
	choose("compared with", "first observed")
	b.await(`document.querySelector("#detail .compared .minus")?.textContent === "-  level: info" && [...document.querySelectorAll("#detail .compared .plus")].some((e) => e.textContent === "+  level: trace")`)
	// The current state stays up to date.
	c.patch(t, ns, "alpha", `{"data":{"level":"quiet"}}`)
	b.await(`[...document.querySelectorAll("#detail .compared .plus")].some((e) => e.textContent === "+  level: quiet")`)
	choose("compared with", "nothing")
	b.await(yaml + `?.includes("level: quiet")`)
}
