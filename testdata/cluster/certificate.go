package main

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/keyutil"
)

// certDir is where, among the data, the API server looks for its certificate and key, and
// makes them, of RSA, if they are not there: that takes a tenth of its start.
const certDir = "certs"

// loadCertificate returns the certificate kept in data, made up when it is new. It is its
// own authority.
func loadCertificate(data *dataDir) ([]byte, error) {
	if err := os.MkdirAll(data.path(certDir), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the certificate: %w", err)
	}
	encoded, err := data.loadOrCreate(filepath.Join(certDir, "apiserver.key"), newPrivateKey)
	if err != nil {
		return nil, fmt.Errorf("cannot load the key of the API server: %w", err)
	}
	certificate, err := data.loadOrCreate(filepath.Join(certDir, "apiserver.crt"), func() ([]byte, error) { return newCertificate(encoded) })
	if err != nil {
		return nil, fmt.Errorf("cannot load the certificate of the API server: %w", err)
	}
	return certificate, nil
}

// newCertificate returns a certificate for servers on loopback, signed with their own key.
func newCertificate(encodedKey []byte) ([]byte, error) {
	parsed, err := keyutil.ParsePrivateKeyPEM(encodedKey)
	if err != nil {
		return nil, err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return nil, errors.New("the key is of no use for a signature")
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: "127.0.0.1"},
		DNSNames:              []string{"localhost"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(365 * 24 * time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	content, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: content}), nil
}
