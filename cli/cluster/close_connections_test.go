package cluster

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
)

// TestCloseConnections checks that requests after CloseConnections use a new connection, for each kind of credentials, and
// that NewSeparateClient uses its own HTTP/1.1 connection.
func TestCloseConnections(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Proto+" "+r.RemoteAddr)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	dir := t.TempDir()
	token, plugin := filepath.Join(dir, "token"), filepath.Join(dir, "plugin")
	script := "#!/bin/sh\n" + `echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "one"}}'` + "\n"
	for path, text := range map[string]string{token: "one\n", plugin: script} {
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, user := range map[string]string{
		"token":  `{token: "one"}`,
		"file":   `{tokenFile: "` + token + `"}`,
		"plugin": `{exec: {apiVersion: client.authentication.k8s.io/v1, command: "` + plugin + `", interactiveMode: Never}}`,
	} {
		t.Run(name, func(t *testing.T) {
			c := connectAs(t, server.URL, user)
			separate, err := c.NewSeparateClient()
			if err != nil {
				t.Fatal(err)
			}
			ask := func(client *http.Client) string {
				t.Helper()
				answer, err := client.Get(server.URL)
				if err != nil {
					t.Fatal(err)
				}
				defer answer.Body.Close()
				text, err := io.ReadAll(answer.Body)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			first, again, other := ask(c.HTTP), ask(c.HTTP), ask(separate)
			c.CloseConnections()
			renewed := ask(c.HTTP)
			if first != again || first == renewed || first[:8] != "HTTP/2.0" || other[:8] != "HTTP/1.1" {
				t.Errorf("got connections %s, %s, then %s, and %s of the separate client", first, again, renewed, other)
			}
		})
	}
}
