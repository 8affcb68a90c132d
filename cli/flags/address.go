package flags

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dwatch/output"
)

// Addresses are examples of what --to takes.
const Addresses = "https://HOST/PATH, http://HOST/PATH, nats://HOST/PREFIX, tls://HOST/PREFIX"

// The schemes of --to.
var (
	webhookSchemes = []string{"https", "http"}
	natsSchemes    = []string{"nats", "tls"}
)

func isWebhook(address string) bool { return hasScheme(address, webhookSchemes) }

func isNATS(address string) bool { return hasScheme(address, natsSchemes) }

func hasScheme(address string, schemes []string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	return slices.Contains(schemes, scheme)
}

// IsNATS reports whether events go to a NATS server.
func (d *Delivery) IsNATS() bool { return d.URL != nil && isNATS(d.URL.Scheme) }

func (d *Delivery) isWebhook() bool { return d.URL != nil && isWebhook(d.URL.Scheme) }

// InClear reports whether others on the way could read the events.
func (d *Delivery) InClear() bool {
	return d.URL != nil && d.URL.Scheme == "http" && !isLoopback(d.URL)
}

// parseAddress reads --to. No error repeats what may hold a password.
func (d *Delivery) parseAddress(to string) error {
	address, err := url.Parse(to)
	switch {
	case err != nil:
		return fmt.Errorf("invalid --to: it takes a URL such as %s", Addresses)
	case address.User != nil:
		return errors.New("--to must not hold a user or a password: everybody who sees the processes sees them; see the flags for credentials")
	case !isWebhook(address.Scheme) && !isNATS(address.Scheme):
		return fmt.Errorf("invalid --to: a URL begins with one of %s, not with %q", Addresses, output.Line(address.Scheme+":"))
	case address.Hostname() == "":
		return fmt.Errorf("invalid --to: the URL has no host; it takes one such as %s", Addresses)
	}
	if port := address.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("invalid --to: the port of the URL is a number from 1 to 65535")
		}
	}
	d.URL = address
	if isWebhook(address.Scheme) {
		return d.checkWebhookAddress()
	}
	return d.checkNATSAddress()
}

// isLoopback reports whether what goes to an address stays on this machine.
func isLoopback(address *url.URL) bool {
	host := address.Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
