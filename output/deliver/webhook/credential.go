package webhook

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"dwatch/output/deliver/secret"
)

// credentials are the secrets of a Receiver. Their files are read again when they change. nil means that a secret is not used.
type credentials struct {
	token   *secret.Value[string]
	headers *secret.Value[http.Header]
	signing *secret.Value[[][]byte]
}

func loadCredentials(o Options) (c credentials, err error) {
	var wrong [3]error
	c.token, wrong[0] = secret.Load(o.Token, parseToken)
	c.headers, wrong[1] = secret.Load(o.Headers, parseHeaders)
	c.signing, wrong[2] = secret.Load(o.Signing, parseSecrets)
	if err := cmp.Or(wrong[:]...); err != nil {
		return c, err
	}
	if given, _ := c.headers.Get(); c.token != nil && given.Get("Authorization") != "" {
		return c, fmt.Errorf("%s and %s both set Authorization: use only one of them", o.Token.Name, o.Headers.Name)
	}
	return c, nil
}

// LoadToken returns the bearer token of a source, or "" if the source is not set. Errors contain the name of the source.
func LoadToken(s secret.Source) (string, error) {
	l, err := secret.Load(s, parseToken)
	if err != nil {
		return "", err
	}
	return l.Get()
}

func parseToken(text string) (string, error) {
	token := strings.TrimSpace(text)
	switch {
	case token == "":
		return "", errors.New("it contains no token")
	case strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c >= 0x7f }):
		return "", errors.New("a token must be one word")
	}
	return token, nil
}

// parseHeaders parses lines "Name: value". It ignores empty lines and lines that begin with #.
func parseHeaders(text string) (http.Header, error) {
	headers := http.Header{}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case !found, !httpguts.ValidHeaderFieldName(name), !httpguts.ValidHeaderFieldValue(value):
			return nil, fmt.Errorf("line %d is not of the form Name: value", i+1)
		case isOurs(name):
			return nil, fmt.Errorf("line %d: the header %s is set by dwatch", i+1, name)
		}
		headers.Add(name, value)
	}
	if len(headers) == 0 {
		return nil, errors.New("it contains no header")
	}
	return headers, nil
}

// isOurs reports whether dwatch sets a header itself.
func isOurs(name string) bool {
	switch name = strings.ToLower(name); name {
	case "host", "connection", "content-length", "content-type", "content-encoding", "expect",
		"idempotency-key", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent":
		return true
	}
	return strings.HasPrefix(name, "ce-") || strings.HasPrefix(name, "webhook-")
}
