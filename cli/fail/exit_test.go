package fail

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/mapper"
)

var podResource = schema.GroupResource{Resource: "pods"}

func TestExitCode(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, ExitOK},
		{&url.Error{Op: "Get", URL: "https://a/api", Err: syscall.EPIPE}, ExitFailed},
		{errors.New("other"), ExitFailed},
		{context.DeadlineExceeded, ExitFailed},
		{usageError{errors.New("flag")}, ExitUsage},
		{serverError{"a", &mapper.UnknownError{Name: "podz"}}, ExitUsage},
		{serverError{"a", &mapper.UnwatchableError{Name: "bindings"}}, ExitUsage},
		{serverError{"a", apierrors.NewBadRequest("http")}, ExitFailed}, // not a mistake in the command line
		{fmt.Errorf("watch pods: %w", apierrors.NewBadRequest("field")), ExitUsage},
		{apierrors.NewForbidden(podResource, "", errors.New("no")), ExitFailed},
		{apierrors.NewUnauthorized("no"), ExitFailed},
		{apierrors.NewNotFound(podResource, "web"), ExitFailed},
	} {
		if got := ExitCode(test.err); got != test.want {
			t.Errorf("%v: got exit code %d, want %d", test.err, got, test.want)
		}
	}
}
