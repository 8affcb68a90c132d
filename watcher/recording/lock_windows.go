package recording

import (
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes a file for this process, until it is closed; false: another one has it.
func tryLock(f *os.File) (bool, error) {
	const all = ^uint32(0)
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, all, all, &windows.Overlapped{})
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return false, nil
	}
	return err == nil, err
}
