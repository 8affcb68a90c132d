//go:build unix

package program

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dwatch/cli/fail"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"

// create creates ConfigMaps.
func (o *objects) create(t *testing.T, names ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "objects.yaml")
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "---\n"+configMap, name)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := o.apply(file, strings.NewReplacer()); err != nil {
		t.Fatal(err)
	}
}

// The reader goes, and nothing further happens in the cluster.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	watching := "watching configmaps in namespace " + o.namespace + "\n"

	t.Run("after the first line", func(t *testing.T) {
		p := startPiped(t, kubeconfig, "cm")
		line, err := bufio.NewReader(p.read).ReadString('\n')
		if err != nil || !strings.Contains(line, `"name":"one"`) {
			t.Fatalf("%q, %v", line, err)
		}
		p.read.Close()
		p.ends(t, fail.ExitOK, watching)
	})
	t.Run("before the first line", func(t *testing.T) {
		p := startPiped(t, kubeconfig, "cm", "--watch-only")
		p.says(t, "^watching")
		p.read.Close()
		p.ends(t, fail.ExitOK, watching)
	})
	t.Run("before the start", func(t *testing.T) {
		p := startPiped(t, kubeconfig, "cm")
		p.read.Close()
		p.ends(t, fail.ExitOK, "("+watching+")?")
	})
	t.Run("from a list", func(t *testing.T) {
		p := startPiped(t, kubeconfig, "list", "cm")
		p.read.Close()
		p.ends(t, fail.ExitOK, "")
	})
	t.Run("while the server does not answer", func(t *testing.T) {
		server, reached := mute(t)
		p := startPiped(t, "", "cm", "--server", "http://"+server)
		receive(t, reached)
		p.read.Close()
		p.ends(t, fail.ExitOK, "")
	})
}

// The reader goes while a write waits for it.
func TestReaderGoneInMidWrite(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.fill(t, 500)
	p := startPiped(t, kubeconfig, "cm")
	awaitFull(t, p.write)
	p.read.Close()
	p.ends(t, fail.ExitOK, "watching .*\n")
}

// mute accepts connections and never answers. reached tells of each one.
func mute(t *testing.T) (address string, reached <-chan struct{}) {
	t.Helper()
	accepted := make(chan struct{}, 100)
	address = listen(t, func(conn net.Conn) {
		accepted <- struct{}{}
		io.Copy(io.Discard, conn)
	})
	return address, accepted
}

// listen serves raw connections until the test ends.
func listen(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	return listenAt(t, "127.0.0.1:0", serve)
}

func listenAt(t *testing.T, address string, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return l.Addr().String()
}
