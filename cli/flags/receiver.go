package flags

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
	"dwatch/output/deliver/otlp"
	"dwatch/output/deliver/webhook"
)

// addresses are examples of what --to takes.
const addresses = "https://HOST/PATH, http://HOST/PATH, otlp+https://HOST, otlp+http://HOST, nats://HOST/PREFIX, tls://HOST/PREFIX"

// webhookFormats are the content modes of CloudEvents.
var webhookFormats = []string{"binary", "structured"}

// The variables of the environment that stand for files.
const (
	tokenVariable   = "DWATCH_TO_TOKEN"
	headersVariable = "DWATCH_TO_HEADERS"
	signingVariable = "DWATCH_TO_SIGNING_SECRET"
)

// The flags that only some receivers take, those by which one comes to a NATS server last.
var (
	webhookOnly    = []string{"to-format", "to-token-file", "to-header-file", "to-signing-file"}
	tlsOnly        = []string{"to-cert", "to-key", "to-ca"}
	natsOnly       = []string{"create-stream", "nats-creds", "nats-nkey", "nats-login"}
	natsIdentities = natsOnly[1:]
)

// AddReceiversTo adds what one kind of receiver takes: forms, credentials, streams.
func (d *Delivery) AddReceiversTo(f *pflag.FlagSet) {
	d.receivers = f
	w, n := &d.Webhook, &d.NATS
	f.StringVar(&d.format, "to-format", "binary", "Send CloudEvents over HTTP in `MODE`: binary, with the event as the body and what is said of it in headers, or structured, with both in one JSON body")
	offers(f, "to-format", webhookFormats...)
	f.StringVar(&w.Token.Path, "to-token-file", "", "Send the bearer token that is in `FILE`, or in $"+tokenVariable)
	f.StringVar(&w.Headers.Path, "to-header-file", "", "Send the headers that are in `FILE`, or in $"+headersVariable+", in lines as \"Name: value\"")
	f.StringVar(&w.Signing.Path, "to-signing-file", "", "Sign as Standard Webhooks, with each secret, whsec_..., that is in `FILE`, or in $"+signingVariable)
	f.StringVar(&d.TLS.Cert, "to-cert", "", "Show the receiver the client certificate that is in `FILE`, and whose key --to-key has")
	f.StringVar(&d.TLS.Key, "to-key", "", "`FILE` with the key of --to-cert")
	f.StringVar(&d.TLS.CA, "to-ca", "", "Trust a receiver with a certificate of the authorities that are in `FILE`, and no other")
	f.StringVar(&n.CreateStream, "create-stream", "", "With --to nats://, make the stream `NAME` if no stream takes the events")
	f.StringVar(&n.Credentials, "nats-creds", "", "Log in to NATS with the credentials that are in `FILE`")
	f.StringVar(&n.NKey, "nats-nkey", "", "Log in to NATS with the seed of an NKey that is in `FILE`")
	f.StringVar(&n.Login, "nats-login", "", "Log in to NATS with USER:PASSWORD, or the token, that is in `FILE`")
	notEmpty(f, slices.Concat(webhookOnly, tlsOnly, natsOnly)...)
}

func isWebhook(address string) bool { return hasScheme(address, "https", "http") || isOTLP(address) }

// isOTLP reports whether events go to a receiver of OpenTelemetry, which is a webhook, too.
func isOTLP(address string) bool { return hasScheme(address, otlpScheme+"https", otlpScheme+"http") }

const otlpScheme = "otlp+"

func isNATS(address string) bool { return hasScheme(address, "nats", "tls") }

func hasScheme(address string, schemes ...string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	return slices.Contains(schemes, scheme)
}

// IsNATS reports whether events go to a NATS server.
func (d *Delivery) IsNATS() bool { return isNATS(d.to) }

// Origin is the address of a webhook without its path and query, which may be secret.
func (d *Delivery) Origin() string {
	origin := d.URL.Scheme + "://" + d.URL.Host
	if d.Webhook.Form == webhook.Logs {
		origin = otlpScheme + origin
	}
	return origin
}

// InClear reports whether others on the way could read the events.
func (d *Delivery) InClear() bool { return d.URL.Scheme == "http" && !IsLocal(d.URL.Host) }

