package program

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// newIdentity returns the TLS configuration of a receiver, and writes the files that a script needs.
func newIdentity(ts *testscript.TestScript, h *hook) *tls.Config {
	a := newAuthority(ts)
	writePEM(ts, h.name+".ca", "CERTIFICATE", a.certificate.Raw)
	until, names, addresses := time.Now().Add(time.Hour), []string{"receiver.invalid"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	switch h.kind {
	case "expired":
		until = time.Now().Add(-24 * time.Hour)
	case "otherhost":
		addresses = nil
	}
	config := &tls.Config{Certificates: []tls.Certificate{a.certify(ts, &x509.Certificate{
		NotBefore: until.Add(-48 * time.Hour), NotAfter: until, DNSNames: names, IPAddresses: addresses,
	})}}
	if h.kind == "mtls" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(a.certificate)
		client := a.certify(ts, &x509.Certificate{NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		key, err := x509.MarshalPKCS8PrivateKey(client.PrivateKey)
		ts.Check(err)
		writePEM(ts, h.name+".crt", "CERTIFICATE", client.Certificate[0])
		writePEM(ts, h.name+".key", "PRIVATE KEY", key)
	}
	return config
}

func newAuthority(ts *testscript.TestScript) *authority {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of a script"},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	ts.Check(err)
	certificate, err := x509.ParseCertificate(raw)
	ts.Check(err)
	return &authority{certificate, key}
}

func (a *authority) certify(ts *testscript.TestScript, template *x509.Certificate) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ts.Check(err)
	template.SerialNumber = big.NewInt(2)
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	ts.Check(err)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}

func writePEM(ts *testscript.TestScript, name, kind string, content []byte) {
	ts.Check(os.WriteFile(ts.MkAbs(name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}), 0o600))
}
