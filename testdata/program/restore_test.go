//go:build unix

package program

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

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
		file := filepath.Join(dir, name+".yaml")
		text := fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: default}, data: {k: %q}}\n", name, value)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := c.Run("apply", file); err != nil {
			t.Fatalf("%v: %s", err, out)
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
	s.shows(t, " ~ cm/one  data.k  new 19 → old  ")
	s.shows(t, " - cm/two  was Current, .*, found out later$")
	change(cluster, "three", "written at an old resourceVersion")
	s.shows(t, " \\+ cm/three")
	s.quit(t, "")
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
