package resume

import (
	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"
)

// release releases the memory of file pages that were read. The whole file is mapped, and pages
// that were read once would remain resident. The system's cache serves later reads.
func release(tx *bolt.Tx) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, tx.DB().Info().Data, uintptr(tx.Size()), unix.MADV_DONTNEED)
}
