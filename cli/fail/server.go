package fail

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"dwatch/mapper"
)

// serverError is what came of asking the server at Host a question that depends
// on nothing that was typed, such as what it serves.
type serverError struct {
	Host string
	error
}

// Server says that err came of asking the server at host, unless the answer has shown that
// what was typed is wrong.
func Server(host string, err error) error {
	if is[usageError](err) || mapper.IsAbsent(err) {
		return err
	}
	return serverError{host, err}
}

func (e serverError) Unwrap() error { return e.error }

// Explain covers what answers at the address of an API server when there is
// none, or when it does not want to. Discovery keeps nothing of an answer that
// is an error but its code.
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
