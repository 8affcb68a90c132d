package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/mapper"
	"dwatch/output"
)

// Exit codes. They are part of the command line's contract.
const (
	exitOK     = 0 // ended as asked
	exitFailed = 1 // could not go on
	exitUsage  = 2 // wrong usage
)

// usageError is a mistake in the command line or in the kubeconfig.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// exitCode is the code that err ends dwatch with.
func exitCode(err error) int {
	var usage usageError
	var unknown *mapper.UnknownError
	var unwatchable *mapper.UnwatchableError
	switch {
	case err == nil, isReaderGone(err):
		return exitOK
	case errors.As(err, &usage), errors.As(err, &unknown), errors.As(err, &unwatchable):
		return exitUsage
	case apierrors.IsBadRequest(err), apierrors.IsInvalid(err):
		// The server does not know a field of the selector, or a name's form.
		return exitUsage
	default:
		return exitFailed
	}
}

// explain says err in one line, or in one line for each of several errors.
func explain(err error) []string {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var lines []string
		for _, one := range several.Unwrap() {
			lines = append(lines, explain(one)...)
		}
		return lines
	}
	return []string{output.Line(strings.Join(strings.Fields(explainOne(err)), " "))}
}

// explainOne adds what to do to what happened.
func explainOne(err error) string {
	if reason := unreachable(err); reason != "" {
		return reason
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return "the server does not accept the credentials (Unauthorized): log in again, or check the user in the kubeconfig or --token"
	case errors.Is(err, context.DeadlineExceeded):
		return "the server does not answer in time: " + err.Error() + "; --request-timeout sets how long to wait"
	default:
		return err.Error()
	}
}

// unreachable explains, in kubectl's words, an error that came before any
// answer of the server; empty for other errors.
func unreachable(err error) string {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return ""
	}
	host := failed.URL
	if u, parseErr := url.Parse(failed.URL); parseErr == nil {
		host = u.Host
	}
	var authority x509.UnknownAuthorityError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host)
	case errors.As(err, &authority):
		return fmt.Sprintf("Unable to connect to the server %s: %v; give its authority with --certificate-authority", host, failed.Err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("Unable to connect to the server %s: it does not speak TLS; is it an http:// address?", host)
	case failed.Timeout():
		return fmt.Sprintf("Unable to connect to the server %s: no answer in time (%v)", host, failed.Err)
	default:
		return fmt.Sprintf("Unable to connect to the server %s: %v", host, failed.Err)
	}
}

// serverError is an error of a question to host that may not name it.
type serverError struct {
	host string
	error
}

func (e serverError) Unwrap() error { return e.error }

// Error names the host where the error itself only says that time is up.
func (e serverError) Error() string {
	if errors.Is(e.error, context.DeadlineExceeded) {
		return fmt.Sprintf("%v (%s)", e.error, e.host)
	}
	return e.error.Error()
}
