package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// multiCluster writes a kubeconfig with a context for each of several clusters, and the context down, an address without
// a server.
func multiCluster(t *testing.T, ns string, clusters map[string]*cluster) *cluster {
	t.Helper()
	type named = map[string]any
	config := map[string][]named{
		"clusters": {{"name": "down", "cluster": named{"server": "https://127.0.0.1:1"}}},
		"users":    {{"name": "down", "user": named{"token": "none"}}},
		"contexts": {{"name": "down", "context": named{"cluster": "down", "user": "down", "namespace": ns}}},
	}
	for name, c := range clusters {
		var own struct {
			Clusters []struct{ Cluster any }
			Users    []struct{ User any }
		}
		if err := json.Unmarshal([]byte(c.kubectl(t, "", "config", "view", "--raw", "--minify", "-o", "json")), &own); err != nil {
			t.Fatal(err)
		}
		config["clusters"] = append(config["clusters"], named{"name": name, "cluster": own.Clusters[0].Cluster})
		config["users"] = append(config["users"], named{"name": name, "user": own.Users[0].User})
		config["contexts"] = append(config["contexts"], named{"name": name, "context": named{"cluster": name, "user": name, "namespace": ns}})
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	all := &cluster{kubeconfig: filepath.Join(t.TempDir(), "config")}
	if err := os.WriteFile(all.kubeconfig, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return all
}

// rowIn returns an expression for the row of an object in one of several clusters.
func rowIn(cluster, name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#list .row.object:not([hidden])")].find((e) => e.querySelector(".cluster").textContent === %q && e.querySelector("b").textContent === %q)`, cluster, name)
}

// TestClusters checks that the page of several clusters shows for each object where it is, and does not mix up objects
// of different clusters.
func TestClusters(t *testing.T) {
	c, ns := setUp(t)
	us, err := startCluster("us")
	if err != nil {
		t.Fatal(err)
	}
	us.kubectl(t, "", "create", "namespace", ns)
	for _, one := range []*cluster{c, us} {
		objects(t, one, ns, "alpha", "beta")
	}
	b := open(t, serve(t, multiCluster(t, ns, map[string]*cluster{"eu": c, "us": us}), "cm,deploy,rs,po", "--context", "eu,us,down").url, look{})
	line := func(name string) string {
		return fmt.Sprintf(`[...document.querySelectorAll("#clusters button")].find((e) => e.querySelector(".cluster").textContent === %q)`, name)
	}
	b.await(line("eu") + `?.className === "is-live" && ` + line("us") + `?.className === "is-live" && ` + line("down") + `?.textContent.includes("not connected")`)
	b.await(`document.getElementById("watch-state").textContent === "Connection lost" && document.getElementById("watch-since").textContent === "2 of 3 connected"`)
	b.await(rowIn("eu", "beta") + ` && ` + rowIn("us", "beta"))
	color := func(cluster string) string {
		return `getComputedStyle(` + rowIn(cluster, "beta") + `.querySelector(".cluster")).color`
	}
	if value[string](b, color("eu")) == value[string](b, color("us")) {
		t.Error("both clusters have the same colour")
	}

	// A change and the related objects belong to one cluster.
	us.patch(t, ns, "beta", `{"data":{"level":"debug"}}`)
	b.await(`[...document.querySelectorAll("#lines .entry:not([hidden])")].some((e) => e.textContent.includes("info → debug") && e.querySelector(".cluster").textContent === "us ")`)
	b.await(rowIn("eu", "slow") + `?.querySelector(".state").textContent !== "" && [...document.querySelectorAll("#list .cluster")].filter((e) => e.textContent === "eu").length > 3`)
	value[bool](b, rowIn("eu", "slow")+`.click() ?? true`)
	b.await(`document.querySelector("#detail header p")?.textContent.includes("eu") && document.querySelector('#detail section[aria-label="Owners and owned"]')?.innerText.includes("replicaset/slow")`)
	if got := value[int](b, `document.querySelectorAll("#detail .related li").length`); got != 3 {
		t.Errorf("the tree of a Deployment, its ReplicaSet and its Pod has %d objects", got)
	}

	// A click on a cluster shows only its objects, and so does an expression.
	value[bool](b, line("us")+`.click() ?? true`)
	b.await(`![...document.querySelectorAll("#list .row.object:not([hidden]) .cluster")].some((e) => e.textContent !== "us")`)
	b.await(`new URLSearchParams(location.search).get("cluster") === "us"`)
	value[bool](b, line("us")+`.click() ?? true`)
	b.await(rowIn("eu", "beta"))
	b.press("w")
	b.await(`document.activeElement.id === "where"`)
	b.press(`cluster == "eu"`)
	b.await(rowIn("eu", "beta") + ` && ![...document.querySelectorAll("#list .row.object:not([hidden]) .cluster")].some((e) => e.textContent !== "eu")`)
	for _, l := range []look{{still: true}, {dark: true, still: true}, {width: 360, height: 740, still: true}} {
		if _, err := axe(); err != nil {
			break // TestAccess reports the error
		}
		b.look(l)
		b.checkAccessWhile(fmt.Sprintf("several clusters on %d", l.width), `document.body.dataset.watch === "partly"`)
	}

	// A lost cluster is marked, and its objects stay as they were.
	us.stop()
	b.await(line("us") + `?.textContent.includes("lost since")`)
	b.await(`document.getElementById("watch-since").textContent === "1 of 3 connected"`)
}
