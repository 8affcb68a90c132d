//go:build unix

package program

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

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

// TestReaderGone checks that dwatch ends when the reader of its stdout is gone, although no further event arrives.
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

// TestReaderGoneInMidWrite does the same while a write to the pipe blocks.
func TestReaderGoneInMidWrite(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.fill(t, 500)
	p := startPiped(t, kubeconfig, "cm")
	awaitFull(t, p.write)
	p.read.Close()
	p.ends(t, fail.ExitOK, "watching .*\n")
}

// TestConditionWithoutReader checks that --until, --fail-if and --timeout end dwatch although the reader of stdout does
// not read. A slow reader still gets all events.
func TestConditionWithoutReader(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.fill(t, 300) // more than the pipe holds
	const unread = `(?s:.*)the reader of stdout does not read: not all of \d+ events were written\n`
	later := []string{"cm", "--until", "object.metadata.name == 'late'", "--until-for", "any"}
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"until":    {later, fail.ExitOK, unread + `cm/late-.*: --until .* holds after .*\n`},
		"changes":  {append(slices.Clip(later), "-o", "changes", "--initial"), fail.ExitOK, unread + `cm/late-.*: --until .* holds after .*\n`},
		"fail-if":  {[]string{"cm", "--fail-if", "object.metadata.name == 'late'"}, fail.ExitFailIf, unread + `error: --fail-if .*: cm/late-.*\n`},
		"by time":  {[]string{"cm", "--until", "now() - time > duration('2s')"}, fail.ExitOK, unread + `\d+ objects: --until .*\n`},
		"timeout":  {[]string{"cm", "--until", "false", "--timeout", "3s"}, fail.ExitTimeout, unread + `error: --timeout 3s passed, (.*\n)+`},
		"no until": {[]string{"cm", "--fail-if", "false", "--timeout", "3s"}, fail.ExitOK, unread},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			late := "late-" + strings.ReplaceAll(name, " ", "-")
			args := strings.Split(strings.ReplaceAll(strings.Join(test.args, "\n"), "'late'", "'"+late+"'"), "\n")
			p := startPiped(t, kubeconfig, args...)
			narrow(t, p.write)
			awaitFull(t, p.write)
			o.create(t, late)
			p.endsWithin(t, soon, test.code, test.want)
		})
	}
	t.Run("a slow reader", func(t *testing.T) {
		t.Parallel()
		p := startPiped(t, kubeconfig, "cm", "-l", "!x", "--until", "true")
		awaitFull(t, p.write)
		time.Sleep(time.Second)
		if got := namesIn(t, p.rest(t)); len(got) < 300 {
			t.Errorf("only %d objects were written", len(got))
		}
		p.ends(t, fail.ExitOK, `(?s:.*) objects: --until true holds .*\n`)
	})
}

// mute accepts connections and never answers. reached receives a value for each one.
func mute(t *testing.T) (address string, reached <-chan struct{}) {
	t.Helper()
	accepted := make(chan struct{}, 100)
	address = listen(t, func(conn net.Conn) {
		accepted <- struct{}{}
		io.Copy(io.Discard, conn)
	})
	return address, accepted
}

// listen passes each connection to serve until the test ends.
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
