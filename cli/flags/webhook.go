package flags

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"dwatch/output/deliver/webhook"
)

// Webhook are the flags for --to https://. What is secret comes from files or the
// environment: everybody sees the arguments of a process.
type Webhook struct {
	// Structured: a CloudEvent is in the body as a whole.
	Structured bool
	// Token is the bearer token, Headers are further ones, and Signing the secrets to sign
	// with.
	Token, Headers, Signing webhook.Credential

	format string
	flags  *pflag.FlagSet
}

// One request that hangs must not hold up everything: so many are under way, and none for
// longer than this.
const (
	webhookWorkers  = 8
	webhookDeadline = 30 * time.Second
)

// WebhookFormats are the content modes of CloudEvents.
var WebhookFormats = []string{"binary", "structured"}

// The variables of the environment that stand for files.
const (
	tokenVariable   = "DWATCH_TO_TOKEN"
	headersVariable = "DWATCH_TO_HEADERS"
	signingVariable = "DWATCH_TO_SIGNING_SECRET"
)

var webhookOnly = []string{"to-format", "to-token-file", "to-header-file", "to-signing-file"}

func (w *Webhook) addTo(f *pflag.FlagSet) {
	w.flags = f
	f.StringVar(&w.format, "to-format", "binary", "Send CloudEvents over HTTP in `MODE`: "+strings.Join(WebhookFormats, " or "))
	f.StringVar(&w.Token.Path, "to-token-file", "", "Send the bearer token that is in `FILE`, or in $"+tokenVariable)
	f.StringVar(&w.Headers.Path, "to-header-file", "", "Send the headers that are in `FILE`, or in $"+headersVariable+", in lines as \"Name: value\"")
	f.StringVar(&w.Signing.Path, "to-signing-file", "", "Sign as Standard Webhooks, with each secret, whsec_..., that is in `FILE`, or in $"+signingVariable)
	notEmpty(f, webhookOnly...)
}

// parse finds flags that make no sense for an address, and takes from the environment
// what no file is given for.
func (w *Webhook) parse(to string) error {
	if name := given(w.flags, webhookOnly...); name != "" && !isWebhook(to) {
		return fmt.Errorf("--%s is for a webhook: it needs --to https://HOST/PATH", name)
	}
	if !slices.Contains(WebhookFormats, w.format) {
		return fmt.Errorf("invalid --to-format %q: it takes %s", w.format, strings.Join(WebhookFormats, " or "))
	}
	w.Structured = w.format == "structured"
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

// checkWebhookAddress keeps what is secret off a line that others can read.
func (d *Delivery) checkWebhookAddress() error {
	if d.URL.Scheme == "https" {
		return nil
	}
	if name := given(d.TLS.flags, "to-cert", "to-ca"); name != "" {
		return fmt.Errorf("--%s takes https://: over http:// nobody shows a certificate", name)
	}
	for _, c := range []webhook.Credential{d.Token, d.Headers, d.Signing} {
		if c.Path+c.Text != "" && d.InClear() {
			return fmt.Errorf("--to http:// sends all in the clear to another machine, credentials too: with %s it takes https://", c.Name)
		}
	}
	return nil
}
