//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package deliver

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const hasLocks = true

// lockFile waits until no other process has locked a file, if it is one of a disk. Where
// the file system has no locks, there are none.
func lockFile(file *os.File) error {
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.ENOTSUP), errors.Is(err, syscall.ENOSYS), errors.Is(err, syscall.ENOLCK):
			return nil
		}
		return err
	}
}

func unlockFile(file *os.File) error {
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	syscall.Flock(int(file.Fd()), syscall.LOCK_UN) // there may be no locks
	return nil
}

// own gives a file the owner that another one has.
func own(file *os.File, as fs.FileInfo) error {
	owner, ok := as.Sys().(*syscall.Stat_t)
	info, err := file.Stat()
	if err != nil || !ok {
		return err
	}
	if mine, ok := info.Sys().(*syscall.Stat_t); ok && mine.Uid == owner.Uid && mine.Gid == owner.Gid {
		return nil
	}
	return file.Chown(int(owner.Uid), int(owner.Gid))
}
