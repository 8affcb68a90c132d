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
	"dwatch/output/deliver/kafka"
	"dwatch/output/deliver/otlp"
	"dwatch/output/deliver/secret"
	"dwatch/output/deliver/webhook"
)

// addresses lists the forms of URLs that --to accepts.
const addresses = "https://HOST/PATH, http://HOST/PATH, otlp+https://HOST, otlp+http://HOST, nats://HOST/PREFIX, tls://HOST/PREFIX, kafka://HOST,HOST/TOPIC, kafka+tls://HOST/TOPIC"

// webhookFormats are the content modes of CloudEvents over HTTP.
var webhookFormats = []string{"binary", "structured"}

// Environment variables with credentials, to use if the flag for a file is not given.
const (
	tokenVariable   = "DWATCH_TO_TOKEN"
	headersVariable = "DWATCH_TO_HEADERS"
	signingVariable = "DWATCH_TO_SIGNING_SECRET"
	kafkaVariable   = "DWATCH_KAFKA_LOGIN"
)

// The flags that only some receivers accept. natsIdentities are the ways to log in to NATS.
var (
	webhookOnly    = []string{"to-format", "to-token-file", "to-header-file", "to-signing-file"}
	tlsOnly        = []string{"to-cert", "to-key", "to-ca"}
	natsOnly       = []string{"create-stream", "nats-creds", "nats-nkey", "nats-login"}
	natsIdentities = natsOnly[1:]
	kafkaOnly      = []string{"kafka-login", "kafka-sasl"}
)

// AddReceiversTo adds the flags that only some receivers accept, such as formats and credentials.
func (d *Delivery) AddReceiversTo(f *pflag.FlagSet) {
	d.receivers = f
	w, n := &d.Webhook, &d.NATS
	f.StringVar(&d.format, "to-format", "binary", "Send CloudEvents over HTTP in `MODE`: binary, with the event as the body and its attributes in headers, or structured, with both in one JSON body")
	offers(f, "to-format", webhookFormats...)
	f.StringVar(&w.Token.Path, "to-token-file", "", "Send the bearer token in `FILE`, or in $"+tokenVariable)
	f.StringVar(&w.Headers.Path, "to-header-file", "", "Send the headers in `FILE`, or in $"+headersVariable+", with one \"Name: value\" per line")
	f.StringVar(&w.Signing.Path, "to-signing-file", "", "Sign requests as Standard Webhooks with each secret, whsec_..., in `FILE`, or in $"+signingVariable)
	f.StringVar(&d.TLS.Cert, "to-cert", "", "Authenticate with the client certificate in `FILE`, whose key is in --to-key")
	f.StringVar(&d.TLS.Key, "to-key", "", "Use the private key in `FILE` for --to-cert")
	f.StringVar(&d.TLS.CA, "to-ca", "", "For the receiver, trust only the certificate authorities in `FILE`")
	f.StringVar(&n.CreateStream, "create-stream", "", "With --to nats://, create the stream `NAME` if no stream stores the events")
	f.StringVar(&n.Credentials, "nats-creds", "", "Log in to NATS with the credentials in `FILE`")
	f.StringVar(&n.NKey, "nats-nkey", "", "Log in to NATS with the NKey seed in `FILE`")
	f.StringVar(&n.Login, "nats-login", "", "Log in to NATS with USER:PASSWORD or the token in `FILE`")
	f.StringVar(&d.Kafka.Login.Path, "kafka-login", "", "Log in to Kafka with USER:PASSWORD in `FILE`, or in $"+kafkaVariable)
	f.StringVar(&d.Kafka.Mechanism, "kafka-sasl", "", "Log in to Kafka with the SASL `MECHANISM`: "+strings.Join(kafka.Mechanisms(), ", ")+"; by default the first one that the broker supports")
	offers(f, "kafka-sasl", kafka.Mechanisms()...)
	notEmpty(f, slices.Concat(webhookOnly, tlsOnly, natsOnly, kafkaOnly)...)
}

