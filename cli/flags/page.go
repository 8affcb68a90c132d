package flags

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Page holds the flags that say where and how to serve the web page.
type Page struct {
	Address     string // HOST:PORT
	OpenBrowser bool
	CertFile    string // if empty, the page is served without TLS
	KeyFile     string
	Insecure    bool // serve to other machines without TLS, for use behind a proxy
	flags       *pflag.FlagSet
}

func (p *Page) AddTo(f *pflag.FlagSet) {
	p.flags = f
	f.StringVar(&p.Address, "addr", "127.0.0.1:0", "Serve at `HOST:PORT`, by default at a free port of the loopback interface; the URL is printed to stderr")
	describeBriefly(f, "addr", "Serve at `HOST:PORT`; port 0 means any free port")
	f.BoolVar(&p.OpenBrowser, "open", false, "Open the page in a browser")
	f.StringVar(&p.CertFile, "tls-cert", "", "Serve over TLS with the certificate in `FILE`; required if other machines can reach the address, unless --serve-insecure is set")
	f.StringVar(&p.KeyFile, "tls-key", "", "Use the private key in `FILE` for --tls-cert")
	f.BoolVar(&p.Insecure, "serve-insecure", false, "Serve to other machines without TLS, under any host name, for use behind a proxy")
	offers(f, "addr", "127.0.0.1:8080", "localhost:8080")
	notEmpty(f, "addr", "tls-cert", "tls-key")
}

// Check returns an error if flags cannot be combined, or if other machines could read the page without TLS.
func (p *Page) Check() error {
	switch {
	case p.flags.Changed("tls-cert") != p.flags.Changed("tls-key"):
		return errors.New("--tls-cert and --tls-key belong together: a certificate and its private key")
	case p.CertFile != "" && p.Insecure:
		return errors.New("--serve-insecure serves without TLS: it cannot be combined with --tls-cert")
	}
	return p.checkAddress()
}

func (p *Page) checkAddress() error {
	const guards = "it needs --tls-cert and --tls-key, or --serve-insecure behind a proxy"
	guarded := p.CertFile != "" || p.Insecure
	host, port, err := net.SplitHostPort(p.Address)
	if err != nil {
		return fmt.Errorf("invalid --addr %q: it takes HOST:PORT, such as 127.0.0.1:8080", p.Address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("invalid --addr %q: a port is a number from 0 to 65535, where 0 is a free one", p.Address)
	} else if n > 0 && host == "" && !guarded {
		return fmt.Errorf("--addr %s listens on all interfaces: %s; 127.0.0.1:%s listens on this machine only", p.Address, guards, port)
	}
	address, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", host == "" && guarded:
		return nil
	case err != nil:
		return fmt.Errorf("invalid --addr %q: it takes an IP address of this machine, or localhost, and a port, such as 127.0.0.1:8080", p.Address)
	case !address.Unmap().IsLoopback() && !guarded:
		return fmt.Errorf("--addr %s can be reached from other machines: %s", p.Address, guards)
	}
	return nil
}

// LooksLikeAddress reports whether arg is probably meant as HOST:PORT or a port. Otherwise dwatch would take it for
// the name of a resource or object.
func LooksLikeAddress(arg string) bool {
	host, port, err := net.SplitHostPort(arg)
	if err != nil {
		host, port = "", arg
	}
	_, err = strconv.ParseUint(port, 10, 64)
	return err == nil && !strings.ContainsAny(host, "/=,")
}

// CheckArguments returns an error if one of the arguments, which name resources, looks like an address.
func (p *Page) CheckArguments(args []string) error {
	if i := slices.IndexFunc(args, LooksLikeAddress); i >= 0 {
		return fmt.Errorf("invalid argument %q: use --addr HOST:PORT to choose the address of the page", args[i])
	}
	return nil
}
