package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// defaultPage is where the page is served if nothing else is said: on a free port.
const defaultPage = "127.0.0.1:0"

// pageFlags say how the page is served.
type pageFlags struct {
	serve           string // an address; empty: there is no page
	open            bool
	tlsCert, tlsKey string
	serveInsecure   bool
}

// pageOnly are the names of the flags that the page takes, and nothing else.
var pageOnly = []string{"open", "tls-cert", "tls-key", "serve-insecure"}

func (o *options) addPageFlags(f *pflag.FlagSet) {
	p := &o.pageFlags
	f.StringVar(&p.serve, "serve", "", "Serve a page that shows what is there and what changes; at `[ADDRESS]`, or else on this machine alone, at a free port. Its URL is printed on stderr; keeps all content in memory; see docs/page.md")
	f.Lookup("serve").NoOptDefVal = defaultPage
	f.BoolVar(&p.open, "open", false, "Open the page in a browser")
	f.StringVar(&p.tlsCert, "tls-cert", "", "Serve the page by TLS, with the certificate in `FILE`: that is what an ADDRESS takes which other machines can reach")
	f.StringVar(&p.tlsKey, "tls-key", "", "The private key of --tls-cert is in `FILE`")
	f.BoolVar(&p.serveInsecure, "serve-insecure", false, "Serve the page to other machines without TLS, under any host name: a proxy in front of it takes care of that")
	notEmpty(f, "serve", "tls-cert", "tls-key")
}

// joinAddress makes one argument of --serve and an address that stands after it: a flag
// whose value may be left out takes none from the next argument.
func joinAddress(args []string) []string {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--serve" && i+1 < len(args) && isAddress(args[i+1]) {
			return slices.Concat(args[:i], []string{"--serve=" + args[i+1]}, joinAddress(args[i+2:]))
		}
	}
	return args
}

// isAddress reports whether an argument is meant as an address: no resource has a colon
// and a number in the end. A number alone is a port without a host, which is refused; it
// would be taken for an object's name, and waited for.
func isAddress(arg string) bool {
	if _, err := strconv.ParseUint(arg, 10, 64); err == nil {
		return true
	}
	host, port, err := net.SplitHostPort(arg)
	if err != nil || strings.ContainsAny(host, "/=,") || strings.HasPrefix(host, "-") {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 64)
	return err == nil
}

// serves reports whether there is a page.
func (p *pageFlags) serves() bool { return p.serve != "" }

func (o *options) parsePage(r *request) error {
	if !o.given("serve") {
		for _, name := range pageOnly {
			if o.given(name) {
				return fmt.Errorf("--%s is for the page: it needs --serve", name)
			}
		}
		return nil
	}
	r.page = o.pageFlags
	return cmp.Or(o.checkPage(), o.checkPageAddress())
}

// checkPage finds flags that make no sense together with a page.
func (o *options) checkPage() error {
	switch {
	case o.given("list"), o.given("print-rbac"):
		return errors.New("--list and --print-rbac print, and end: they do not go with --serve")
	case o.given("state"):
		return errors.New("--serve does not go with --state yet: what an earlier run printed would be missing from the page")
	case o.given("tls-cert") != o.given("tls-key"):
		return errors.New("--tls-cert and --tls-key belong together: a certificate and its private key")
	case o.given("tls-cert") && o.serveInsecure:
		return errors.New("--serve-insecure serves without TLS: it does not go with --tls-cert")
	}
	return nil
}

// checkPageAddress finds what is wrong with the address, or too open.
func (o *options) checkPageAddress() error {
	host, port, err := net.SplitHostPort(o.serve)
	if err != nil {
		return fmt.Errorf("invalid --serve %q: it takes HOST:PORT, such as 127.0.0.1:8080", o.serve)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("invalid --serve %q: a port is a number from 0 to 65535, where 0 is a free one", o.serve)
	} else if n > 0 && host == "" && !o.isGuarded() {
		return fmt.Errorf("--serve %s is on all addresses of this machine: that takes --tls-cert and --tls-key, or --serve-insecure if a proxy in front of it does that; 127.0.0.1:%s is on this machine alone", o.serve, port)
	}
	address, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", host == "" && o.isGuarded():
		return nil
	case err != nil:
		return fmt.Errorf("invalid --serve %q: it takes an IP address of this machine, or localhost, and a port, such as 127.0.0.1:8080", o.serve)
	case !address.Unmap().IsLoopback() && !o.isGuarded():
		return fmt.Errorf("--serve %s can be reached from other machines: that takes --tls-cert and --tls-key, or --serve-insecure if a proxy in front of it does that", o.serve)
	}
	return nil
}

// isGuarded reports whether the page may be served to other machines.
func (o *options) isGuarded() bool { return o.given("tls-cert") || o.serveInsecure }
