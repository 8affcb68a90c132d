package page

import "testing"

// mostDraws is the maximum number of frames that the browser may render for a fading highlight. It should fade in steps,
// and not in each of the 180 frames of its three seconds, because without a GPU each frame takes CPU time.
const mostDraws = 60

// TestHighlightDraws checks that the browser renders few frames while a highlight fades.
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
		t.Errorf("%d frames were rendered for a highlight", n)
	}
}
