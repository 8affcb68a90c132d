package bed

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

// Certificates makes a directory with an authority, ca.crt, and what it has signed: server.crt, of this machine, and client.crt, each
// with its .key.
func Certificates(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	authorityKey := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	write := func(name, kind string, bytes []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("ca.crt", "CERTIFICATE", must(x509.CreateCertificate(rand.Reader, authority, authority, &authorityKey.PublicKey, authorityKey)))
	for i, name := range []string{"server", "client"} {
		key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 2)), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
			IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		write(name+".crt", "CERTIFICATE", must(x509.CreateCertificate(rand.Reader, c, authority, &key.PublicKey, authorityKey)))
		write(name+".key", "PRIVATE KEY", must(x509.MarshalPKCS8PrivateKey(key)))
	}
	return dir
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
