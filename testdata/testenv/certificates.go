package testenv

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates.
type Authority struct {
	// PEM is the authority's own certificate.
	PEM []byte

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority creates an authority with a new key.
func NewAuthority() *Authority {
	a := &Authority{key: newKey()}
	a.certificate = &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	raw := must(x509.CreateCertificate(rand.Reader, a.certificate, a.certificate, &a.key.PublicKey, a.key))
	a.certificate = must(x509.ParseCertificate(raw))
	a.PEM = encode("CERTIFICATE", raw)
	return a
}

// Sign returns a certificate for servers and clients on this machine, and its key, both in PEM.
func (a *Authority) Sign(name string) (certificate, key []byte) {
	of := newKey()
	c := &x509.Certificate{
		SerialNumber: newSerial(), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	raw := must(x509.CreateCertificate(rand.Reader, c, a.certificate, &of.PublicKey, a.key))
	return encode("CERTIFICATE", raw), encode("PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(of)))
}

// WriteCertificates returns a temporary directory with the certificate of an authority, ca.crt, and two certificates
// that it signed: server.crt for this machine and client.crt. Their keys are in server.key and client.key.
func WriteCertificates(t *testing.T) string {
	t.Helper()
	dir, authority := t.TempDir(), NewAuthority()
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ca.crt", authority.PEM)
	for _, name := range []string{"server", "client"} {
		certificate, key := authority.Sign(name)
		write(name+".crt", certificate)
		write(name+".key", key)
	}
	return dir
}

func newKey() *ecdsa.PrivateKey { return must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

func newSerial() *big.Int { return must(rand.Int(rand.Reader, big.NewInt(1<<62))) }

func encode(kind string, content []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
