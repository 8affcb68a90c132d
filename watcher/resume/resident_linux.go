package resume

import (
	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// release gives back the memory of what was read of the file: all of it is mapped, and what was
// read once would stay. What is read again is read from the file's cache.
func release(tx *bolt.Tx) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, tx.DB().Info().Data, uintptr(tx.Size()), unix.MADV_DONTNEED)
}
