package secret

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"

	"dwatch/output/deliver"
)

// TLSConfig returns a TLS configuration. It reads the client certificate again for each connection, but not the authorities: use
// LoadRootCAs to notice their changes.
func TLSConfig(o deliver.TLS) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if err := SetRootCAs(c, o.CA, "--to-ca"); err != nil {
		return nil, err
	}
	if o.Cert == "" {
		return c, nil
	}
	if _, err := readPair(o.Cert, o.Key); err != nil {
		return nil, err
	}
	c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return readPair(o.Cert, o.Key) // it may have been renewed
	}
	return c, nil
}

// SetRootCAs makes c trust only the authorities in the file ca. flag is the flag that names the file. If ca is empty, or
// after an error, c is unchanged.
func SetRootCAs(c *tls.Config, ca, flag string) error {
	file, err := LoadRootCAs(ca, flag)
	if file == nil {
		return err
	}
	roots, err := file.Get()
	if err != nil {
		return err
	}
	c.RootCAs = roots
	return nil
}

// LoadRootCAs returns the authorities in the file ca, or nil if ca is empty. flag is the flag that names the file. The Value
// changes with the file.
func LoadRootCAs(ca, flag string) (*Value[*x509.CertPool], error) {
	return Load(Source{Name: flag, Path: ca, IsBundle: true}, func(text string) (*x509.CertPool, error) {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(text)) {
			return nil, errors.New("there is no certificate in it, in PEM")
		}
		return roots, nil
	})
}

// readPair reads a client certificate and its key.
func readPair(cert, key string) (*tls.Certificate, error) {
	for flag, path := range map[string]string{"--to-cert": cert, "--to-key": key} {
		if _, err := os.Stat(path); err != nil {
			return nil, fileError(flag, path, err)
		}
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fileError("--to-cert", cert, err)
	}
	return &pair, nil
}

// fileError names the flag and the path in an error about a file.
func fileError(flag, path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // without the path
	}
	return fmt.Errorf("%s %s: %w", flag, path, err)
}

// ExplainConnectionError makes the error of a failed connection easier to understand: it adds a hint, or leaves out the
// address, which the caller names. ca is the flag for trusted authorities. Other errors are returned unchanged.
func ExplainConnectionError(err error, ca string) error {
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &authority):
		return fmt.Errorf("%w; set %s to a file with the certificate of its authority", err, ca)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("it does not speak TLS: is it an http:// address?")
	case errors.As(err, &op) && op.Op == "dial":
		return op.Err // without the address
	}
	return err
}

// IsLoopback reports whether HOST or HOST:PORT is localhost or a loopback address. An IPv6 address must be in brackets.
func IsLoopback(address string) bool {
	host := (&url.URL{Host: address}).Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
