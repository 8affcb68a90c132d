//go:build unix

package program

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dwatch/cli/fail"
)

// credentials is a credential plugin. Its credentials expire at once, so it runs for each request. While a file called
// hang exists, it waits for the test.
type credentials struct {
	dir  string
	gate *os.File // the plugin waits until something is written to it, or it is closed
}

const pluginScript = `#!/bin/sh
cd "$(dirname "$0")"
if [ -e hang ]; then
	cat hang >&2
	read line <gate
fi
echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
"status":{"token":"any","expirationTimestamp":"2020-01-01T00:00:00Z"}}'
`

const pluginKubeconfig = `apiVersion: v1
kind: Config
current-context: it
contexts: [{name: it, context: {cluster: it, user: it, namespace: %q}}]
clusters: [{name: it, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: it, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: ./login.sh, interactiveMode: Never}}}]
`

func newCredentials(t *testing.T) *credentials {
	t.Helper()
	c := &credentials{dir: t.TempDir()}
	c.write(t, "login.sh", pluginScript)
	path := filepath.Join(c.dir, "gate")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.gate, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.gate.Close() })
	return c
}

func (c *credentials) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// hang makes the plugin hang after it has printed text.
func (c *credentials) hang(t *testing.T, text string) {
	t.Helper()
	c.write(t, "hang", text)
}

// kubeconfig writes a kubeconfig with the plugin, and returns its path.
func (c *credentials) kubeconfig(t *testing.T, server, namespace string) string {
	t.Helper()
	c.write(t, "config", fmt.Sprintf(pluginKubeconfig, namespace, server))
	return filepath.Join(c.dir, "config")
}

// promptlyWithPlugin is promptly plus the time that the test waits for the end of stderr, which a running plugin keeps
// open.
const promptlyWithPlugin = 2 * promptly

const waitingForPlugin = "waiting for the credential plugin login.sh of the user in the kubeconfig; Ctrl-C ends dwatch"

// TestPluginThatHangs checks that dwatch names a hanging plugin, and that the first signal ends dwatch while the plugin
// still runs.
func TestPluginThatHangs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"watch": {[]string{"cm"}, fail.ExitOK, ""},
		"list":  {[]string{"list", "cm"}, fail.ExitFailed, "error: interrupted before the output was complete: nothing was printed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCredentials(t)
			c.hang(t, "")
			p := startPiped(t, c.kubeconfig(t, "https://127.0.0.1:1", ""), append(test.args, "--request-timeout", "1s")...)
			p.says(t, "^"+waitingForPlugin+"$")
			p.signal(os.Interrupt)
			p.endsWithin(t, promptlyWithPlugin, test.code, waitingForPlugin+"\n"+test.want)
		})
	}
}

// TestPluginThatHangsLater does the same during a watch, when the credentials have expired, or the server rejects them.
func TestPluginThatHangsLater(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]bool{"expired": false, "unauthorized": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, _ := room(t)
			c := newCredentials(t)
			watches := make(chan context.CancelFunc, 100)
			refused := make(chan struct{}, 100)
			f := front{instead: func(w http.ResponseWriter, r *http.Request) bool {
				if !r.URL.Query().Has("watch") {
					return false
				}
				if refuse && !r.URL.Query().Has("sendInitialEvents") {
					c.hang(t, "")
					w.WriteHeader(http.StatusUnauthorized)
					refused <- struct{}{}
					return true
				}
				ctx, cancel := context.WithCancel(r.Context())
				*r = *r.WithContext(ctx)
				watches <- cancel
				return false
			}}
			p := startPiped(t, c.kubeconfig(t, f.serveTLS(t), o.namespace), "cm")
			p.says(t, "^no configmaps in namespace \\S+ yet$")
			if !refuse {
				c.hang(t, "")
			}
			receive(t, watches)()
			if refuse {
				receive(t, refused)
			}
			p.says(t, "^"+waitingForPlugin+"$")
			p.signal(os.Interrupt)
			p.endsWithin(t, promptlyWithPlugin, fail.ExitOK, "watching .*\nno configmaps .*\n(connection lost, .*\n)?"+waitingForPlugin+"\n")
		})
	}
}

// TestPluginInLive checks that the output of a plugin becomes a message in the live table, with its control characters
// escaped. The table ends while the plugin still runs.
func TestPluginInLive(t *testing.T) {
	t.Parallel()
	o, _ := room(t)
	o.create(t, "one")
	c := newCredentials(t)
	watches := make(chan context.CancelFunc, 100)
	f := front{instead: func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Has("watch") {
			ctx, cancel := context.WithCancel(r.Context())
			*r = *r.WithContext(ctx)
			watches <- cancel
		}
		return false
	}}
	m := startTmux(t, 100, 24, c.kubeconfig(t, f.serveTLS(t), o.namespace))
	m.live("cm")
	m.shows(`^   one +0 `)
	c.hang(t, "log in\x1b[2J at https://login.invalid\n\n")
	receive(t, watches)()
	m.press("l")
	m.shows(`log in\\u001b\[2J at https://login\.invalid`)
	m.press("q", "q")
	m.shows(`^END=0$`)
	m.isAsBefore()
}

// TestPluginThatAsks checks that the output of a plugin is printed at once, as it may be a question. The answer may take
// longer than the timeout of requests.
func TestPluginThatAsks(t *testing.T) {
	t.Parallel()
	o, _ := room(t)
	c := newCredentials(t)
	c.hang(t, "Go on\x1b[31m? ")
	p := startPiped(t, c.kubeconfig(t, front{}.serveTLS(t), o.namespace), "cm", "--request-timeout", "10s")
	p.says(t, `^Go on\x1b\[31m\? $`)
	if err := os.Remove(filepath.Join(c.dir, "hang")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.gate.WriteString("yes\n"); err != nil {
		t.Fatal(err)
	}
	p.says(t, "^no configmaps in namespace \\S+ yet$")
	p.signal(os.Interrupt)
	p.ends(t, fail.ExitOK, `Go on\x1b\[31m\? \S+ watching .*\nno configmaps .*\n`)
}
