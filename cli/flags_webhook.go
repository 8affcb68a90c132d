package cli

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dwatch/output/deliver/webhook"
)

// webhookFlags are for --to https://. What is secret comes from files or the
// environment: everybody sees the arguments of a process.
type webhookFlags struct {
	toFormat      string
	toTokenFile   string
	toHeaderFile  string
	toSigningFile string
}

// webhookOnly are the names of the flags that a webhook takes, and nothing else.
var webhookOnly = []string{"to-format", "to-token-file", "to-header-file", "to-signing-file"}

// The variables of the environment that stand for files.
const (
	tokenVariable   = "DWATCH_TO_TOKEN"
	headersVariable = "DWATCH_TO_HEADERS"
	signingVariable = "DWATCH_TO_SIGNING_SECRET"
)

// webhookFormats are the content modes of CloudEvents.
var webhookFormats = []string{"binary", "structured"}

func (o *options) addWebhookFlags(f *pflag.FlagSet) {
	w := &o.webhookFlags
	f.StringVar(&w.toFormat, "to-format", "binary", "Send CloudEvents over HTTP in `MODE`: "+strings.Join(webhookFormats, " or "))
	f.StringVar(&w.toTokenFile, "to-token-file", "", "Send the bearer token that is in `FILE`, or in $"+tokenVariable)
	f.StringVar(&w.toHeaderFile, "to-header-file", "", "Send the headers that are in `FILE`, or in $"+headersVariable+", in lines as \"Name: value\"")
	f.StringVar(&w.toSigningFile, "to-signing-file", "", "Sign as Standard Webhooks, with each secret, whsec_..., that is in `FILE`, or in $"+signingVariable)
	notEmpty(f, webhookOnly...)
}

// checkWebhook finds flags that make no sense without a webhook, or together.
func (o *options) checkWebhook() error {
	for _, name := range webhookOnly {
		if o.given(name) && !isWebhook(o.to) {
			return fmt.Errorf("--%s is for a webhook: it needs --to https://HOST/PATH", name)
		}
	}
	if !slices.Contains(webhookFormats, o.toFormat) {
		return fmt.Errorf("invalid --to-format %q: it takes %s", o.toFormat, strings.Join(webhookFormats, " or "))
	}
	return nil
}

func isWebhook(address string) bool {
	scheme, _, _ := strings.Cut(strings.ToLower(address), ":")
	return scheme == "http" || scheme == "https"
}

// What --workers and --deadline are for a webhook by default: a request that hangs is one of
// several, and not for long.
const (
	webhookWorkers  = 8
	webhookDeadline = 30 * time.Second
)

// parseWebhook sets what is particular to a webhook.
func (o *options) parseWebhook(r *request) error {
	if !o.given("workers") {
		r.workers = webhookWorkers
	}
	if !o.given("deadline") {
		r.deadline = webhookDeadline
	}
	return o.checkAddress(r.address)
}

// checkAddress finds what is wrong with the URL of a webhook.
func (o *options) checkAddress(address *url.URL) error {
	if address.Scheme == "https" {
		return nil
	}
	for _, name := range []string{"to-cert", "to-ca"} {
		if o.given(name) {
			return fmt.Errorf("--%s takes https://: over http:// nobody shows a certificate", name)
		}
	}
	if isLoopback(address) {
		return nil
	}
	for _, c := range []webhook.Credential{o.toToken(), o.toHeaders(), o.toSigning()} {
		if c.Path != "" || c.Text != "" {
			return fmt.Errorf("--to http:// sends all in the clear to another machine, credentials too: with %s it takes https://", c.Name)
		}
	}
	return nil
}

// isLoopback reports whether what goes to an address stays on this machine.
func isLoopback(address *url.URL) bool {
	host := address.Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

func (w *webhookFlags) toToken() webhook.Credential {
	return credential("--to-token-file", w.toTokenFile, tokenVariable)
}

func (w *webhookFlags) toHeaders() webhook.Credential {
	return credential("--to-header-file", w.toHeaderFile, headersVariable)
}

func (w *webhookFlags) toSigning() webhook.Credential {
	return credential("--to-signing-file", w.toSigningFile, signingVariable)
}

// credential is what a flag gives, or else a variable of the environment.
func credential(flag, path, variable string) webhook.Credential {
	if path != "" {
		return webhook.Credential{Name: flag, Path: path}
	}
	return webhook.Credential{Name: "$" + variable, Text: os.Getenv(variable)}
}
