package secret

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
)

// TestSetRootCAs checks that the trusted authorities stay unchanged without a file, and if the file can't be read.
func TestSetRootCAs(t *testing.T) {
	roots := x509.NewCertPool()
	c := &tls.Config{RootCAs: roots}
	if err := SetRootCAs(c, "", "--to-ca"); err != nil || c.RootCAs != roots {
		t.Errorf("without a file: got error %v, unchanged %t", err, c.RootCAs == roots)
	}
	if err := SetRootCAs(c, "missing.pem", "--to-ca"); err == nil || c.RootCAs != roots {
		t.Errorf("missing file: got error %v, unchanged %t", err, c.RootCAs == roots)
	}
}
