package page

import "testing"

// TestFight checks that two managers that undo each other's changes are one line above the objects, with both managers,
// their values and the number of changes. The line leads to the object, and disappears with it.
func TestFight(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	b := open(t, serve(t, c, "deploy", "-n", ns).url, look{})
	b.awaitLive()
	const lines = `[...document.querySelectorAll("#problems .fight")]`
	if n := value[int](b, lines+`.length`); n != 0 {
		t.Errorf("%d fights are shown before there is one", n)
	}
	for range 4 {
		c.kubectl(t, "", "-n", ns, "patch", "deploy/web", "--field-manager=hpa", "-p", `{"spec":{"replicas":5}}`)
		c.kubectl(t, "", "-n", ns, "patch", "deploy/web", "--field-manager=argocd", "-p", `{"spec":{"replicas":3}}`)
	}
	b.await(lines + `.length === 1 && /deployment\/web.*fight over spec\.replicas: .*hpa 3 → 5.*, [78] times in \d+ (s|min)/.test(` + lines + `[0].innerText.replace(/\s+/g, " "))`)
	b.await(lines + `[0].innerText.includes("argocd 5 → 3")`)
	value[bool](b, `document.querySelector("#problems .fight .what").click() ?? true`)
	b.await(`document.querySelector("#detail h2")?.textContent === "web"`)
	b.shot("fight")
	c.kubectl(t, "", "-n", ns, "delete", "deploy/web")
	b.await(lines + `.length === 0`)
}
