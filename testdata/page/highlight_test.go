package page

import "testing"

// mostDraws is how often the browser may draw anew for a highlight that fades: in steps, and not in each of the 180
// frames of its three seconds, each of which takes time of the processor where there is no other for graphics.
const mostDraws = 60

// A highlight costs few frames: as long as one fades, and nothing else happens, the screen is not drawn in each of them.
func TestHighlightDraws(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, "", "-n", ns, "create", "configmap", "alpha", "--from-literal", "a=1")
	b := openApart(t, serve(t, c, "cm", "-n", ns).url, look{})
	b.awaitLive()
	b.await("!" + row("alpha") + `.classList.contains("fresh")`)
	b.notice("fresh", row("alpha")+`?.classList.contains("fresh")`)
	c.patch(t, ns, "alpha", `{"data":{"a":"2"}}`)
	noticed[bool](b, "fresh")
	stop := b.traceOf("viz")
	b.await("!" + row("alpha") + `.classList.contains("fresh")`)
	names := map[string]int{}
	for _, e := range stop() {
		names[e.Name]++
	}
	t.Log(names)
	if n := names["Display::DrawAndSwap"]; n == 0 || n > mostDraws {
		t.Errorf("%d frames were drawn for a highlight", n)
	}
}
