package supervisor

import (
	"io/fs"
	"syscall"
	"testing"

	"dwatch/cli/fail"
)

// TestStateDirError checks that a full disk is a failure, and a path that is no directory a usage error.
func TestStateDirError(t *testing.T) {
	for code, want := range map[syscall.Errno]int{
		syscall.ENOSPC: fail.ExitFailed, syscall.EDQUOT: fail.ExitFailed, syscall.EIO: fail.ExitFailed,
		syscall.ENOTDIR: fail.ExitUsage, syscall.EACCES: fail.ExitUsage,
	} {
		if got := fail.ExitCode(stateDirError(&fs.PathError{Op: "mkdir", Path: "states", Err: code})); got != want {
			t.Errorf("%v: exit code %d, want %d", code, got, want)
		}
	}
}
