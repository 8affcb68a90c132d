//go:build unix

package program

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/testdata/testenv"
)

// TestRestoredServer restores etcd from a backup while the server is down. The resourceVersions continue at an older
// one, and the writes since the backup are lost. dwatch has to relist and report that.
func TestRestoredServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, backup := filepath.Join(dir, "data"), filepath.Join(dir, "backup")
	port := freePort(t)
	serve := func() *testenv.Cluster {
		cluster, err := testenv.StartCluster("--data", data, "--port", fmt.Sprint(port))
		if err != nil {
			t.Fatal(err)
		}
		return cluster
	}
	change := func(c *testenv.Cluster, name, value string) {
		o, err := objectsIn(c, metav1.NamespaceDefault)
		if err != nil {
			t.Fatal(err)
		}
		cm := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"k": value},
		}}
		if err := o.applyOne(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	stop := func(c *testenv.Cluster) {
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
	}

	cluster := serve()
	change(cluster, "one", "old")
	stop(cluster)
	if err := os.CopyFS(backup, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	cluster = serve()
	kubeconfig := filepath.Join(dir, "kubeconfig") // it must survive the server
	copyFile(t, cluster.Kubeconfig, kubeconfig)
	s := startScreen(t, 0, []string{"KUBECONFIG=" + kubeconfig}, "cm", "-n", "default", "-o", "changes", "-q")
	s.shows(t, " = 1 configmap in default")
	for i := range 20 {
		change(cluster, "one", fmt.Sprint("new ", i))
	}
	change(cluster, "two", "lost")
	s.shows(t, " \\+ cm/two")
	stop(cluster)
	if err := os.RemoveAll(data); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(backup, data); err != nil {
		t.Fatal(err)
	}
	cluster = serve()
	defer stop(cluster)
	s.shows(t, " ! reconnected; relisted: only intermediate states may be missing$")
	s.shows(t, ` ~ cm/one  noticed later .*\n +data.k  new 19 → old`)
	s.shows(t, " - cm/two  was Current, .*, noticed later$")
	change(cluster, "three", "written at an old resourceVersion")
	s.shows(t, " \\+ cm/three")
	s.quit(t, "")
}

// TestRebuiltServer replaces one of two clusters by a new one with the same address and credentials. dwatch has to
// report all objects of the old cluster as deleted, those of the new one as added although some have the same name, and
// no change in the other cluster.
func TestRebuiltServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, port := filepath.Join(dir, "data"), freePort(t)
	serve := func() (*testenv.Cluster, *objects) {
		c, err := testenv.StartCluster("--data", data, "--port", fmt.Sprint(port))
		if err != nil {
			t.Fatal(err)
		}
		o, err := objectsIn(c, metav1.NamespaceDefault)
		if err != nil {
			t.Fatal(err)
		}
		return c, o
	}
	apply := func(o *objects, name, value string) {
		cm := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"k": value},
		}}
		if err := o.applyOne(t.Context(), cm); err != nil {
			t.Fatal(err)
		}
	}
	stop := func(c *testenv.Cluster) {
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
	}

	cluster, objects := serve()
	for i := range 20 {
		apply(objects, "same", fmt.Sprint(i))
	}
	apply(objects, "old", "1")
	kubeconfig := filepath.Join(dir, "kubeconfig")
	writeTogether(t, kubeconfig, map[string]string{"built": cluster.Kubeconfig, "other": testbed.Kubeconfig})
	s := startScreen(t, 0, []string{"KUBECONFIG=" + kubeconfig}, "cm/same,cm/old", "-n", "default", "--context", "built,other", "-o", "changes", "-q")
	s.shows(t, " = 1 configmap in default of built$")
	stop(cluster)
	if err := os.RemoveAll(filepath.Join(data, "etcd")); err != nil {
		t.Fatal(err)
	}
	cluster, objects = serve()
	defer stop(cluster)
	apply(objects, "same", "of another cluster")
	s.shows(t, " ! built: reconnected; relisted: only intermediate states may be missing$")
	s.shows(t, " - built cm/old  was Current, .*, noticed later$")
	s.shows(t, " - built cm/same  was Current, .*, noticed later$")
	s.shows(t, " \\+ built cm/same  Current, replaces the one deleted .* ago$")
	apply(objects, "same", "again")
	s.shows(t, " ~ built cm/same  data.k  of another cluster → again  ")
	s.quit(t, "")
}

