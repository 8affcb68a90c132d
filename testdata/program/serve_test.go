//go:build unix

package program

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"dwatch/cli/fail"
)

// page is a browser that has opened the address of a page.
type page struct {
	*http.Client
	address *url.URL
}

var pageLine = regexp.MustCompile(`(?m)^page: (\S+)$`)

// page opens the address that dwatch logs.
func (p *piped) page(t *testing.T, trust *x509.CertPool) *page {
	t.Helper()
	p.says(t, pageLine.String())
	address, err := url.Parse(pageLine.FindStringSubmatch(p.stderr.String())[1])
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}}
	if trust != nil { // the name in the certificate cannot be resolved
		transport.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
			_, port, _ := net.SplitHostPort(to)
			return new(net.Dialer).DialContext(ctx, network, "127.0.0.1:"+port)
		}
	}
	t.Cleanup(transport.CloseIdleConnections)
	b := &page{&http.Client{Jar: jar, Transport: transport, Timeout: patience}, address}
	response, err := b.Get(address.String())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), "<title>") || response.Request.URL.RawQuery != "" {
		t.Fatalf("%s %s: %.200s, %v", response.Request.URL, response.Status, text, err)
	}
	return b
}

// get requests a path of the page.
func (b *page) get(t *testing.T, path string) string {
	t.Helper()
	response, err := b.Get(b.address.Scheme + "://" + b.address.Host + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s, %v", path, response.Status, text, err)
	}
	return string(text)
}

// viewer receives the messages of a page.
type viewer struct{ conn *websocket.Conn }

func (b *page) view(t *testing.T) *viewer {
	t.Helper()
	return b.viewAt(t, 0)
}

// viewAt opens the page at a time of a recording in milliseconds. Zero means the initial time.
func (b *page) viewAt(t *testing.T, time int64) *viewer {
	t.Helper()
	path := "/ws"
	if time > 0 {
		path += fmt.Sprintf("?time=%d", time)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, b.address.Scheme+"://"+b.address.Host+path, &websocket.DialOptions{HTTPClient: &http.Client{Jar: b.Jar, Transport: b.Transport}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(1 << 20)
	return &viewer{conn}
}

// until reads messages up to the first that matches, and returns all of them.
func (v *viewer) until(t *testing.T, pattern string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for all := ""; ; {
		_, text, err := v.conn.Read(ctx)
		if err != nil {
			t.Fatalf("%v before %s:\n%s", err, pattern, all)
		}
		all += string(text) + "\n"
		if regexp.MustCompile(pattern).Match(text) {
			return all
		}
	}
}

const secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: hunter2}\n"

// TestPage checks that the page has the objects with the server's columns, and the changes, but no value of a Secret,
// and that dwatch prints nothing on stdout.
func TestPage(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	file := filepath.Join(t.TempDir(), "objects.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, configMap+secret, "one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := o.apply(file, strings.NewReplacer()); err != nil {
		t.Fatal(err)
	}
	p := startPiped(t, kubeconfig, "serve", "cm/one", "secrets/login")
	b := p.page(t, nil)
	v := b.view(t)
	v.until(t, `"event":"SYNCED".*|"type":"snapshot"`)
	rows := func() string { return b.get(t, "/api/objects?object=true") }
	for end := time.Now().Add(patience); strings.Count(rows(), `"key"`) < 2; {
		if time.Now().After(end) {
			t.Fatal(rows())
		}
	}
	if text := rows(); !strings.Contains(text, `"cells":["login","Opaque",1,null]`) {
		t.Errorf("the server's columns are missing: %s", text)
	}
	if err := o.patch("configmaps/one", `{"data":{"k":"v"}}`); err != nil {
		t.Fatal(err)
	}
	change := v.until(t, `"name":"one","changes"`)
	if !regexp.MustCompile(`"changes":\[\{"path":"data","kind":"added","new":"\{\\"k\\":\\"v\\"\}"`).MatchString(change) {
		t.Errorf("the change: %s", change)
	}
	if err := o.patch("secrets/login", `{"stringData":{"password":"hunter3"}}`); err != nil {
		t.Fatal(err)
	}
	change += v.until(t, `"path":"data.password".*"masked":true`)
	seen := change + rows() + b.get(t, "/api/feed")
	for _, value := range []string{"hunter", "aHVudGVy"} {
		if strings.Contains(seen, value) {
			t.Errorf("the page shows %s", value)
		}
	}
	p.signal(os.Interrupt)
	v.until(t, `"type":"bye","reason":"the run has ended"`)
	p.ends(t, fail.ExitOK, `page: http://127\.0\.0\.1:\d+/\?token=[0-9a-f]{32}\nwatching .*\n`)
	if out := p.rest(t); len(out) > 0 {
		t.Errorf("printed: %s", out)
	}
}

// TestPageQuiet checks that --addr can be a host name of this machine, and that only the address is printed with
// --quiet.
func TestPageQuiet(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	p := startPiped(t, kubeconfig, "serve", "cm", "-q", "--addr", "localhost:0")
	b := p.page(t, nil)
	v := b.view(t)
	v.until(t, `"watch":\{"state":"live"`) // otherwise the event may belong to the existing objects
	o.create(t, "one")
	v.until(t, `"event":"ADDED".*"feed":true.*"name":"one"`)
	p.signal(os.Interrupt)
	p.ends(t, fail.ExitOK, `page: .*\n`)
	if out := p.rest(t); len(out) > 0 {
		t.Errorf("printed: %s", out)
	}
}

// TestPageAddressInUse checks that an address in use is a usage error, reported before dwatch sends a request to the
// server.
func TestPageAddressInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, kubeconfig := room(t)
	p := startPiped(t, kubeconfig, "serve", "cm", "--addr", taken.Addr().String())
	p.ends(t, fail.ExitUsage, `error: --addr 127\.0\.0\.1:\d+: another program listens there: choose another port, or 0 for a free one\n`)
}

// TestPageTLS checks that the page is served over TLS with --tls-cert, under the name in the certificate.
func TestPageTLS(t *testing.T) {
	t.Parallel()
	o, kubeconfig := room(t)
	o.create(t, "one")
	dir := t.TempDir()
	trust := certify(t, dir, "dwatch.example")
	p := startPiped(t, kubeconfig, "serve", "cm/one", "--addr", "0.0.0.0:0", "--tls-cert", filepath.Join(dir, "crt"), "--tls-key", filepath.Join(dir, "key"))
	b := p.page(t, trust)
	if b.address.Scheme != "https" || b.address.Hostname() != "dwatch.example" {
		t.Errorf("the address is %s", b.address)
	}
	b.view(t).until(t, `"name":"one"`)
	if response, err := http.Get("http://127.0.0.1:" + b.address.Port() + "/"); err != nil || response.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %v, %v", response, err)
	}
	p.signal(os.Interrupt)
	p.ends(t, fail.ExitOK, `(?s)page: https://.*`)
}

// certify writes a certificate for a name, and its key, into dir.
func certify(t *testing.T, dir, name string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{"crt": {Type: "CERTIFICATE", Bytes: der}, "key": {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trust := x509.NewCertPool()
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trust.AddCert(certificate)
	return trust
}