func isWebhook(address string) bool { return hasScheme(address, "https", "http") || isOTLP(address) }

// isOTLP reports whether events go to an OpenTelemetry receiver. It is also a webhook.
func isOTLP(address string) bool { return hasScheme(address, otlpScheme+"https", otlpScheme+"http") }

const otlpScheme = "otlp+"

func isNATS(address string) bool { return hasScheme(address, "nats", "tls") }

func isKafka(address string) bool { return hasScheme(address, kafkaScheme, kafkaScheme+"+tls") }

const kafkaScheme = "kafka"

func hasScheme(address string, schemes ...string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	return slices.Contains(schemes, scheme)
}

// IsNATS reports whether events go to a NATS server.
func (d *Delivery) IsNATS() bool { return isNATS(d.to) }

// Endpoints returns the URLs that dwatch connects to: URL, or one for each Kafka broker.
func (d *Delivery) Endpoints() []*url.URL {
	if d.Brokers == nil {
		return []*url.URL{d.URL}
	}
	var all []*url.URL
	for _, b := range d.Brokers {
		all = append(all, &url.URL{Scheme: d.URL.Scheme, Host: b, Path: d.URL.Path})
	}
	return all
}

// IsKafka reports whether events go to Kafka.
func (d *Delivery) IsKafka() bool { return isKafka(d.to) }

// Origin returns the URL of a webhook without its path and query, which may be secret.
func (d *Delivery) Origin() string {
	origin := d.URL.Scheme + "://" + d.URL.Host
	if d.Webhook.Format == webhook.OTLPLogs {
		origin = otlpScheme + origin
	}
	return origin
}

// SendsPlaintext reports whether events leave this machine over HTTP or Kafka without encryption.
func (d *Delivery) SendsPlaintext() bool {
	switch d.URL.Scheme {
	case "http":
		return !secret.IsLoopback(d.URL.Host)
	case kafkaScheme:
		return slices.ContainsFunc(d.Brokers, func(b string) bool { return !secret.IsLoopback(b) })
	}
	return false
}