// writeTogether writes a kubeconfig with the current contexts of several kubeconfigs, by name.
func writeTogether(t *testing.T, path string, contexts map[string]string) {
	t.Helper()
	both := api.NewConfig()
	for name, from := range contexts {
		config, err := clientcmd.LoadFromFile(from)
		if err != nil {
			t.Fatal(err)
		}
		here := config.Contexts[config.CurrentContext]
		both.Clusters[name], both.AuthInfos[name] = config.Clusters[here.Cluster], config.AuthInfos[here.AuthInfo]
		both.Contexts[name] = &api.Context{Cluster: name, AuthInfo: name}
	}
	if err := clientcmd.WriteToFile(*both, path); err != nil {
		t.Fatal(err)
	}
}

// TestCopies runs the scripts of testdata/script/copies on two servers, the contexts a and b. b was restored from a backup of
// a, so the objects in the backup have the same UIDs in both. The scripts have two additional commands:
//
//	alike A B NAME VALUE VALUE   set k of a ConfigMap in both, each to its own value, and write there until
//	                             it has the same resourceVersion in both
//	ahead A N                    write another ConfigMap N times
func TestCopies(t *testing.T) {
	t.Parallel()
	kubeconfig, servers := startCopies(t)
	all := maps.Clone(commands)
	all["alike"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) != 5 {
			ts.Fatalf("usage: alike A B NAME VALUE VALUE")
		}
		ts.Check(alike([2]dynamic.ResourceInterface{configMapsOf(servers[args[0]]), configMapsOf(servers[args[1]])}, args[2], args[3:]))
	}
	all["ahead"] = func(ts *testscript.TestScript, neg bool, args []string) {
		n, err := strconv.Atoi(args[1])
		ts.Check(err)
		for i := range n {
			_, err := setData(configMapsOf(servers[args[0]]), "other", map[string]any{"n": fmt.Sprint(i)})
			ts.Check(err)
		}
	}
	testscript.Run(t, testscript.Params{
		Dir: scripts + "/copies",
		Setup: func(env *testscript.Env) error {
			if err := setupWithKubectl(t, testbed, env); err != nil {
				return err
			}
			text, err := os.ReadFile(kubeconfig)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(env.WorkDir, ".kubeconfig"), text, 0o600)
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Cmds:                all,
	})
}

// startCopies starts the servers, and returns a kubeconfig with the contexts a and b.
func startCopies(t *testing.T) (kubeconfig string, servers map[string]*objects) {
	t.Helper()
	dir := t.TempDir()
	start := func(name string) (*testenv.Cluster, *objects) {
		c, err := testenv.StartCluster("--data", filepath.Join(dir, name), "--port", fmt.Sprint(freePort(t)))
		if err != nil {
			t.Fatal(err)
		}
		o, err := objectsIn(c, metav1.NamespaceDefault)
		if err != nil {
			t.Fatal(err)
		}
		return c, o
	}
	first, o := start("a")
	if _, err := setData(configMapsOf(o), "one", nil); err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "b"), os.DirFS(filepath.Join(dir, "a"))); err != nil {
		t.Fatal(err)
	}
	kubeconfig, servers = filepath.Join(dir, "kubeconfig"), map[string]*objects{}
	contexts := map[string]string{}
	for _, name := range []string{"a", "b"} {
		c, o := start(name)
		t.Cleanup(c.Kill)
		servers[name], contexts[name] = o, c.Kubeconfig
	}
	writeTogether(t, kubeconfig, contexts)
	return kubeconfig, servers
}

// setData applies a ConfigMap with data, and returns its resourceVersion.
func setData(to dynamic.ResourceInterface, name string, data map[string]any) (version int, err error) {
	u := newConfigMap(name)
	u.Object["data"] = data
	u, err = to.Apply(context.Background(), name, u, metav1.ApplyOptions{FieldManager: "test", Force: true})
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(u.GetResourceVersion())
}

// alike writes to a ConfigMap in two clusters until it has the same resourceVersion in both, although the servers
// themselves write, too.
func alike(both [2]dynamic.ResourceInterface, name string, values []string) error {
	var versions [2]int
	behind := 0
	for n := 0; n < 2 || versions[0] != versions[1]; n++ {
		if behind = n; n > 1 {
			behind = slices.Index(versions[:], min(versions[0], versions[1]))
		}
		var err error
		if versions[behind], err = setData(both[behind], name, map[string]any{"k": values[behind], "n": fmt.Sprint(n)}); err != nil {
			return err
		}
	}
	return nil
}

// freePort returns a free port of the loopback interface.
func freePort(t *testing.T) int {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func copyFile(t *testing.T, from, to string) {
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
