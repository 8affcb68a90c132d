//go:build unix

package program

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"dwatch/testdata/bed"
)

// TestRestoredServer: etcd was restored from a backup while the server was down. Its
// resourceVersions begin again at an older one, and what was written after the backup
// is gone: dwatch relists, and says so.
func TestRestoredServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, backup := filepath.Join(dir, "data"), filepath.Join(dir, "backup")
	port := freePort(t)
	serve := func() *bed.Cluster {
		cluster, err := bed.Start("--data", data, "--port", fmt.Sprint(port))
		if err != nil {
			t.Fatal(err)
		}
		return cluster
	}
	change := func(c *bed.Cluster, name, value string) {
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
	stop := func(c *bed.Cluster) {
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
	kubeconfig := filepath.Join(dir, "kubeconfig") // it outlives the server
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
	s.shows(t, ` ~ cm/one  found out later .*\n +data.k  new 19 → old`)
	s.shows(t, " - cm/two  was Current, .*, found out later$")
	change(cluster, "three", "written at an old resourceVersion")
	s.shows(t, " \\+ cm/three")
	s.quit(t, "")
}

// TestRebuiltServer: one of two clusters is thrown away, and another one built at its address, which takes
// the same credentials. All that was in the old one is gone, what the new one has was added, though it has
// the same name, and none of it is of the other cluster.
func TestRebuiltServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, port := filepath.Join(dir, "data"), freePort(t)
	serve := func() (*bed.Cluster, *objects) {
		c, err := bed.Start("--data", data, "--port", fmt.Sprint(port))
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
	stop := func(c *bed.Cluster) {
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
	twoContexts(t, kubeconfig, cluster.Kubeconfig, testbed.Kubeconfig)
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
	s.shows(t, " - built cm/old  was Current, .*, found out later$")
	s.shows(t, " - built cm/same  was Current, .*, found out later$")
	s.shows(t, " \\+ built cm/same  Current, replaces the one deleted .* ago$")
	apply(objects, "same", "again")
	s.shows(t, " ~ built cm/same  data.k  of another cluster → again  ")
	s.quit(t, "")
}

// twoContexts writes a kubeconfig with the contexts built and other, those of two others.
func twoContexts(t *testing.T, path, built, other string) {
	t.Helper()
	both := api.NewConfig()
	for name, from := range map[string]string{"built": built, "other": other} {
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

// freePort returns a port of the loopback that nobody listens at.
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
