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

// trustTest has a server whose certificate can change, and a Receiver with a file of trusted authorities.
type trustTest struct {
	*testing.T
	*httptest.Server
	*Receiver
	path        string // of the file with trusted authorities
	certificate atomic.Pointer[tls.Config]
	closes      atomic.Bool // whether the server closes connections after each response
}

func newTrustTest(t *testing.T, by *testenv.Authority) *trustTest {
	s := &trustTest{T: t, path: filepath.Join(t.TempDir(), "ca.crt")}
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
	s.setCertificate(by)
	s.trust(by.PEM)
	s.Receiver = to(t, s.URL, func(o *Options) { o.CA = s.path })
	return s
}

// setCertificate changes the server's certificate to one that an authority has signed.
func (s *trustTest) setCertificate(by *testenv.Authority) {
	pair, err := tls.X509KeyPair(by.Sign("server"))
	if err != nil {
		s.Fatal(err)
	}
	s.certificate.Store(&tls.Config{Certificates: []tls.Certificate{pair}})
}

// trust changes the file with trusted authorities.
func (s *trustTest) trust(authorities ...[]byte) {
	if err := cmp.Or(os.WriteFile(s.path+".new", bytes.Join(authorities, nil), 0o600), os.Rename(s.path+".new", s.path)); err != nil {
		s.Fatal(err)
	}
}

// send sends a message and returns a description of the result.
func (s *trustTest) send() string {
	if err := s.Send(s.Context(), message()); err != nil {
		return kind(err) + ": " + err.Error()
	}
	return "delivered"
}

// checkSend sends a message and checks the description of the result.
func (s *trustTest) checkSend(want string) {
	s.Helper()
	if got := s.send(); !strings.Contains(got, want) {
		s.Errorf("got %s, want %s", got, want)
	}
}

const untrusted = "down 0s: tls: failed to verify certificate: x509: certificate signed by unknown authority"

// TestAuthorityChanges checks that a changed file of trusted authorities takes effect at once, also for an idle connection, and if
// the file is large.
func TestAuthorityChanges(t *testing.T) {
	first, second := testenv.NewAuthority(), testenv.NewAuthority()
	s := newTrustTest(t, first)
	s.closes.Store(true)
	s.checkSend("delivered")
	s.closes.Store(false)
	s.setCertificate(second)
	s.checkSend(untrusted)
	s.trust(first.PEM, bytes.Repeat([]byte("# one of many\n"), 10_000), second.PEM)
	s.checkSend("delivered")
	s.trust(first.PEM) // the idle connection is to a server that is no longer trusted
	s.checkSend(untrusted)
	s.trust([]byte("nothing"))
	s.checkSend("down 0s: --to-ca " + s.path + ": there is no certificate in it, in PEM")
	s.trust(second.PEM)
	s.checkSend("delivered")
}

// TestClosedIdleConnection checks that Send returns a DownError for an untrusted server, also if an idle connection turns out to be
// closed only when it is used.
func TestClosedIdleConnection(t *testing.T) {
	first, second := testenv.NewAuthority(), testenv.NewAuthority()
	s := newTrustTest(t, first)
	for range 200 { // the transport notices at random times that a connection is closed
		s.setCertificate(first)
		s.checkSend("delivered")
		s.setCertificate(second)
		s.CloseClientConnections()
		if got := s.send(); strings.Contains(got, "certificate") && !strings.HasPrefix(got, untrusted) {
			t.Fatalf("got %s, want a DownError", got)
		}
	}
}
