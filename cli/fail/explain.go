// Package fail says what an error means to people: in one line on stderr, and in an exit code.
//
// An error of another package that has more to say than its text has a method Explain() string.
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

// longest is how many characters of an error are worth reading: what comes
// after them is a web page that something else than Kubernetes answered with.
const longest = 700

// Explain says err in one line, or in one line for each of several errors. One
// cause may meet many targets: each line comes once.
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
	if end, ok := err.(coded); ok {
		err = end.error
	}
	if usage, ok := err.(usageError); ok { // whose kind the lines do not show
		err = usage.error
	}
	// Only what errors.Join made: one error may well have two causes.
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var lines []string
		for _, one := range several.Unwrap() {
			lines = append(lines, explain(one)...)
		}
		return lines
	}
	return []string{inLine(explainOne(err))}
}

// inLine makes a text fit for one line that can be read.
func inLine(text string) string {
	line := []rune(output.EscapeLine(strings.Join(strings.Fields(text), " ")))
	if len(line) > longest {
		return fmt.Sprintf("%s... (%d more characters)", string(line[:longest]), len(line)-longest)
	}
	return string(line)
}

// Loss says why a connection that has worked is lost. What Explain says
// to do about it would be out of place: nothing that was typed is wrong.
func ExplainDisconnect(err error) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		reason := failed.Err
		if op, ok := errors.AsType[*net.OpError](reason); ok {
			reason = op.Err // it names the address once more
		}
		return inLine(fmt.Sprintf("%s: %v", DisplayHost(failed.URL), reason))
	}
	if apierrors.IsUnauthorized(err) { // dwatch retries, with a new token if the kubeconfig or its plugin has one
		return "the server no longer accepts the credentials (Unauthorized), as when a token has expired"
	}
	var api apierrors.APIStatus
	if errors.As(err, &api) && api.Status().Details != nil {
		for _, cause := range api.Status().Details.Causes {
			if cause.Type == "ClientWatchDecoding" { // client-go's word for a connection that broke
				return inLine(strings.TrimPrefix(cause.Message, "unable to decode an event from the watch stream: "))
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
			host = asked.Host // not where something else has led to
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

// explainConnection explains, in kubectl's words, an error that came before any
// answer of the server.
func explainConnection(host string, failed *url.Error) string {
	if reason, ok := strings.CutPrefix(failed.Err.Error(), "getting credentials: "); ok {
		// client-go adds three paragraphs about plugins that are not there.
		reason, _, _ = strings.Cut(reason, "\n")
		return fmt.Sprintf("no credentials for the server %s: %s; check the plugin of the user in the kubeconfig", host, reason)
	}
	lookup, unfound := errors.AsType[*net.DNSError](failed)
	switch {
	case isRefused(failed):
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host)
	case Is[x509.UnknownAuthorityError](failed):
		return unable(host, failed.Err, "give its authority with --certificate-authority")
	case Is[x509.HostnameError](failed):
		return unable(host, failed.Err, "--tls-server-name says which name to expect")
	case Is[tls.RecordHeaderError](failed), errors.Is(failed, http.ErrSchemeMismatch):
		return unable(host, errors.New("it does not speak TLS"), "is it an http:// address?")
	case strings.Contains(failed.Err.Error(), "invalid header field value"):
		return unable(host, failed.Err, "--token, --as and their like take one line")
	case failed.Timeout():
		return unable(host, fmt.Errorf("no answer in time (%w)", failed.Err), "check the address and the network")
	case unfound:
		return unable(host, errors.New(lookup.Err), "check the address and the network")
	default:
		return unable(host, failed.Err, "check the server's address")
	}
}

// isRefused: by the server itself, not by a proxy on the way to it.
func isRefused(err error) bool {
	var op *net.OpError
	return errors.Is(err, syscall.ECONNREFUSED) && errors.As(err, &op) && op.Op != "proxyconnect"
}

func unable(host string, why error, what string) string {
	return fmt.Sprintf("Unable to connect to the server %s: %v; %s", host, why, what)
}

// HostOf is what may be shown of a server's address: it may hold a password.
func DisplayHost(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address[strings.LastIndex(address, "@")+1:]
}

// serverError is of a question that depends on nothing that was typed, such as what it serves.
type serverError struct {
	Host string
	error
}

// Server says that err came of asking the server at host, unless the answer has shown that
// what was typed is wrong.
func FromServer(host string, err error) error {
	if Is[usageError](err) || mapper.IsNotWatchable(err) {
		return err
	}
	return serverError{host, err}
}

func (e serverError) Unwrap() error { return e.error }

// Explain covers what answers at the address of an API server when there is none, or when it does
// not want to. Discovery keeps nothing of an answer that is an error but its code.
func (e serverError) Explain() string {
	var status apierrors.APIStatus
	switch {
	case errors.Is(e.error, context.DeadlineExceeded):
		return unable(e.Host, errors.New("no answer in time"), "check the address, or wait longer with --request-timeout")
	case apierrors.IsForbidden(e.error):
		return fmt.Sprintf("the server %s does not tell this user what it serves (Forbidden): check the user in the kubeconfig, --user or --token", e.Host)
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
