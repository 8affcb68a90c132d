package page

import (
	"fmt"
	"strings"
	"testing"
)

// TestEvents checks that the panel of an object shows the Events about it and about the objects that it owns, including
// those that arrive while it is open.
func TestEvents(t *testing.T) {
	c, ns := setUp(t)
	c.kubectl(t, webDeployment, "apply", "-n", ns, "-f", "-")
	c.kubectl(t, "", "-n", ns, "rollout", "status", "deploy/web")
	pod := strings.Fields(c.kubectl(t, "", "-n", ns, "get", "pods", "-o", "jsonpath={.items[0].metadata.name} {.items[0].metadata.uid}"))
	happens := func(name, reason, message string) {
		c.kubectl(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":%q},"type":"Warning","reason":%q,"message":%q,"source":{"component":"kubelet"},"count":7,`+
			`"involvedObject":{"apiVersion":"v1","kind":"Pod","namespace":%q,"name":%q,"uid":%q}}`, name, reason, message, ns, pod[0], pod[1]), "create", "-n", ns, "-f", "-")
	}
	happens("first", "BackOff", "back-off <b>restarting</b> failed container")
	b := open(t, serve(t, c, "deploy", "-n", ns).url, look{})
	b.awaitLive()
	b.await(row("web") + ` !== null`)
	value[bool](b, row("web")+`.click() ?? true`)
	says := `document.querySelector('#detail section[aria-label="Events"]').innerText.replace(/\s+/g, " ")`
	b.await(says + `.includes("×7 Warning BackOff")`)
	if got := value[string](b, says); !strings.Contains(got, "pod/"+pod[0]) || !strings.Contains(got, "back-off <b>restarting</b> failed container") || !strings.Contains(got, "kubelet") ||
		!strings.Contains(got, "ScalingReplicaSet") {
		t.Errorf("the Events: %s", got)
	}
	happens("second", "Unhealthy", "its probe failed")
	b.await(says + `.includes("its probe failed")`)
}
