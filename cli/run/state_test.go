package run

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"dwatch/cli/fail"
	"dwatch/watcher/resume"
)

// TestStateError: a full disk is no usage error, since a restart may succeed.
func TestStateError(t *testing.T) {
	for _, test := range []struct {
		err  error
		want int
	}{
		{fmt.Errorf("state file f: %w", syscall.ENOSPC), fail.ExitFailed},
		{fmt.Errorf("state file f: %w", &fs.PathError{Op: "open", Path: "f", Err: syscall.EIO}), fail.ExitFailed},
		{fmt.Errorf("state file f: %w", resume.ErrInUse), fail.ExitUsage},
		{fmt.Errorf("state file f: %w", &fs.PathError{Op: "open", Path: "f", Err: syscall.EACCES}), fail.ExitUsage},
		{errors.New("state file f: it is damaged"), fail.ExitUsage},
	} {
		if got := fail.ExitCode(StateError(test.err)); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}