// checkReceivers finds flags that make no sense for an address, or together, and takes from
// the environment what no file is given for.
func (d *Delivery) checkReceivers() error {
	toWebhook, toOTLP, toNATS, w := isWebhook(d.to), isOTLP(d.to), isNATS(d.to), &d.Webhook
	var identities []string
	for _, name := range natsIdentities {
		if d.receivers.Changed(name) {
			identities = append(identities, "--"+name)
		}
	}
	only := func(names ...string) string { return given(d.receivers, names...) }
	switch {
	case only(webhookOnly...) != "" && !toWebhook:
		return fmt.Errorf("--%s is for a webhook: it needs --to https://HOST/PATH", only(webhookOnly...))
	case only("to-format") != "" && toOTLP:
		return errors.New("--to-format is for CloudEvents: it does not go with --to otlp+https://")
	case !slices.Contains(webhookFormats, d.format):
		return fmt.Errorf("invalid --to-format %q: it takes %s", d.format, strings.Join(webhookFormats, " or "))
	case only(natsOnly...) != "" && !toNATS:
		return fmt.Errorf("--%s is for NATS: it needs --to nats://HOST/PREFIX", only(natsOnly...))
	case len(identities) > 1:
		return fmt.Errorf("%s: one of them says who dwatch is", strings.Join(identities, " and "))
	case strings.ContainsFunc(d.NATS.CreateStream, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`.*>/\`, c) }):
		return errors.New("invalid --create-stream: the name of a stream has no dot, space, *, >, / or \\")
	case only(tlsOnly...) != "" && !toWebhook && !toNATS:
		return fmt.Errorf("--%s is for a receiver that speaks TLS: it needs --to https://HOST/PATH or tls://HOST/PREFIX", only(tlsOnly...))
	case (d.TLS.Cert == "") != (d.TLS.Key == ""):
		return errors.New("--to-cert and --to-key go together")
	}
	switch {
	case toOTLP:
		w.Form = webhook.Logs
	case d.format == "structured":
		w.Form = webhook.Structured
	}
	fill(&w.Token, "to-token-file", tokenVariable)
	fill(&w.Headers, "to-header-file", headersVariable)
	fill(&w.Signing, "to-signing-file", signingVariable)
	return nil
}

// fill names a credential after where it comes from: its flag, or else a variable.
func fill(c *webhook.Credential, flag, variable string) {
	if c.Name = "--" + flag; c.Path == "" {
		c.Name, c.Text = "$"+variable, os.Getenv(variable)
	}
}

// longestAddress is how large a file with a URL may be. A larger one is something else.
const longestAddress = 64 << 10

// readAddress takes the address from --to-file. No error repeats it.
func (d *Delivery) readAddress() error {
	if d.toFile == "" {
		return nil
	}
	file, err := os.Open(d.toFile)
	if err != nil {
		return fmt.Errorf("--to-file: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, longestAddress+1))
	if d.to = strings.TrimSpace(string(text)); err == nil && (d.to == "" || len(text) > longestAddress || strings.ContainsAny(d.to, "\n\r")) {
		err = errors.New("it takes a file with one line, a URL such as " + addresses)
	}
	if err != nil {
		return fmt.Errorf("--to-file %s: %w", output.Line(d.toFile), err)
	}
	return nil
}

// parseAddress reads --to. No error repeats what may hold a password.
func (d *Delivery) parseAddress() error {
	if given(d.flags, "to", "to-file") == "" {
		return nil
	}
	address, err := url.Parse(d.to)
	switch {
	case err != nil:
		return fmt.Errorf("invalid --to: it takes a URL such as %s", addresses)
	case address.User != nil && d.toFile != "":
		return errors.New("--to-file: the URL must not hold a user or a password: see the flags for credentials")
	case address.User != nil:
		return errors.New("--to must not hold a user or a password: everybody who sees the processes sees them; see the flags for credentials")
	case address.Scheme == "":
		return fmt.Errorf("invalid --to: it has no scheme; a URL begins with one of %s", addresses)
	case !isWebhook(address.Scheme) && !isNATS(address.Scheme):
		return fmt.Errorf("invalid --to: a URL begins with one of %s, not with %q", addresses, output.Line(address.Scheme+":"))
	case address.Hostname() == "":
		return fmt.Errorf("invalid --to: the URL has no host; it takes one such as %s", addresses)
	}
	if port := address.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("invalid --to: the port of the URL is a number from 1 to 65535")
		}
	}
	if d.URL = address; isOTLP(address.Scheme) {
		address.Scheme = strings.TrimPrefix(address.Scheme, otlpScheme)
		if strings.Trim(address.Path, "/") == "" {
			address.Path = otlp.Path
		}
	}
	return d.checkSecrets()
}

// checkSecrets keeps what is secret off a line that others can read.
func (d *Delivery) checkSecrets() error {
	name := given(d.receivers, "to-cert", "to-ca")
	switch scheme := d.URL.Scheme; {
	case scheme == "http" && name != "":
		return fmt.Errorf("--%s takes https://: over http:// nobody shows a certificate", name)
	case scheme == "nats" && d.NATS.Login != "" && !IsLocal(d.URL.Host) && given(d.receivers, tlsOnly...) == "":
		return errors.New("--nats-login would send a password in the clear: it takes --to tls://HOST/PREFIX")
	}
	for _, c := range []webhook.Credential{d.Webhook.Token, d.Webhook.Headers, d.Webhook.Signing} {
		if c.Path+c.Text != "" && d.InClear() {
			return fmt.Errorf("--to http:// sends all in the clear to another machine, credentials too: with %s it takes https://", c.Name)
		}
	}
	return nil
}

// IsLocal reports whether what goes to HOST or HOST:PORT stays on this machine.
func IsLocal(address string) bool {
	host := (&url.URL{Host: address}).Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// CredentialVariable is a variable of the environment that has a credential for receivers; empty: none has.
func CredentialVariable() string {
	for _, variable := range []string{tokenVariable, headersVariable, signingVariable} {
		if os.Getenv(variable) != "" {
			return variable
		}
	}
	return ""
}

// FromEnvironment is the variable that a credential comes from; empty if none does.
func (d *Delivery) FromEnvironment() string {
	for _, c := range []webhook.Credential{d.Webhook.Token, d.Webhook.Headers, d.Webhook.Signing} {
		if c.Text != "" {
			return c.Name
		}
	}
	return ""
}
