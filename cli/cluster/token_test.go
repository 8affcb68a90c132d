package cluster

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/spf13/pflag"
)

// TestTokenFileIsReadAgain checks that dwatch reads the token file again after the server has refused the token.
func TestTokenFileIsReadAgain(t *testing.T) {
	taken := "one"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+taken {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := write("token", "one\n")
	c := connectAs(t, server.URL, `{tokenFile: "`+token+`"}`)
	ask := func() int {
		t.Helper()
		answer, err := c.HTTP.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		return answer.StatusCode
	}
	if got := ask(); got != http.StatusOK {
		t.Errorf("got status %d with the first token, want 200", got)
	}
	taken = "two" // the server accepts it before the file contains it
	if got := []int{ask(), ask(), ask()}; slices.Contains(got, http.StatusOK) {
		t.Errorf("got status %d with the old token, want 401", got)
	}
	write("token", "two\n")
	if got := []int{ask(), ask()}; got[1] != http.StatusOK {
		t.Errorf("got status %d with the new token, want 200 in the second request", got)
	}
}

// connectAs connects to a server with a kubeconfig that contains this user.
func connectAs(t *testing.T, server, user string) *Cluster {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: c}}],
		clusters: [{name: c, cluster: {server: "` + server + `", insecure-skip-tls-verify: true}}], users: [{name: c, user: ` + user + `}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var flags Flags
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlags(set)
	if err := set.Parse([]string{"--kubeconfig", kubeconfig}); err != nil {
		t.Fatal(err)
	}
	c, err := flags.Connect(Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
