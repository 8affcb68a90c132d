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

// SetRootCAs makes c trust only the authorities in a file. If ca is empty, c is unchanged.
func SetRootCAs(c *tls.Config, ca, flag string) error {
	roots, err := LoadRootCAs(ca, flag)
	if err == nil {
		c.RootCAs, err = roots.Get()
	}
	return err
}

// LoadRootCAs returns the authorities in a file that flag names, or nil if ca is empty. The Value changes with the file.
func LoadRootCAs(ca, flag string) (*Value[*x509.CertPool], error) {
	return Load(Source{Name: flag, Path: ca, IsBundle: true}, func(text string) (*x509.CertPool, error) {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM([]byte(text)) {
			return nil, errors.New("there is no certificate in it, in PEM")
		}
		return roots, nil
	})
}

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

func fileError(flag, path string, err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err // without the path
	}
	return fmt.Errorf("%s %s: %w", flag, path, err)
}

// ExplainConnectionError adds a hint to the error of a failed connection. ca is the flag for trusted authorities.
func ExplainConnectionError(err error, ca string) error {
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &authority):
		return fmt.Errorf("%w; %s gives its authority", err, ca)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("it does not speak TLS: is it an http:// address?")
	case errors.As(err, &op) && op.Op == "dial":
		return op.Err // without the address
	}
	return err
}

// IsLoopback reports whether HOST or HOST:PORT is this machine.
func IsLoopback(address string) bool {
	host := (&url.URL{Host: address}).Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
