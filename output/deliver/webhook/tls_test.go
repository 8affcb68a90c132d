package webhook

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"dwatch/testdata/bed"
)

// TestAuthorityChanges: the authorities that are trusted are those that the file has now, also of a connection that is kept, and of a
// file of many.
func TestAuthorityChanges(t *testing.T) {
	first, second := bed.NewAuthority(), bed.NewAuthority()
	var shown atomic.Pointer[tls.Config]
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return shown.Load(), nil }}
	show := func(by *bed.Authority) {
		pair, err := tls.X509KeyPair(by.Sign("server"))
		if err != nil {
			t.Fatal(err)
		}
		shown.Store(&tls.Config{Certificates: []tls.Certificate{pair}})
	}
	show(first)
	server.StartTLS()
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "ca.crt")
	trust := func(authorities ...[]byte) {
		if err := cmp.Or(os.WriteFile(path+".new", bytes.Join(authorities, nil), 0o600), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
	}
	trust(first.PEM)
	w := to(t, server.URL, func(o *Options) { o.CA = path })
	send := func(want string) {
		t.Helper()
		got := "delivered"
		if err := w.Send(t.Context(), message()); err != nil {
			got = kind(err) + ": " + err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	send("delivered")
	show(second)
	server.CloseClientConnections()
	send("down 0s: tls: failed to verify certificate: x509: certificate signed by unknown authority")
	trust(first.PEM, bytes.Repeat([]byte("# one of many\n"), 10_000), second.PEM)
	send("delivered")
	trust(first.PEM) // the connection is one to whom it does not trust any more
	send("down 0s: tls: failed to verify certificate: x509: certificate signed by unknown authority")
	trust([]byte("nothing"))
	send("down 0s: --to-ca " + path + ": there is no certificate in it, in PEM")
	trust(second.PEM)
	send("delivered")
}
