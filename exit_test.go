package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os/exec"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"dwatch/mapper"
)

var podResource = schema.GroupResource{Resource: "pods"}

func TestExitCode(t *testing.T) {
	pipe := writeError{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}
	full := writeError{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}}
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{pipe, exitOK},
		{fmt.Errorf("print: %w", pipe), exitOK},
		{errReaderGone, exitOK},
		{full, exitFailed},
		{&url.Error{Op: "Get", URL: "https://a/api", Err: syscall.EPIPE}, exitFailed}, // not our reader
		{errInterrupted, exitFailed},
		{errors.New("other"), exitFailed},
		{context.DeadlineExceeded, exitFailed},
		{usageError{errors.New("flag")}, exitUsage},
		{serverError{"a", &mapper.UnknownError{Name: "podz"}}, exitUsage},
		{serverError{"a", &mapper.UnwatchableError{Name: "bindings"}}, exitUsage},
		{serverError{"a", apierrors.NewBadRequest("http")}, exitFailed}, // not what was typed
		{fmt.Errorf("watch pods: %w", apierrors.NewBadRequest("field")), exitUsage},
		{apierrors.NewForbidden(podResource, "", errors.New("no")), exitFailed},
		{apierrors.NewUnauthorized("no"), exitFailed},
		{apierrors.NewNotFound(podResource, "web"), exitFailed},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}

func TestEnded(t *testing.T) {
	asked, ask := context.WithCancel(t.Context())
	ask()
	gone, leave := context.WithCancelCause(t.Context())
	leave(errReaderGone)
	late, end := context.WithTimeoutCause(t.Context(), 0, errTimeout)
	defer end()
	lost := fmt.Errorf("print: %w", writeError{syscall.EIO})
	plugin := &exec.ExitError{} // it died of the same Ctrl-C
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		list bool
		want error
	}{
		"not asked":                {t.Context(), plugin, false, plugin},
		"asked":                    {asked, nil, false, nil},
		"asked while connecting":   {asked, plugin, false, nil},
		"asked, and nothing lost":  {asked, context.Canceled, false, nil},
		"asked, but output lost":   {asked, lost, false, lost},
		"asked in a list":          {asked, context.Canceled, true, errInterrupted},
		"asked after a list":       {asked, nil, true, nil},
		"asked, list lost":         {asked, lost, true, lost},
		"gone while connecting":    {gone, context.Canceled, false, errReaderGone},
		"gone in a list":           {gone, context.Canceled, true, errReaderGone},
		"gone, and nothing to say": {gone, nil, false, nil},
		"timeout":                  {late, nil, false, nil},
		"timeout while connecting": {late, context.DeadlineExceeded, false, errTimeout},
		"timeout in a list":        {late, context.DeadlineExceeded, true, errTimeout},
	} {
		if got := ended(test.ctx, test.err, test.list); !errors.Is(got, test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
