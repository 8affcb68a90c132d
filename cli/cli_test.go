package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/url"
	"syscall"
	"testing"

	"dwatch/cli/console"
	"dwatch/cli/fail"
	"dwatch/cli/run"
)

func TestReportEnd(t *testing.T) {
	pipe := console.WriteError{Err: &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}
	full := console.WriteError{Err: &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}}
	for _, test := range []struct {
		err  error
		want int
		said string
	}{
		{nil, fail.ExitOK, ""},
		{pipe, fail.ExitOK, ""},
		{fmt.Errorf("print: %w", pipe), fail.ExitOK, ""},
		{console.ErrReaderGone, fail.ExitOK, ""},
		{full, fail.ExitFailed, "error: write to stdout: no space left on device\n"},
		// Not our reader.
		{&url.Error{Op: "Get", URL: "https://a/api", Err: syscall.EPIPE}, fail.ExitFailed, "error: Unable to connect to the server a: broken pipe; check the server's address\n"},
		{run.ErrInterrupted, fail.ExitFailed, "error: " + run.ErrInterrupted.Error() + "\n"},
	} {
		var stderr bytes.Buffer
		if got := reportEnd(console.NewStderr(&stderr), test.err); got != test.want || stderr.String() != test.said {
			t.Errorf("%v: %d, %q, want %d, %q", test.err, got, &stderr, test.want, test.said)
		}
	}
}
