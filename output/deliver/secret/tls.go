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

// TLS says how to speak it, as who, and with whom. Its files are read again for each connection, but for the authorities: who makes
// several connections of one has Roots say when these are others.
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
		return readPair(o.Cert, o.Key) // for each connection, as they may be renewed
	}
	return c, nil
}

// Trust has only the authorities in a file be trusted, if there is one.
func SetRootCAs(c *tls.Config, ca, flag string) error {
	roots, err := LoadRootCAs(ca, flag)
	if err == nil {
		c.RootCAs, err = roots.Get()
	}
	return err
}

// Roots are the authorities in a file that a flag names, other ones once it has changed; nil: there is none.
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
		err = failed.Err // it names the file once more
	}
	return fmt.Errorf("%s %s: %w", flag, path, err)
}

// Explain adds what to do to why there is no connection. ca is the flag that names authorities.
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
		return op.Err // it names the address once more
	}
	return err
}

// IsLocal reports whether what goes to HOST or HOST:PORT stays on this machine.
func IsLoopback(address string) bool {
	host := (&url.URL{Host: address}).Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
