package jetstream

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"

	"dwatch/output/deliver"
	"dwatch/testdata/testenv"
)

const password = "hunter2-hunter2"

// checkLogin checks that a message is stored with the options o, and that the server rejects the login without them. Check returns
// that as an error that is no DownError.
func checkLogin(t *testing.T, s *testenv.NATS, own nats.Option, o Options) {
	t.Helper()
	stream := newStream(t, client(t, s, own), jetstream.StreamConfig{})
	r, _ := newReceiver(t, s.Address, o)
	if err := r.Send(t.Context(), pod("a", 1)); err != nil || len(stored(t, stream)) != 1 {
		t.Errorf("with a login: %d messages stored, %v, want 1", len(stored(t, stream)), err)
	}
	stranger, _ := newReceiver(t, s.Address, Options{})
	err := stranger.Check(t.Context())
	if want := "nats://" + s.Address + " rejected the login: nats: Authorization Violation; check --nats-creds, --nats-nkey or --nats-login"; err == nil || isDown(err) || isSetup(err) || !strings.EqualFold(err.Error(), want) {
		t.Errorf("check without a login: got %v, want %s", err, want)
	}
	if err := stranger.Send(t.Context(), pod("a", 1)); !isDown(err) { // the server may accept the login later
		t.Errorf("send without a login: got %v, want a DownError", err)
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	s := configured(t, "authorization { user: dw, password: "+password+" }")
	checkLogin(t, s, nats.UserInfo("dw", password), Options{Login: file(t, "login", "dw:"+password+"\n")})
}

func TestToken(t *testing.T) {
	t.Parallel()
	s := configured(t, "authorization { token: "+password+" }")
	checkLogin(t, s, nats.Token(password), Options{Login: file(t, "login", password)})
}

func TestNKey(t *testing.T) {
	t.Parallel()
	user := must(nkeys.CreateUser())
	seed := string(must(user.Seed()))
	s := configured(t, "authorization { users: [ { nkey: "+must(user.PublicKey())+" } ] }")
	path := file(t, "seed", seed)
	checkLogin(t, s, must(nats.NkeyOptionFromSeed(path)), Options{NKey: path})
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	account := testenv.NewNATSAccount()
	s := configured(t, account.ServerConfig)
	path := file(t, "user.creds", account.Credentials(time.Time{}))
	checkLogin(t, s, nats.UserCredentials(path), Options{Credentials: path})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestTLS checks that the Receiver verifies the server's certificate, and presents its own.
func TestTLS(t *testing.T) {
	t.Parallel()
	dir := testenv.WriteCertificates(t)
	path := func(name string) string { return filepath.Join(dir, name) }
	s := configured(t, fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }", path("server.crt"), path("server.key"), path("ca.crt")))
	all := Options{TLS: deliver.TLS{CA: path("ca.crt"), Cert: path("client.crt"), Key: path("client.key")}}
	stream := newStream(t, client(t, s, nats.RootCAs(all.CA), nats.ClientCert(all.Cert, all.Key)), jetstream.StreamConfig{})
	for _, scheme := range []string{"tls", "nats"} {
		o := all
		o.Server = scheme + "://" + s.Address
		r, _ := newReceiver(t, s.Address, o)
		if err := r.Send(t.Context(), pod(scheme, 1)); err != nil {
			t.Errorf("%s: %v", scheme, err)
		}
	}
	if got := len(stored(t, stream)); got != 2 {
		t.Errorf("%d messages stored, want 2", got)
	}
	for name, test := range map[string]struct {
		o    Options
		want string
	}{
		"unknown authority": {Options{}, "unknown authority"},
		"another authority": {Options{TLS: deliver.TLS{CA: path("client.crt")}}, "unknown authority"},
		"no certificate":    {Options{TLS: deliver.TLS{CA: all.CA}}, "certificate"}, // "certificate required", or only the hint
	} {
		test.o.Server = "tls://" + s.Address
		r, _ := newReceiver(t, s.Address, test.o)
		if err := r.Check(t.Context()); err == nil || isDown(err) || !strings.HasPrefix(err.Error(), "TLS with tls://127.0.0.1:") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
	plain := newServer(t)
	r, _ := newReceiver(t, "", Options{Server: "tls://" + plain.Address})
	if err := r.Check(t.Context()); err == nil || isDown(err) || !strings.Contains(err.Error(), "does not speak TLS") {
		t.Errorf("server without TLS: got %v", err)
	}
}

// TestPermissions checks that missing permissions are reported quickly, and affect only the denied subject.
func TestPermissions(t *testing.T) {
	t.Parallel()
	const users = `accounts { A { jetstream: enabled, users: [
		{ user: all, password: p }
		{ user: pods, password: p, permissions: { publish: { deny: ["d.apps.>"] } } }
		{ user: blind, password: p, permissions: { publish: ["d.core.>"] } }
		{ user: deaf, password: p, permissions: { subscribe: { deny: [">"] } } }
		{ user: reader, password: p, permissions: { publish: { deny: ["$JS.API.STREAM.CREATE.>"] } } }
	] } }`
	s := configured(t, users)
	js := client(t, s, nats.UserInfo("all", "p"))
	as := func(user string, o Options) (*Receiver, *notes) {
		o.Login = file(t, "login", user+":p")
		return newReceiver(t, s.Address, o)
	}
	begun := time.Now()

	reader, _ := as("reader", Options{CreateStream: "D"})
	if err := reader.Check(t.Context()); err == nil || isDown(err) || !strings.Contains(err.Error(), "does not permit this user to publish to $JS.API.STREAM.CREATE.D") {
		t.Errorf("create a stream without permission: got %v", err)
	}
	newStream(t, js, jetstream.StreamConfig{})

	pods, _ := as("pods", Options{})
	if err := pods.Send(t.Context(), pod("a", 1)); err != nil {
		t.Error(err)
	}
	err := pods.Send(t.Context(), message("apps", "deployments", "ns", "web"))
	if err == nil || isDown(err) || isRefused(err) || err.Error() != "the server does not permit this user to publish to d.apps.deployments.ns.web" {
		t.Errorf("publish to a denied subject: got %v", err)
	}
	if err := pods.Send(t.Context(), pod("a", 2)); err != nil {
		t.Error(err)
	}

	blind, noted := as("blind", Options{})
	if err := blind.Send(t.Context(), pod("b", 1)); err != nil || !strings.Contains(noted.String(), "may not list streams") {
		t.Errorf("user that may not list streams: got %v, notes %s", err, noted)
	}

	deaf, _ := as("deaf", Options{})
	if err := deaf.Send(t.Context(), pod("b", 2)); !isDown(err) || !strings.Contains(err.Error(), "responses can't be received") {
		t.Errorf("user that may not subscribe: got %v", err)
	}
	if took := time.Since(begun); took > 4*openTimeout {
		t.Errorf("took %s, want at most %s", took, 4*openTimeout)
	}
}