// checkReceivers returns an error for flags that cannot be combined with the receiver or with each other. It takes
// credentials from the environment if no file is given for them.
func (d *Delivery) checkReceivers() error {
	toWebhook, toOTLP, toNATS, toKafka, w := isWebhook(d.to), isOTLP(d.to), isNATS(d.to), isKafka(d.to), &d.Webhook
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
		return errors.New("--to-format is for CloudEvents: it cannot be combined with --to otlp+https://")
	case !slices.Contains(webhookFormats, d.format):
		return fmt.Errorf("invalid --to-format %q: it takes %s", d.format, strings.Join(webhookFormats, " or "))
	case only(natsOnly...) != "" && !toNATS:
		return fmt.Errorf("--%s is for NATS: it needs --to nats://HOST/PREFIX", only(natsOnly...))
	case len(identities) > 1:
		return fmt.Errorf("%s: give one login for NATS", strings.Join(identities, " and "))
	case strings.ContainsFunc(d.NATS.CreateStream, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`.*>/\`, c) }):
		return errors.New("invalid --create-stream: the name of a stream has no dot, space, *, >, / or \\")
	case only(kafkaOnly...) != "" && !toKafka:
		return fmt.Errorf("--%s is for Kafka: it needs --to kafka+tls://HOST/TOPIC", only(kafkaOnly...))
	case d.Kafka.Mechanism != "" && !slices.Contains(kafka.Mechanisms(), d.Kafka.Mechanism):
		return fmt.Errorf("invalid --kafka-sasl %q: it takes one of %s", output.EscapeLine(d.Kafka.Mechanism), strings.Join(kafka.Mechanisms(), ", "))
	case only(tlsOnly...) != "" && !toWebhook && !toNATS && !toKafka:
		return fmt.Errorf("--%s is for a receiver with TLS: it needs --to https://HOST/PATH, tls://HOST/PREFIX or kafka+tls://HOST/TOPIC", only(tlsOnly...))
	case (d.TLS.Cert == "") != (d.TLS.Key == ""):
		return errors.New("--to-cert and --to-key belong together: a certificate and its private key")
	}
	switch {
	case toOTLP:
		w.Format = webhook.OTLPLogs
	case d.format == "structured":
		w.Format = webhook.Structured
	}
	fill(&w.Token, "to-token-file", tokenVariable)
	fill(&w.Headers, "to-header-file", headersVariable)
	fill(&w.Signing, "to-signing-file", signingVariable)
	if fill(&d.Kafka.Login, "kafka-login", kafkaVariable); !toKafka {
		d.Kafka.Login.Text = ""
	}
	if d.Kafka.Mechanism != "" && !d.Kafka.Login.IsSet() {
		return errors.New("--kafka-sasl selects how to log in: it needs --kafka-login")
	}
	return nil
}

// fill sets the name of c to its flag if a file is given. Otherwise it sets the name and the text from the
// environment variable.
func fill(c *secret.Source, flag, variable string) {
	if c.Name = "--" + flag; c.Path == "" {
		c.Name, c.Text = "$"+variable, os.Getenv(variable)
	}
}

// longestAddress is the maximum size of a file with a URL.
const longestAddress = 64 << 10

// readAddress reads the URL from --to-file. Its errors do not repeat the URL, which may be secret.
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
		return fmt.Errorf("--to-file %s: %w", output.EscapeLine(d.toFile), err)
	}
	return nil
}

// parseAddress parses the URL of --to. Its errors do not repeat the parts of the URL that may contain a password.
func (d *Delivery) parseAddress() error {
	if given(d.flags, "to", "to-file") == "" {
		return nil
	}
	address, brokers, err := parseBrokers(d.to)
	switch {
	case err != nil:
		return fmt.Errorf("invalid --to: it takes a URL such as %s", addresses)
	case address.User != nil && d.toFile != "":
		return errors.New("--to-file: the URL must not contain a user or a password: see the flags for credentials")
	case address.User != nil:
		return errors.New("--to must not contain a user or a password, which everyone who can list processes would see; see the flags for credentials")
	case address.Scheme == "":
		return fmt.Errorf("invalid --to: it has no scheme; a URL begins with one of %s", addresses)
	case !isWebhook(address.Scheme) && !isNATS(address.Scheme) && !isKafka(address.Scheme):
		return fmt.Errorf("invalid --to: a URL begins with one of %s, not with %q", addresses, output.EscapeLine(address.Scheme+":"))
	case address.Hostname() == "":
		return fmt.Errorf("invalid --to: the URL has no host; it takes one such as %s", addresses)
	}
	for _, one := range append([]*url.URL{address}, brokers...) {
		if port := one.Port(); port != "" {
			if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
				return errors.New("invalid --to: the port of the URL must be a number from 1 to 65535")
			}
		}
	}
	d.URL = address
	switch {
	case isOTLP(address.Scheme):
		address.Scheme = strings.TrimPrefix(address.Scheme, otlpScheme)
		if strings.Trim(address.Path, "/") == "" {
			address.Path = otlp.LogsPath
		}
	case isKafka(address.Scheme):
		if err := d.setKafka(brokers); err != nil {
			return err
		}
	}
	return d.checkSecrets()
}

// parseBrokers parses a URL of Kafka, which may contain several hosts separated by commas, as url.Parse accepts only
// one. It returns one URL per broker, and as address the first, or the last one that has a user or lacks a host. For
// any other URL, brokers is nil.
func parseBrokers(text string) (address *url.URL, brokers []*url.URL, err error) {
	if !isKafka(text) {
		address, err = url.Parse(text)
		return address, nil, err
	}
	scheme, rest, _ := strings.Cut(text, "://")
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	for host := range strings.SplitSeq(rest[:end], ",") {
		one, err := url.Parse(scheme + "://" + host + rest[end:])
		if err != nil {
			return nil, nil, err
		}
		if name := one.Hostname(); strings.Contains(name, ":") && !strings.HasPrefix(one.Host, "[") {
			return nil, nil, errors.New("a host has one port")
		}
		if brokers = append(brokers, one); address == nil || one.User != nil || one.Hostname() == "" {
			address = one // the first, or one that the caller refuses
		}
	}
	return address, brokers, nil
}

// kafkaPort is the default port of Kafka brokers.
const kafkaPort = "9092"

// setKafka sets the brokers, the topic and TLS from the URL.
func (d *Delivery) setKafka(brokers []*url.URL) error {
	a, k := d.URL, &d.Kafka
	if a.RawQuery != "" || a.ForceQuery || a.Fragment != "" {
		return fmt.Errorf("invalid --to: it takes %s://HOST,HOST/TOPIC, with nothing after the topic", a.Scheme)
	}
	k.Topic = strings.TrimPrefix(a.Path, "/")
	if err := kafka.CheckTopic(k.Topic); err != nil {
		return fmt.Errorf("invalid --to: the topic of %s://HOST,HOST/TOPIC: %w", a.Scheme, err)
	}
	for _, b := range brokers {
		port := b.Port()
		if port == "" {
			port = kafkaPort
		}
		d.Brokers = append(d.Brokers, net.JoinHostPort(b.Hostname(), port))
	}
	copied := *a
	copied.Host = strings.Join(d.Brokers, ",")
	d.URL, k.Brokers, k.UseTLS = &copied, d.Brokers, a.Scheme != kafkaScheme
	return nil
}

// checkSecrets returns an error if credentials would be sent unencrypted, or if TLS flags go with a URL without TLS.
func (d *Delivery) checkSecrets() error {
	name := given(d.receivers, "to-cert", "to-ca")
	switch scheme := d.URL.Scheme; {
	case scheme == "http" && name != "":
		return fmt.Errorf("--%s needs https://: http:// has no certificates", name)
	case scheme == "nats" && d.NATS.Login != "" && !secret.IsLoopback(d.URL.Host) && given(d.receivers, tlsOnly...) == "":
		return errors.New("--nats-login would send a password unencrypted: it needs --to tls://HOST/PREFIX")
	case scheme == kafkaScheme && name != "":
		return fmt.Errorf("--%s needs kafka+tls://: kafka:// has no certificates", name)
	case scheme == kafkaScheme && d.Kafka.Mechanism == kafka.Plain && d.SendsPlaintext():
		return errors.New("--kafka-sasl plain would send a password unencrypted: it needs --to kafka+tls://HOST/TOPIC")
	}
	for _, c := range []secret.Source{d.Webhook.Token, d.Webhook.Headers, d.Webhook.Signing} {
		if c.IsSet() && isWebhook(d.to) && d.SendsPlaintext() {
			return fmt.Errorf("--to http:// would send credentials and events unencrypted: with %s it needs https://", c.Name)
		}
	}
	return nil
}

// CredentialVariable returns the first environment variable that contains a credential for a receiver, or "".
func CredentialVariable() string {
	for _, variable := range []string{tokenVariable, headersVariable, signingVariable, kafkaVariable} {
		if os.Getenv(variable) != "" {
			return variable
		}
	}
	return ""
}

// UsedCredentialVariable returns the first environment variable, with a $, that d takes a credential from, or "".
func (d *Delivery) UsedCredentialVariable() string {
	for _, c := range []secret.Source{d.Webhook.Token, d.Webhook.Headers, d.Webhook.Signing, d.Kafka.Login} {
		if c.Text != "" {
			return c.Name
		}
	}
	return ""
}
