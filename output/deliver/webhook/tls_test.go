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

	"dwatch/testdata/testenv"
)

// changing is a receiver whose certificate is by one authority and then by another one, and a Webhook with a file of those that it trusts.
type changing struct {
	*testing.T
	*httptest.Server
	*Receiver
	path        string
	certificate atomic.Pointer[tls.Config]
	closes      atomic.Bool // each connection after an answer
}

func newChanging(t *testing.T, by *testenv.Authority) *changing {
	s := &changing{T: t, path: filepath.Join(t.TempDir(), "ca.crt")}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if s.closes.Load() {
			w.Header().Set("Connection", "close")
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	s.Server.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.certificate.Load(), nil }}
	s.StartTLS()
	t.Cleanup(s.Server.Close)
	s.show(by)
	s.trust(by.PEM)
	s.Receiver = to(t, s.URL, func(o *Options) { o.CA = s.path })
	return s
}

func (s *changing) show(by *testenv.Authority) {
	pair, err := tls.X509KeyPair(by.Sign("server"))
	if err != nil {
		s.Fatal(err)
	}
	s.certificate.Store(&tls.Config{Certificates: []tls.Certificate{pair}})
}

func (s *changing) trust(authorities ...[]byte) {
	if err := cmp.Or(os.WriteFile(s.path+".new", bytes.Join(authorities, nil), 0o600), os.Rename(s.path+".new", s.path)); err != nil {
		s.Fatal(err)
	}
}

// send returns what becomes of a message.
func (s *changing) send() string {
	if err := s.Send(s.Context(), message()); err != nil {
		return kind(err) + ": " + err.Error()
	}
	return "delivered"
}

func (s *changing) sends(want string) {
	s.Helper()
	if got := s.send(); !strings.Contains(got, want) {
		s.Errorf("%s, want %s", got, want)
	}
}

const untrusted = "down 0s: tls: failed to verify certificate: x509: certificate signed by unknown authority"

// TestAuthorityChanges: the authorities that are trusted are those that the file has now, also of a connection that is kept, and of a
// file of many.
func TestAuthorityChanges(t *testing.T) {
	first, second := testenv.NewAuthority(), testenv.NewAuthority()
	s := newChanging(t, first)
	s.closes.Store(true)
	s.sends("delivered")
	s.closes.Store(false)
	s.show(second)
	s.sends(untrusted)
	s.trust(first.PEM, bytes.Repeat([]byte("# one of many\n"), 10_000), second.PEM)
	s.sends("delivered")
	s.trust(first.PEM) // the connection is one to whom it does not trust any more
	s.sends(untrusted)
	s.trust([]byte("nothing"))
	s.sends("down 0s: --to-ca " + s.path + ": there is no certificate in it, in PEM")
	s.trust(second.PEM)
	s.sends("delivered")
}

// TestKeptConnectionIsClosed: a receiver that is not trusted any more is down for all messages, also where that shows when a
// connection that was kept is found to be closed.
func TestKeptConnectionIsClosed(t *testing.T) {
	first, second := testenv.NewAuthority(), testenv.NewAuthority()
	s := newChanging(t, first)
	for range 200 { // when it is found is chance
		s.show(first)
		s.sends("delivered")
		s.show(second)
		s.CloseClientConnections()
		if got := s.send(); strings.Contains(got, "certificate") && !strings.HasPrefix(got, untrusted) {
			t.Fatal(got)
		}
	}
}
