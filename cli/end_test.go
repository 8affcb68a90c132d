package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os/exec"
	"syscall"
	"testing"

	"dwatch/cli/fail"
	"dwatch/watcher/event"
)

func TestSayEnd(t *testing.T) {
	pipe := writeError{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE}}
	full := writeError{&fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}}
	for _, test := range []struct {
		err  error
		want int
		said string
	}{
		{nil, fail.ExitOK, ""},
		{pipe, fail.ExitOK, ""},
		{fmt.Errorf("print: %w", pipe), fail.ExitOK, ""},
		{errReaderGone, fail.ExitOK, ""},
		{full, fail.ExitFailed, "error: write to stdout: no space left on device\n"},
		// Not our reader.
		{&url.Error{Op: "Get", URL: "https://a/api", Err: syscall.EPIPE}, fail.ExitFailed, "error: Unable to connect to the server a: broken pipe; check the server's address\n"},
		{errInterrupted, fail.ExitFailed, "error: " + errInterrupted.Error() + "\n"},
	} {
		var stderr bytes.Buffer
		if got := sayEnd(&stderrLog{w: &stderr}, test.err); got != test.want || stderr.String() != test.said {
			t.Errorf("%v: %d, %q, want %d, %q", test.err, got, &stderr, test.want, test.said)
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
	full := event.SinkFunc(func(context.Context, []event.Event) error { return io.ErrShortWrite })
	undelivered := blamed(full).Deliver(t.Context(), nil)
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
		"asked, but not delivered": {asked, undelivered, false, io.ErrShortWrite},
		"gone, and not delivered":  {gone, undelivered, false, io.ErrShortWrite},
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

func TestUnread(t *testing.T) {
	asked, ask := context.WithCancel(t.Context())
	ask()
	gone, leave := context.WithCancelCause(t.Context())
	leave(errReaderGone)
	late, end := context.WithTimeoutCause(t.Context(), 0, errTimeout)
	defer end()
	pipe := fmt.Errorf("print: %w", writeError{syscall.EPIPE})
	other := sinkError{syscall.ENOSPC}
	for name, test := range map[string]struct {
		asked, ctx context.Context
		err, want  error
	}{
		"a good end":         {t.Context(), late, nil, nil},
		"gone":               {t.Context(), gone, nil, errUnread},
		"gone before":        {t.Context(), gone, errReaderGone, errUnread},
		"gone in mid-write":  {t.Context(), t.Context(), pipe, errUnread},
		"gone, and asked":    {asked, gone, nil, nil},
		"gone, and the disk": {t.Context(), gone, other, other},
		"too late":           {t.Context(), late, errTimeout, errTimeout},
	} {
		if got := unread(test.asked, test.ctx, test.err); !errors.Is(got, test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
