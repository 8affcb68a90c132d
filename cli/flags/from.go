package flags

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"dwatch/output"
	"dwatch/output/deliver/secret"
)

// From says where the recording is that is asked in place of a cluster. Zero: a cluster is.
type From struct {
	text string
	// URL is that of a dwatch serve that records, without the token; nil: it is a directory.
	URL *url.URL
	// Token leads to it, and CA is a file with the authorities of its certificate.
	Token  secret.Source
	CAFile string
}

// fromTokenVariable is the variable of the environment that stands for a file.
const fromTokenVariable = "DWATCH_FROM_TOKEN"

// FromCA is the flag of From.CA.
const FromCAFlag = "--from-ca"

// AddTo adds the flags for it.
func (r *From) AddTo(f *pflag.FlagSet) {
	f.StringVar(&r.text, "from", "", "Read the recording in `DIR`, or at the URL that dwatch serve --record prints, instead of a cluster; see docs/recording.md")
	notEmpty(f, "from")
	takes(f, "from", r.parse)
	f.StringVar(&r.Token.Path, "from-token-file", "", "With --from URL, read the token from `FILE`; by default from $"+fromTokenVariable)
	f.StringVar(&r.CAFile, "from-ca", "", "With --from URL, trust only the certificate authorities in `FILE`")
	notEmpty(f, "from-token-file", "from-ca")
}

// Is reports whether a recording is asked.
func (r *From) IsSet() bool { return r.text != "" }

// Dir is the directory that it is in; empty: it is in none.
func (r *From) Dir() string {
	if r.URL != nil {
		return ""
	}
	return r.text
}

// String says where it is, without what is secret.
func (r *From) String() string {
	if r.URL == nil {
		return r.text
	}
	return strings.TrimSuffix(r.URL.String(), "/")
}

// parse takes an address apart. No error repeats it, as it may hold the token.
func (r *From) parse(text string) error {
	r.URL, r.Token.Name, r.Token.Text = nil, "", ""
	if !hasScheme(text, "https", "http") || !strings.Contains(text, "://") {
		return nil
	}
	address, err := url.Parse(text)
	if err != nil || address.Hostname() == "" {
		return errors.New("invalid --from: it takes a directory, or the address that a dwatch serve prints, such as http://127.0.0.1:8080/?token=TOKEN")
	}
	query, err := url.ParseQuery(address.RawQuery)
	if address.User != nil || err != nil {
		return errors.New("invalid --from: the address of a dwatch serve has a token, and no user or password")
	}
	r.Token.Name, r.Token.Text = "--from", query.Get("token")
	r.URL = &url.URL{Scheme: strings.ToLower(address.Scheme), Host: address.Host, Path: address.Path}
	return nil
}

// Check finds what makes no sense, and takes a token from the environment that no flag gives. f are all flags.
func (r *From) Check(f *pflag.FlagSet) error {
	name := given(f, "from-token-file", "from-ca")
	switch {
	case r.URL == nil && name != "":
		return fmt.Errorf("--%s is for a recording at a URL: it needs --from https://HOST", name)
	case r.URL == nil:
		return nil
	case r.Token.Text != "" && f.Changed("from-token-file"):
		return errors.New("--from has a token, and --from-token-file another one")
	case r.Token.Text == "" && r.Token.Path != "":
		r.Token.Name = "--from-token-file"
	case r.Token.Text == "":
		fill(&r.Token, "from-token-file", fromTokenVariable)
	}
	switch {
	case r.URL.Scheme == "https" || secret.IsLoopback(r.URL.Host):
	default:
		return fmt.Errorf("--from http:// would send the token and the recording unencrypted: use https:// for %s", output.EscapeLine(r.URL.Host))
	}
	if r.URL.Scheme == "http" && r.CAFile != "" {
		return errors.New(FromCAFlag + " needs https://: http:// has no certificates")
	}
	return nil
}
