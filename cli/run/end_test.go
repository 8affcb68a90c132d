package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"testing"

	"dwatch/cli/console"
	"dwatch/watcher/event"
)

func TestEndOf(t *testing.T) {
	asked, ask := context.WithCancel(t.Context())
	ask()
	gone, leave := context.WithCancelCause(t.Context())
	leave(console.ErrReaderGone)
	late, end := context.WithTimeoutCause(t.Context(), 0, ErrTimeout)
	defer end()
	lost := fmt.Errorf("print: %w", console.WriteError{Err: syscall.EIO})
	full := event.SinkFunc(func(context.Context, []event.Event) error { return io.ErrShortWrite })
	undelivered := markLoss(full).Deliver(t.Context(), nil)
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
		"asked in a list":          {asked, context.Canceled, true, ErrInterrupted},
		"asked after a list":       {asked, nil, true, nil},
		"asked, list lost":         {asked, lost, true, lost},
		"gone while connecting":    {gone, context.Canceled, false, console.ErrReaderGone},
		"gone in a list":           {gone, context.Canceled, true, console.ErrReaderGone},
		"gone, and nothing to say": {gone, nil, false, nil},
		"timeout":                  {late, nil, false, nil},
		"timeout while connecting": {late, context.DeadlineExceeded, false, ErrTimeout},
		"timeout in a list":        {late, context.DeadlineExceeded, true, ErrTimeout},
	} {
		if got := EndOf(test.ctx, test.err, test.list); !errors.Is(got, test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestReaderEnd(t *testing.T) {
	asked, ask := context.WithCancel(t.Context())
	ask()
	gone, leave := context.WithCancelCause(t.Context())
	leave(console.ErrReaderGone)
	late, end := context.WithTimeoutCause(t.Context(), 0, ErrTimeout)
	defer end()
	pipe := fmt.Errorf("print: %w", console.WriteError{Err: syscall.EPIPE})
	other := LossError{syscall.ENOSPC}
	for name, test := range map[string]struct {
		asked, ctx context.Context
		err, want  error
	}{
		"a good end":         {t.Context(), late, nil, nil},
		"gone":               {t.Context(), gone, nil, errUnread},
		"gone before":        {t.Context(), gone, console.ErrReaderGone, errUnread},
		"gone in mid-write":  {t.Context(), t.Context(), pipe, errUnread},
		"gone, and asked":    {asked, gone, nil, nil},
		"gone, and the disk": {t.Context(), gone, other, other},
		"too late":           {t.Context(), late, ErrTimeout, ErrTimeout},
	} {
		if got := ReaderEnd(test.asked, test.ctx, test.err); !errors.Is(got, test.want) || (got == nil) != (test.want == nil) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
