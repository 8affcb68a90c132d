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

// From is the location of the recording to read instead of a cluster. The zero value means a cluster.
type From struct {
	text string
	// URL is the address of a dwatch serve --record, without the token. If nil, the recording is a directory.
	URL *url.URL
	// Token authenticates to URL. CAFile contains the certificate authorities to trust for it.
	Token  secret.Source
	CAFile string
}

// fromTokenVariable is the environment variable to use if --from-token-file is not given.
const fromTokenVariable = "DWATCH_FROM_TOKEN"

// FromCAFlag is the flag of From.CAFile, for errors.
const FromCAFlag = "--from-ca"

// AddTo adds --from and the flags for a recording at a URL.
func (r *From) AddTo(f *pflag.FlagSet) {
	f.StringVar(&r.text, "from", "", "Read the recording in `DIR`, or at the URL that dwatch serve --record prints, instead of a cluster; see docs/reference/recordings.md")
	describeBriefly(f, "from", "Read the recording in `DIR` instead of a cluster")
	notEmpty(f, "from")
	takes(f, "from", r.parse)
	f.StringVar(&r.Token.Path, "from-token-file", "", "With --from URL, read the token from `FILE`; by default from $"+fromTokenVariable)
	f.StringVar(&r.CAFile, "from-ca", "", "With --from URL, trust only the certificate authorities in `FILE`")
	notEmpty(f, "from-token-file", "from-ca")
}

// IsSet reports whether --from is given.
func (r *From) IsSet() bool { return r.text != "" }

// Dir returns the directory of the recording, or "" if it is at a URL or --from is not given.
func (r *From) Dir() string {
	if r.URL != nil {
		return ""
	}
	return r.text
}

// String returns the directory or the URL, without the token.
func (r *From) String() string {
	if r.URL == nil {
		return r.text
	}
	return strings.TrimSuffix(r.URL.String(), "/")
}

// parse splits a URL into URL and Token. Its errors do not repeat the URL, which may contain the token.
func (r *From) parse(text string) error {
	r.URL, r.Token.Name, r.Token.Text = nil, "", ""
	if !hasScheme(text, "https", "http") || !strings.Contains(text, "://") {
		return nil
	}
	address, err := url.Parse(text)
	if err != nil || address.Hostname() == "" {
		return errors.New("invalid --from: it takes a directory, or the URL that dwatch serve --record prints, such as http://127.0.0.1:8080/?token=TOKEN")
	}
	query, err := url.ParseQuery(address.RawQuery)
	if address.User != nil || err != nil {
		return errors.New("invalid --from: the URL of dwatch serve has a token, and no user or password")
	}
	r.Token.Name, r.Token.Text = "--from", query.Get("token")
	r.URL = &url.URL{Scheme: strings.ToLower(address.Scheme), Host: address.Host, Path: address.Path}
	return nil
}

// Check validates the flags, and takes the token from the environment if no flag gives it. f must contain all
// flags of r.
func (r *From) Check(f *pflag.FlagSet) error {
	name := given(f, "from-token-file", "from-ca")
	switch {
	case r.URL == nil && name != "":
		return fmt.Errorf("--%s is for a recording at a URL: it needs --from https://HOST", name)
	case r.URL == nil:
		return nil
	case r.Token.Text != "" && f.Changed("from-token-file"):
		return errors.New("--from and --from-token-file both give a token: give one")
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
