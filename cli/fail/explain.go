// Package fail turns errors into messages for people and into exit codes.
//
// An error of another package can provide its own message with a method Explain() string.
package fail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/mapper"
	"dwatch/output"
)

// maxLength is the maximum number of characters of a message. A longer one usually contains a web page
// from a server that is not Kubernetes.
const maxLength = 700

// Explain returns the message for err: one line, or one line for each error of errors.Join. Many
// targets may fail for the same reason, so duplicate lines are removed.
func Explain(err error) []string {
	var once []string
	for _, line := range explain(err) {
		if !slices.Contains(once, line) {
			once = append(once, line)
		}
	}
	return once
}

func explain(err error) []string {
	if wrapped, ok := err.(coded); ok {
		err = wrapped.error
	}
	if wrapped, ok := err.(usageError); ok {
		err = wrapped.error
	}
	// Only errors.Join at the top level means several errors. Further inside, it means several causes of one error.
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, single := range joined.Unwrap() {
			lines = append(lines, explain(single)...)
		}
		return lines
	}
	return []string{toLine(explainOne(err))}
}

// toLine returns text as one printable line of limited length.
func toLine(text string) string {
	line := []rune(output.EscapeLine(strings.Join(strings.Fields(text), " ")))
	if len(line) > maxLength {
		return fmt.Sprintf("%s... (%d more characters)", string(line[:maxLength]), len(line)-maxLength)
	}
	return string(line)
}

// ExplainDisconnect returns the reason why a working connection was lost. The hints of Explain about flags do not apply,
// because the connection worked with these flags.
func ExplainDisconnect(err error) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		reason := failed.Err
		if op, ok := errors.AsType[*net.OpError](reason); ok {
			reason = op.Err // without the address, which the message already contains
		}
		return toLine(fmt.Sprintf("%s: %v", DisplayHost(failed.URL), reason))
	}
	if apierrors.IsUnauthorized(err) { // dwatch retries, with a new token if the kubeconfig or its plugin has one
		return "the server no longer accepts the credentials (Unauthorized), as when a token has expired"
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) && api.Status().Details != nil {
		for _, cause := range api.Status().Details.Causes {
			if cause.Type == "ClientWatchDecoding" { // client-go reports broken connections like this
				return toLine(strings.TrimPrefix(cause.Message, "unable to decode an event from the watch stream: "))
			}
		}
	}
	return strings.Join(Explain(err), "; ")
}

func explainOne(err error) string {
	var failed *url.Error
	var unknown *mapper.UnknownError
	var asked serverError
	var own interface {
		error
		Explain() string
	}
	switch {
	case errors.As(err, &unknown) && unknown.Hint != "":
		return unknown.Error()
	case errors.As(err, &failed):
		host := DisplayHost(failed.URL)
		if errors.As(err, &asked) {
			host = asked.Host // not the address of a redirect or proxy
		}
		return explainConnection(host, failed)
	case apierrors.IsUnauthorized(err):
		return "You must be logged in to the server (Unauthorized): log in again, or check the user in the kubeconfig or --token"
	case errors.As(err, &own):
		return own.Explain()
	default:
		return err.Error()
	}
}

// explainConnection returns the message for a request that failed before the server answered. It uses the
// wording of kubectl.
func explainConnection(host string, failed *url.Error) string {
	if reason, ok := strings.CutPrefix(failed.Err.Error(), "getting credentials: "); ok {
		// client-go adds three paragraphs about missing plugins.
		reason, _, _ = strings.Cut(reason, "\n")
		return fmt.Sprintf("no credentials for the server %s: %s; check the plugin of the user in the kubeconfig", host, reason)
	}
	lookup, unfound := errors.AsType[*net.DNSError](failed)
	switch {
	case isProxyError(failed):
		return unable(host, failed.Err, "check the proxy: --proxy-url, proxy-url in the kubeconfig, or HTTPS_PROXY")
	case errors.Is(failed, syscall.ECONNREFUSED):
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host)
	case Is[x509.UnknownAuthorityError](failed):
		return unable(host, failed.Err, "set its certificate authority with --certificate-authority")
	case Is[x509.HostnameError](failed):
		return unable(host, failed.Err, "set the expected name with --tls-server-name")
	case Is[tls.RecordHeaderError](failed), errors.Is(failed, http.ErrSchemeMismatch):
		return unable(host, errors.New("it does not speak TLS"), "is it an http:// address?")
	case strings.Contains(failed.Err.Error(), "invalid header field value"):
		return unable(host, failed.Err, "the values of flags such as --token and --as must be one line")
	case failed.Timeout():
		return unable(host, fmt.Errorf("no answer in time (%w)", failed.Err), "check the address and the network")
	case unfound:
		return unable(host, errors.New(lookup.Err), "check the address and the network")
	default:
		return unable(host, failed.Err, "check the server's address")
	}
}

// isProxyError reports whether the request failed at the proxy: dwatch cannot connect to it, or it requires a password.
func isProxyError(failed *url.Error) bool {
	op, ok := errors.AsType[*net.OpError](failed)
	return ok && (op.Op == "proxyconnect" || op.Op == "socks connect") ||
		failed.Err.Error() == http.StatusText(http.StatusProxyAuthRequired) // net/http has no error type for it
}

func unable(host string, reason error, hint string) string {
	return fmt.Sprintf("Unable to connect to the server %s: %v; %s", host, reason, hint)
}

// DisplayHost returns the host and port of a server's address, without a password.
func DisplayHost(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address[strings.LastIndex(address, "@")+1:]
}

// serverError is an error of a request that does not depend on the arguments, such as discovery.
type serverError struct {
	Host string
	error
}

// FromServer wraps err as an error of the server at host, unless it is a mistake in the command line.
func FromServer(host string, err error) error {
	if Is[usageError](err) || mapper.IsNotWatchable(err) {
		return err
	}
	return serverError{host, err}
}

func (e serverError) Unwrap() error { return e.error }

// Explain returns messages for servers that are not API servers, and for API servers that reject
// requests. Discovery errors contain only the status code of such an answer.
func (e serverError) Explain() string {
	var status apierrors.APIStatus
	switch {
	case errors.Is(e.error, context.DeadlineExceeded):
		return unable(e.Host, errors.New("no answer in time"), "check the address, or wait longer with --request-timeout")
	case apierrors.IsForbidden(e.error):
		return fmt.Sprintf("the server %s does not allow this user to list its resources (Forbidden): check the user in the kubeconfig, --user or --token", e.Host)
	case !errors.As(e.error, &status):
		return fmt.Sprintf("%v (%s)", e.error, e.Host)
	}
	message := status.Status().Message
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if strings.Contains(cause.Message, "HTTPS") {
				return unable(e.Host, fmt.Errorf("it answers %q", cause.Message), "is it an https:// address?")
			}
		}
	}
	if code := status.Status().Code; code >= http.StatusInternalServerError || code == http.StatusTooManyRequests {
		return fmt.Sprintf("the server %s can't answer now: %s; try again later", e.Host, message)
	}
	return fmt.Sprintf("the server %s does not answer like a Kubernetes API server: %s; check its address", e.Host, message)
}
