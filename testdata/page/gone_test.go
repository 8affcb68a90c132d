package page

import "testing"

const backupDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: backups.page.example.com}
spec:
  group: page.example.com
  scope: Namespaced
  names: {plural: backups, singular: backup, kind: Backup}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// TestGone checks that a resource that the server no longer has is named at the top, also on a phone, without moving
// anything, and that the other watches continue.
func TestGone(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, backupDefinition, "create", "-f", "-")
	c.kubectl(t, "", "wait", "crd/backups.page.example.com", "--for=condition=Established", "--timeout", patience.String())
	objects(t, c, ns, "alpha")
	b := open(t, serve(t, c, "cm,backups.page.example.com", "-n", ns).url, look{width: 360, height: 740})
	b.awaitLive()
	height := value[float64](b, `document.querySelector(".top").clientHeight`)
	c.kubectl(t, "", "delete", "crd", "backups.page.example.com")
	for _, l := range []look{{width: 360, height: 740}, {}} {
		b.look(l)
		b.await(`document.body.dataset.watch === "partly" && document.getElementById("watch-state").textContent === "Gone"`)
		b.await(`document.getElementById("watch-since").checkVisibility() && document.getElementById("watch-since").innerText.startsWith("backups.page.example.com since")`)
		if now := value[float64](b, `document.querySelector(".top").clientHeight`); l.width == 360 && now != height {
			t.Errorf("the height of the top changed from %v px to %v", height, now)
		}
	}
	b.await(entry("the server no longer has the resource"))
	c.patch(t, ns, "alpha", `{"data":{"level":"debug"}}`)
	b.await(entry("info → debug"))
}
